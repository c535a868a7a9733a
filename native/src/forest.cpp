#include "mpboost/forest.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <vector>

#include "leaf_finder.hpp"
#include "mpboost/kernels.hpp"
#include "vote_bits.hpp"

namespace mpboost {
namespace {

std::int64_t count_needed_columns(TreeView tree) {
  std::int64_t n = 0;
  for (const Split& split : tree.splits) n = std::max<std::int64_t>(n, split.feature + std::int64_t{1});
  return n;
}

// In each thread, call what make_work() returns with (first row, number of rows): so many rows that what is kept of
// them stays in the cache while all trees are applied in turn. More rows bind trees less often, and a tree of many
// leaves is the faster the more rows it is applied to: as few times as possible, equally many each.
template <class MakeWork>
void for_steps(std::int64_t n_rows, std::int64_t row_bytes, Threads& threads, MakeWork make_work) {
  constexpr std::int64_t least = 2048, most = 16 * least, cached_bytes = 1 << 19;
  const std::int64_t limit = std::clamp(cached_bytes / row_bytes, least, most);
  const auto round_up = [](std::int64_t n, std::int64_t parts) {
    return ((n + parts - 1) / parts + block_rows - 1) / block_rows * block_rows;
  };
  const std::int64_t grain = std::clamp(round_up(n_rows, threads.size()), least, round_up(limit, 1));
  threads.for_ranges(n_rows, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t n_steps = (last - first + limit - 1) / limit;
    const std::int64_t step = round_up(last - first, n_steps);
    auto work = make_work();
    for (std::int64_t row = first; row < last; row += step) work(row, std::min(step, last - row));
  });
}

// Finds the leaves of some rows in one tree after the other.
class LeavesOfRows {
 public:
  explicit LeavesOfRows(const BinnedColumns& columns) : columns_(&columns) {}

  // Until a call with the same place.
  const std::int32_t* find(TreeView tree, std::int64_t row, std::int64_t n, std::size_t place = 0) {
    std::vector<std::int32_t>& leaves = leaves_[place];
    leaves.resize(static_cast<std::size_t>(n));
    finder_.bind(tree, *columns_, n);
    finder_.find(row, n, leaves.data());
    return leaves.data();
  }

 private:
  const BinnedColumns* columns_;
  LeafFinder finder_;
  std::array<std::vector<std::int32_t>, trees_together> leaves_;
};

}  // namespace

Forest::Forest(std::vector<Split> splits, std::vector<double> leaf_values, std::vector<std::int64_t> split_offsets,
               std::vector<CategorySet> category_sets, std::int64_t n_features, std::int64_t n_outputs,
               std::vector<float> leaf_covers)
    : splits_(std::move(splits)),
      leaf_values_(std::move(leaf_values)),
      split_offsets_(std::move(split_offsets)),
      category_sets_(std::move(category_sets)),
      leaf_covers_(std::move(leaf_covers)),
      n_outputs_(n_outputs) {
  const auto check = [](bool is_right) {
    if (!is_right) throw std::invalid_argument("the arrays do not describe valid trees");
  };
  check(!split_offsets_.empty() && split_offsets_.front() == 0 && std::ranges::is_sorted(split_offsets_) &&
        split_offsets_.back() == static_cast<std::int64_t>(splits_.size()) &&
        values_fit(leaf_values_.size(), splits_.size() + split_offsets_.size() - 1, n_outputs) &&
        covers_fit(leaf_covers_, splits_.size() + split_offsets_.size() - 1));
  for (std::int64_t t = 0; t < size(); ++t) {
    const auto begin = splits_.begin() + split_offsets_[static_cast<std::size_t>(t)];
    const auto end = splits_.begin() + split_offsets_[static_cast<std::size_t>(t) + 1];
    set_offsets_.push_back(set_offsets_.back() +
                           std::count_if(begin, end, [](const Split& s) { return s.categories >= 0; }));
  }
  check(set_offsets_.back() == static_cast<std::int64_t>(category_sets_.size()));
  for (std::int64_t t = 0; t < size(); ++t) {
    check(is_valid(tree(t), n_features));
    n_needed_columns_.push_back(count_needed_columns(tree(t)));
  }
}

TreeView Forest::tree(std::int64_t t) const {
  const auto begin = split_offsets_[static_cast<std::size_t>(t)];
  const auto n = static_cast<std::size_t>(split_offsets_[static_cast<std::size_t>(t) + 1] - begin);
  const auto first_set = set_offsets_[static_cast<std::size_t>(t)];
  const auto n_sets = static_cast<std::size_t>(set_offsets_[static_cast<std::size_t>(t) + 1] - first_set);
  const auto covers = has_covers() ? std::span(leaf_covers_).subspan(static_cast<std::size_t>(begin + t), n + 1)
                                   : std::span<const float>{};
  return {{splits_.data() + begin, n},
          {leaf_values_.data() + (begin + t) * n_outputs_, (n + 1) * static_cast<std::size_t>(n_outputs_)},
          {category_sets_.data() + first_set, n_sets},
          n_outputs_,
          covers};
}

