#include "mpboost/forest.hpp"

#include <algorithm>
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

// Finds the leaves of some rows in one tree after the other.
class LeavesOfRows {
 public:
  explicit LeavesOfRows(const BinnedColumns& columns) : columns_(&columns) {}

  // Until the next call.
  const std::int32_t* find(TreeView tree, std::int64_t row, std::int64_t n) {
    leaves_.resize(static_cast<std::size_t>(n));
    finder_.bind(tree, *columns_, n);
    finder_.find(row, n, leaves_.data());
    return leaves_.data();
  }

 private:
  const BinnedColumns* columns_;
  LeafFinder finder_;
  std::vector<std::int32_t> leaves_;
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

template <class MakeTake>
void Forest::for_trees(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, Threads& threads,
                       MakeTake make_take) const {
  // All trees are applied in turn to so many rows, whose codes and totals stay in the cache. More rows bind trees less
  // often, and a tree of many leaves is the faster the more rows it is applied to: as few times as possible, equally
  // many each.
  constexpr std::int64_t least = 2048, most = 16 * least, cached_bytes = 1 << 19;
  const std::int64_t n_rows = columns.n_rows();
  const std::int64_t row_bytes = columns.n_columns() + static_cast<std::int64_t>(sizeof(double)) * n_outputs_;
  const std::int64_t limit = std::clamp(cached_bytes / row_bytes, least, most);
  const auto round_up = [](std::int64_t n, std::int64_t parts) {
    return ((n + parts - 1) / parts + block_rows - 1) / block_rows * block_rows;
  };
  const std::int64_t grain = std::clamp(round_up(n_rows, threads.size()), least, round_up(limit, 1));
  threads.for_ranges(n_rows, grain, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t n_steps = (last - first + limit - 1) / limit;
    const std::int64_t step = round_up(last - first, n_steps);
    auto take = make_take();
    for (std::int64_t row = first; row < last; row += step)
      for (std::int64_t t = begin; t < end; ++t) take(tree(t), row, std::min(step, last - row));
  });
}

void Forest::add_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int32_t* totals,
                       Threads& threads) const {
  const std::int64_t n_rows = columns.n_rows();
  const auto has_bits = [=](TreeView view) { return VoteBits::can_take(view) && !LeafFinder::walks(view, n_rows); };
  VoteBits bits(columns);
  const auto add_bits = [&] {
    threads.for_ranges(n_rows, 4 * line_rows,
                       [&](std::int64_t first, std::int64_t last) { bits.add_votes(first, last, totals); });
    bits.clear();
  };
  bool has_others = false;
  for (std::int64_t t = begin; t < end; ++t) {
    has_others |= !has_bits(tree(t));
    if (!has_bits(tree(t))) continue;
    bits.take(tree(t));
    if (bits.is_full()) add_bits();
  }
  if (!bits.is_empty()) add_bits();
  if (!has_others) return;
  for_trees(columns, begin, end, threads, [&] {
    return [&, finder = LeavesOfRows(columns)](TreeView view, std::int64_t row, std::int64_t n) mutable {
      if (has_bits(view)) return;
      const std::int32_t* leaves = finder.find(view, row, n);
      for (std::int64_t i = 0; i < n; ++i) totals[row + i] += to_vote(*view.values_of(leaves[i]));
    };
  });
}

void Forest::add_class_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int64_t n_classes,
                             std::int32_t* totals, Threads& threads) const {
  for_trees(columns, begin, end, threads, [&] {
    return [=, finder = LeavesOfRows(columns)](TreeView view, std::int64_t row, std::int64_t n) mutable {
      const std::int32_t* leaves = finder.find(view, row, n);
      for (std::int64_t i = 0; i < n; ++i)
        ++totals[(row + i) * n_classes + static_cast<std::int64_t>(*view.values_of(leaves[i]))];
    };
  });
}

void Forest::add_values(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, double* totals,
                        Threads& threads) const {
  for_trees(columns, begin, end, threads, [&] {
    return [=, finder = LeavesOfRows(columns)](TreeView view, std::int64_t row, std::int64_t n) mutable {
      const std::int32_t* leaves = finder.find(view, row, n);
      double* of_rows = totals + row * view.n_outputs;
      if (view.n_outputs == 1)
        for (std::int64_t i = 0; i < n; ++i) of_rows[i] += *view.values_of(leaves[i]);
      else
        kernels().add_leaf_values(leaves, n, view.leaf_values.data(), view.n_outputs, of_rows);
    };
  });
}

}  // namespace mpboost
