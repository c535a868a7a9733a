// What growers of trees share: what they are given, and what they return. Header-only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/tree.hpp"

namespace mpboost {

// What a tree is grown on. Rows and features must be valid for the columns.
template <class Label>
struct Minipatch {
  std::span<const std::int64_t> rows, features;
  const Label* labels;              // of all rows: +1 or -1, the code of a class, or a number
  std::span<const double> weights;  // of the patch's rows: positive; none where all weigh the same
  const bool* is_categorical;       // of all columns; null where none is
};

// The weight of a row as a whole number, so that sums are exact; all weights of a minipatch add up to about `total`.
inline std::int32_t whole_weight(double weight, double sum, double total) {
  return std::max(1, static_cast<std::int32_t>(std::lround(weight / sum * total)));
}

// Categories gain by chance, the more the fewer rows each has: k of them (k - 1) / (n - 1) of the impurity of n rows.
// This share of it is taken off their score, so that it compares with the scores of thresholds, which gain by chance,
// too. Chosen by validation inside the training data of Adult and on categories of pure noise; before, all of it was
// taken off.
inline constexpr double chance_share = 0.75;

// Nodes of fewer rows are grown without a look at interrupts: one of 4096 rows and 100 features takes 0.5 ms, or 1.5 ms
// with sorted rows.
inline constexpr std::int32_t polled_rows = 4096;

// The rows of a minipatch on each side of a split: how many, and the sum of their labels, -1 and +1.
struct SplitSides {
  struct Side {
    std::int32_t n_rows, sum;
  };
  Side left, right;
};

struct GrownTree {
  Tree tree;
  std::vector<double> importances;  // of the patch's features: share of the impurity decrease, or all zero
  std::vector<SplitSides> sides;    // of the splits, for two classes where rows have no weights; else empty
};

}  // namespace mpboost