void Forest::append(TreeView tree) {
  if (size() == 0) n_outputs_ = tree.n_outputs;
  if (tree.n_outputs != n_outputs_)
    throw std::invalid_argument("all trees of a forest must have the same number of outputs");
  const bool has_all_covers = has_covers() && tree.leaf_covers.size() == tree.n_leaves();
  if (has_all_covers)
    leaf_covers_.insert(leaf_covers_.end(), tree.leaf_covers.begin(), tree.leaf_covers.end());
  else
    leaf_covers_.clear();
  splits_.insert(splits_.end(), tree.splits.begin(), tree.splits.end());
  leaf_values_.insert(leaf_values_.end(), tree.leaf_values.begin(), tree.leaf_values.end());
  split_offsets_.push_back(static_cast<std::int64_t>(splits_.size()));
  category_sets_.insert(category_sets_.end(), tree.category_sets.begin(), tree.category_sets.end());
  set_offsets_.push_back(static_cast<std::int64_t>(category_sets_.size()));
  n_needed_columns_.push_back(count_needed_columns(tree));
}

Forest Forest::first(std::int64_t n_trees) const {
  Forest forest;
  forest.n_outputs_ = n_outputs_;
  for (std::int64_t t = 0; t < n_trees; ++t) forest.append(tree(t));
  return forest;
}

void Forest::add_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int32_t* totals,
                       Threads& threads) const {
  const std::int64_t n_rows = columns.n_rows();
  const auto has_bits = [=](TreeView view) { return VoteBits::is_best(view, n_rows); };
  VoteBits bits(columns);
  bool has_others = false;
  for (std::int64_t t = begin; t < end; ++t) {
    if (has_bits(tree(t)))
      bits.take(tree(t));
    else
      has_others = true;
    if (!bits.is_full() && t + 1 < end) continue;
    bits.sort_tests();
    threads.for_ranges(n_rows, 4 * line_rows,
                       [&](std::int64_t first, std::int64_t last) { bits.add_votes(first, last, totals); });
    bits.clear();
  }
  if (!has_others) return;
  const auto row_bytes = columns.n_columns() + static_cast<std::int64_t>(2 * sizeof(std::int32_t));
  for_steps(n_rows, row_bytes, threads, [&] {
    return [&, finder = LeavesOfRows(columns)](std::int64_t row, std::int64_t n) mutable {
      for (std::int64_t t = begin; t < end; ++t) {
        const TreeView view = tree(t);
        if (has_bits(view)) continue;
        const std::int32_t* leaves = finder.find(view, row, n);
        for (std::int64_t i = 0; i < n; ++i) totals[row + i] += to_vote(*view.values_of(leaves[i]));
      }
    };
  });
}

void Forest::add_class_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int64_t n_classes,
                             std::int32_t* totals, Threads& threads) const {
  constexpr std::int64_t max_count = 255;  // counts are bytes, to stay in the cache
  const auto row_bytes = std::max(columns.n_columns() + static_cast<std::int64_t>(sizeof(std::int32_t)), n_classes);
  for_steps(columns.n_rows(), row_bytes, threads, [&] {
    return [&, finder = LeavesOfRows(columns), counts = std::vector<std::uint8_t>()](std::int64_t row,
                                                                                     std::int64_t n) mutable {
      for (std::int64_t first = begin; first < end; first += max_count) {
        counts.assign(static_cast<std::size_t>(n * n_classes), 0);
        for (std::int64_t t = first; t < std::min(end, first + max_count); ++t) {
          const TreeView view = tree(t);
          const std::int32_t* leaves = finder.find(view, row, n);
          std::uint8_t* of_row = counts.data();
          for (std::int64_t i = 0; i < n; ++i, of_row += n_classes)
            ++of_row[static_cast<std::int64_t>(*view.values_of(leaves[i]))];
        }
        std::transform(counts.begin(), counts.end(), totals + row * n_classes, totals + row * n_classes, std::plus<>());
      }
    };
  });
}

void Forest::add_values(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, double* totals,
                        Threads& threads) const {
  const auto row_bytes = columns.n_columns() + n_outputs_ * static_cast<std::int64_t>(sizeof(double)) +
                         trees_together * static_cast<std::int64_t>(sizeof(std::int32_t));
  for_steps(columns.n_rows(), row_bytes, threads, [&] {
    return [&, finder = LeavesOfRows(columns)](std::int64_t row, std::int64_t n) mutable {
      LeavesOfTree trees[trees_together];
      int n_trees = 0;
      for (std::int64_t t = begin; t < end; ++t) {
        const TreeView view = tree(t);
        trees[n_trees] = {finder.find(view, row, n, static_cast<std::size_t>(n_trees)), view.leaf_values.data()};
        if (++n_trees < trees_together && t + 1 < end) continue;
        kernels().add_leaf_values(trees, n_trees, n, n_outputs_, totals + row * n_outputs_);
        n_trees = 0;
      }
    };
  });
}

}  // namespace mpboost
