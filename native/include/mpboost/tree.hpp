// A decision tree over binned columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"

namespace mpboost {

// A split. Numeric feature: rows whose code in column `feature` is at most `bin` go left. Categorical feature: rows
// whose code is in the tree's category set number `categories` go left. Missing values go as `missing_left` says, all
// others right. A child that is a split is given by its index among the splits, a leaf by the complement (~) of its
// index.
struct Split {
  std::int32_t feature;
  std::int32_t left, right;
  std::int32_t categories;  // -1: numeric
  std::uint8_t bin;
  std::uint8_t missing_left;
  std::uint16_t reserved;
};
static_assert(sizeof(Split) == 20);

// Bit c % 8 of byte c / 8 tells whether code c goes left; the bit of missing_code agrees with missing_left.
using CategorySet = std::array<std::uint8_t, 32>;

inline bool holds(const CategorySet& set, std::uint8_t code) { return set[code / 8] >> (code % 8) & 1; }
inline void insert(CategorySet& set, std::uint8_t code) {
  set[code / 8] = static_cast<std::uint8_t>(set[code / 8] | 1 << code % 8);
}

// Splits and leaves are both numbered in preorder, so those below any split are contiguous; category sets are in
// the order of their splits. A tree without splits has one leaf. A leaf holds as many values as the tree has outputs:
// leaf values are [leaf][output]. The cover of a leaf is the weight of the rows of the minipatch that reached it; trees
// from old model files have no covers.
struct TreeView {
  std::span<const Split> splits;
  std::span<const double> leaf_values;
  std::span<const CategorySet> category_sets;
  std::int64_t n_outputs = 1;
  std::span<const float> leaf_covers{};  // of all leaves, or none

  std::size_t n_leaves() const { return splits.size() + 1; }
  const double* values_of(std::int32_t leaf) const { return leaf_values.data() + leaf * n_outputs; }

  bool goes_left(const Split& split, std::uint8_t code) const {
    if (split.categories >= 0) return holds(category_sets[static_cast<std::size_t>(split.categories)], code);
    return code == missing_code ? split.missing_left != 0 : code <= split.bin;
  }
};

// What a leaf of this value votes for.
inline std::int8_t to_vote(double value) { return value > 0 ? 1 : -1; }

struct Tree {
  std::vector<Split> splits;
  std::vector<double> leaf_values;
  std::vector<CategorySet> category_sets;
  std::int64_t n_outputs = 1;
  std::vector<float> leaf_covers{};

  std::size_t n_leaves() const { return splits.size() + 1; }
  operator TreeView() const { return {splits, leaf_values, category_sets, n_outputs, leaf_covers}; }
};

// A sum of weights as trees keep it: in single precision, and finite.
inline float to_cover(double weight) {
  return static_cast<float>(std::min(weight, static_cast<double>(std::numeric_limits<float>::max())));
}

// Whether covers are those of that many leaves, or none: finite, and not negative.
inline bool covers_fit(std::span<const float> covers, std::size_t n_leaves) {
  return covers.empty() || (covers.size() == n_leaves && std::ranges::all_of(covers, [](float cover) {
                              return cover >= 0 && cover <= std::numeric_limits<float>::max();
                            }));
}

// Whether there is at least one output, and a value for every output of every leaf. Computes no product, which could
// overflow.
inline bool values_fit(std::size_t n_values, std::size_t n_leaves, std::int64_t n_outputs) {
  if (n_outputs < 1) return false;
  const auto n = static_cast<std::size_t>(n_outputs);
  return n_values % n == 0 && n_values / n == n_leaves;
}

// Whether every index is in range and in preorder: what the other functions take for granted.
bool is_valid(TreeView tree, std::int64_t n_features);

}  // namespace mpboost
