#include "mpboost/minipatch_slopes.hpp"

#include <algorithm>

namespace mpboost {
namespace {

struct Pair {
  double gradient, hessian;
};

Pair combine_outputs(const Slopes& slopes, std::int64_t row) {
  const float* gradients = slopes.gradients + row * slopes.n_outputs;
  const float* hessians = slopes.hessians + row * slopes.n_outputs;
  Pair sum{};
  for (std::int64_t k = 0; k < slopes.n_outputs; ++k) {
    sum.gradient += static_cast<double>(gradients[k]) * slopes.direction[k];
    sum.hessian += static_cast<double>(hessians[k]);
  }
  if (!slopes.labels) return sum;
  // The tree separates two groups of classes, a variable of -1 or +1: its variance follows from its mean.
  constexpr double least_variance = 1e-16;
  const double weight = slopes.weights ? static_cast<double>(slopes.weights[row]) : 1.0;
  const double mean = sum.gradient / weight + slopes.direction[slopes.labels[row]];
  return {sum.gradient, weight * std::max(1.0 - mean * mean, least_variance)};
}

}  // namespace

MinipatchSlopes gather_slopes(const Slopes& slopes, std::span<const std::int64_t> rows,
                              std::span<const double> patch_weights) {
  MinipatchSlopes gathered{std::vector<double>(rows.size()), std::vector<double>(rows.size())};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i];
    const Pair slope =
        slopes.direction ? combine_outputs(slopes, row)
                         : Pair{static_cast<double>(slopes.gradients[row]), static_cast<double>(slopes.hessians[row])};
    gathered.gradients[i] = slope.gradient * patch_weights[i];
    gathered.hessians[i] = slope.hessian * patch_weights[i];
  }
  return gathered;
}

}  // namespace mpboost
