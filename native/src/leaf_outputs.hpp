// What contributions of both kinds share: the outputs of leaves, and on which side of splits rows are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpboost/contributions.hpp"

namespace mpboost {

// The features of a tree's splits as slots: numbers from 0 on.
struct Slots {
  std::vector<std::int32_t> features;  // of the slots
  std::vector<std::int32_t> of_split;

  explicit Slots(TreeView tree) {
    for (const Split& split : tree.splits) features.push_back(split.feature);
    std::ranges::sort(features);
    const auto [first, last] = std::ranges::unique(features);
    features.erase(first, last);
    for (const Split& split : tree.splits)
      of_split.push_back(
          static_cast<std::int32_t>(std::ranges::lower_bound(features, split.feature) - features.begin()));
  }
};

// The parent of each split, and whether it is the left child.
struct Parents {
  std::vector<std::int32_t> of_split;  // -1: the root
  std::vector<std::uint8_t> is_left;

  explicit Parents(TreeView tree) : of_split(tree.splits.size(), -1), is_left(tree.splits.size()) {
    for (std::size_t n = 0; n < tree.splits.size(); ++n)
      for (const bool left : {true, false}) {
        const std::int32_t child = left ? tree.splits[n].left : tree.splits[n].right;
        if (child < 0) continue;
        of_split[static_cast<std::size_t>(child)] = static_cast<std::int32_t>(n);
        is_left[static_cast<std::size_t>(child)] = left;
      }
  }
};

// The value of a leaf for an output; signs have one.
inline double value_of(TreeView tree, const Explained& explained, std::size_t leaf, std::int64_t output) {
  const double* values = tree.values_of(static_cast<std::int32_t>(leaf));
  if (explained.kind == LeafKind::values) return values[output];
  if (explained.kind == LeafKind::signs) return to_vote(*values);
  return static_cast<std::int64_t>(*values) == output;
}

// Tell for some rows whether they go left: 1 or 0.
inline void find_sides(TreeView tree, const Split& split, const BinnedColumns& columns, std::int64_t row,
                       std::int64_t n_rows, std::uint8_t* goes_left) {
  const std::uint8_t* codes = columns.column(split.feature) + row;
  if (split.categories >= 0) {
    for (std::int64_t i = 0; i < n_rows; ++i) goes_left[i] = tree.goes_left(split, codes[i]);
    return;
  }
  const std::uint8_t bin = split.bin, missing = split.missing_left;
  for (std::int64_t i = 0; i < n_rows; ++i)
    goes_left[i] = static_cast<std::uint8_t>((codes[i] <= bin) | ((codes[i] == missing_code) & missing));
}

}  // namespace mpboost
