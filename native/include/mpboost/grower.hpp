// What all growers of trees are given, and what they give.
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
  const Label* labels;                // of all rows: +1 or -1, the code of a class, or a number
  std::span<const double> weights;    // of the patch's rows: positive; none where all weigh the same
  const bool* is_categorical;         // of all columns; null where none is
};

// The weight of a row as a whole number, so that sums are exact: those of a minipatch add up to `total`, nearly.
inline std::int32_t whole_weight(double weight, double sum, double total) {
  return std::max(1, static_cast<std::int32_t>(std::lround(weight / sum * total)));
}

struct GrownTree {
  Tree tree;
  std::vector<double> importances;  // of the patch's features: share of the impurity decrease, or all zero
};

}  // namespace mpboost
