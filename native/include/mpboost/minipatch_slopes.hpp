// The derivatives that a tree of gradient boosting is grown on: those of the rows of a minipatch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mpboost {

// Derivatives of the loss at all rows, [row][output].
struct Slopes {
  const float *gradients, *hessians;
  std::int64_t n_outputs;
  // With more outputs than one: -1 or +1 for each. The tree is grown for this combination of them.
  const double* direction = nullptr;
  const std::uint16_t* labels = nullptr;  // classes, if outputs are their log odds
  const float* weights = nullptr;         // of rows; null: all 1
};

struct MinipatchSlopes {
  std::vector<double> gradients, hessians;  // of the rows of the minipatch, times their weights
};

MinipatchSlopes gather_slopes(const Slopes& slopes, std::span<const std::int64_t> rows,
                              std::span<const double> patch_weights);

}  // namespace mpboost
