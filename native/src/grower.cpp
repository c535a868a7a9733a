#include "mpboost/grower.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace mpboost {
namespace {

// Comparing all rows with all rows takes about 3.25 instructions per pair and 90 per row; counting bins 100 per row
// and 70 per bin.
bool pairs_are_cheaper(std::int64_t n_rows, std::int64_t n_bins) {
  return n_rows <= max_pair_rows && n_rows * n_rows < 3 * n_rows + 21 * n_bins;
}

constexpr std::size_t gathered_lanes = 4;  // features that are gathered together: one store for all of a row

}  // namespace

GrownTree TreeGrower::grow(const BinnedColumns& columns, std::span<const std::int64_t> rows,
                           std::span<const std::int64_t> features, const std::int8_t* labels) {
  gather(columns, rows, features, labels);
  GrownTree grown;
  grown.importances.assign(features.size(), 0.0);
  auto& [splits, leaf_values] = grown.tree;

  pending_.assign(1, {0, n_negative_, n_rows_ - n_negative_, 0, -1, false});
  while (!pending_.empty()) {
    const Node node = pending_.back();
    pending_.pop_back();
    Choice choice;
    const bool is_split = !is_final(node) && find_split(node, choice);
    const auto index = static_cast<std::int32_t>(is_split ? splits.size() : ~leaf_values.size());
    if (node.parent >= 0) {
      Split& parent = splits[static_cast<std::size_t>(node.parent)];
      (node.is_left ? parent.left : parent.right) = index;
    }
    if (!is_split) {
      const int majority = (node.n_positive > node.n_negative) - (node.n_positive < node.n_negative);
      leaf_values.push_back(majority == 0 ? options_.tie_value : majority);
      continue;
    }
    Node left{node.begin, 0, 0, node.depth + 1, index, true};
    Node right{node.begin, 0, 0, node.depth + 1, index, false};
    place_threshold(node, choice);
    partition(node, choice, left, right);
    splits.push_back({static_cast<std::int32_t>(features[choice.feature]), 0, 0, choice.bin, choice.missing_left, 0});
    grown.importances[choice.feature] += choice.score / node.size();  // the impurity decrease, but for a factor
    pending_.push_back(right);  // left is taken first: preorder
    pending_.push_back(left);
  }
  const double total = std::accumulate(grown.importances.begin(), grown.importances.end(), 0.0);
  if (total > 0)
    for (double& importance : grown.importances) importance /= total;
  return grown;
}

void TreeGrower::gather(const BinnedColumns& columns, std::span<const std::int64_t> rows,
                        std::span<const std::int64_t> features, const std::int8_t* labels) {
  n_rows_ = static_cast<std::int32_t>(rows.size());
  n_groups_ = (features.size() + group_lanes - 1) / group_lanes;
  order_.assign(rows.begin(), rows.end());
  const auto positives = std::stable_partition(order_.begin(), order_.end(), [&](std::int64_t i) { return labels[i] < 0; });
  n_negative_ = static_cast<std::int32_t>(positives - order_.begin());

  patch_.resize(n_groups_ * rows.size() * group_lanes);
  goes_left_.resize(rows.size());
  right_rows_.resize((rows.size() + 1) * group_lanes);
  group_bins_.assign(n_groups_, 1);
  group_has_missing_.assign(n_groups_, false);
  for (std::size_t k = 0; k < n_groups_ * group_lanes; k += gathered_lanes) {
    const std::size_t group = k / group_lanes;
    std::uint8_t* out = codes(group, 0) + k % group_lanes;
    std::array<const std::uint8_t*, gathered_lanes> column;
    for (std::size_t l = 0; l < gathered_lanes; ++l)  // a lane without a feature repeats the last one, which changes nothing
      column[l] = columns.column(features[std::min(k + l, features.size() - 1)]);
    std::array<std::uint8_t, gathered_lanes> highest{};
    for (const std::int64_t row : order_) {
      std::array<std::uint8_t, gathered_lanes> row_codes;
      for (std::size_t l = 0; l < gathered_lanes; ++l) {
        row_codes[l] = column[l][row];
        highest[l] = std::max(highest[l], row_codes[l]);
      }
      std::memcpy(out, row_codes.data(), gathered_lanes);
      out += group_lanes;
    }
    for (std::size_t l = 0; l < gathered_lanes; ++l) {
      const int n_bins = columns.n_bins(features[std::min(k + l, features.size() - 1)]);
      group_bins_[group] = std::max(group_bins_[group], std::min(highest[l] + 1, n_bins));
      if (highest[l] == missing_code) group_has_missing_[group] = true;
    }
  }
}

