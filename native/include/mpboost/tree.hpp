// A decision tree over binned columns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mpboost {

// A split: rows whose code in column `feature` is at most `bin` go left, missing ones as `missing_left`
// says, all others right. Children that are splits are given by their index among the splits; children that
// are leaves by the complement (~) of the leaf's index.
struct Split {
  std::int32_t feature;
  std::int32_t left, right;
  std::uint8_t bin;
  std::uint8_t missing_left;
  std::uint16_t reserved;
};
static_assert(sizeof(Split) == 16);

// Splits and leaves are both numbered in preorder, so those below any split are contiguous.
// A tree without splits has one leaf.
struct TreeView {
  std::span<const Split> splits;
  std::span<const double> leaf_values;
};

struct Tree {
  std::vector<Split> splits;
  std::vector<double> leaf_values;

  operator TreeView() const { return {splits, leaf_values}; }
};

// Whether every index is in range and in preorder: what the other functions take for granted.
bool is_valid(TreeView tree, std::int64_t n_features);

}  // namespace mpboost