bool TreeGrower::is_final(const Node& node) const {
  return node.n_negative == 0 || node.n_positive == 0 ||
         (options_.max_depth > 0 && node.depth >= options_.max_depth) ||
         node.size() / 2 < options_.min_samples_leaf;
}

bool TreeGrower::find_split(const Node& node, Choice& choice) {
  choice.score = -1.0;
  for (std::size_t group = 0; group < n_groups_; ++group) {
    const NodeRows rows{codes(group, node.begin),
                        node.n_negative,
                        node.n_positive,
                        group_bins_[group],
                        static_cast<bool>(group_has_missing_[group]),
                        options_.min_samples_leaf};
    const GroupSplit best = pairs_are_cheaper(node.size(), rows.n_bins) ? kernels().search_pairs(rows)
                                                                        : kernels().search_bins(rows, histogram_);
    if (best.score > choice.score)
      choice = {group * group_lanes + static_cast<std::size_t>(best.lane), best.bin, best.missing_left != 0, best.score};
  }
  return choice.score >= 0;
}

// Move the threshold half-way to the next code that occurs, and settle where missing values go when none was seen.
void TreeGrower::place_threshold(const Node& node, Choice& choice) const {
  const std::uint8_t* column = codes(choice.feature / group_lanes, node.begin) + choice.feature % group_lanes;
  std::uint8_t next = missing_code;
  std::int32_t n_left = 0, n_missing = 0;
  for (std::int32_t i = 0; i < node.size(); ++i) {
    const std::uint8_t code = column[static_cast<std::size_t>(i) * group_lanes];
    n_left += code <= choice.bin;
    n_missing += code == missing_code;
    if (code > choice.bin) next = std::min(next, code);
  }
  choice.bin = next == missing_code ? max_value_bins - 1 : static_cast<std::uint8_t>((choice.bin + next) / 2);
  if (n_missing == 0) choice.missing_left = n_left > node.size() - n_left;
}

// Rows that go left move to the front of the node, the others behind them, both in their old order,
// which keeps the negatives first on each side.
void TreeGrower::partition(const Node& node, const Choice& choice, Node& left, Node& right) {
  const std::uint8_t* column = codes(choice.feature / group_lanes, node.begin) + choice.feature % group_lanes;
  for (std::int32_t i = 0; i < node.size(); ++i) {
    const std::uint8_t code = column[static_cast<std::size_t>(i) * group_lanes];
    const bool goes_left = code == missing_code ? choice.missing_left : code <= choice.bin;
    goes_left_[static_cast<std::size_t>(i)] = goes_left;
    (i < node.n_negative ? left.n_negative : left.n_positive) += goes_left;
  }
  right.n_negative = node.n_negative - left.n_negative;
  right.n_positive = node.n_positive - left.n_positive;
  right.begin = left.begin + left.size();
  if (is_final(left) && is_final(right)) return;  // nobody will look at the rows again
  for (std::size_t group = 0; group < n_groups_; ++group) {
    const std::uint8_t* from = codes(group, node.begin);
    std::uint8_t* to_left = codes(group, node.begin);
    std::uint8_t* to_right = right_rows_.data();
    for (std::int32_t i = 0; i < node.size(); ++i, from += group_lanes) {
      // Without a branch: copy to both sides, then keep one copy. The left one overwrites a row already moved.
      std::array<std::uint8_t, group_lanes> row;
      std::memcpy(row.data(), from, group_lanes);
      std::memcpy(to_left, row.data(), group_lanes);
      std::memcpy(to_right, row.data(), group_lanes);
      const std::size_t step = goes_left_[static_cast<std::size_t>(i)] * group_lanes;
      to_left += step;
      to_right += group_lanes - step;
    }
    std::memcpy(to_left, right_rows_.data(), static_cast<std::size_t>(to_right - right_rows_.data()));
  }
}

}  // namespace mpboost
