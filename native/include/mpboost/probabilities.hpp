// Step 4b of Algorithm 1: the distribution over features. Header-only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/elementary.hpp"

namespace mpboost {

inline bool are_zero(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double one) { return one == 0.0; });
}

// Set q_j = (1 - momentum) q_j + momentum * r * target_j for the given items, where r is the sum of their q_j, and
// log_weights to the logarithms of their weights in draws of which a share, `exploration`, is uniform. Targets sum to
// 1, so the sum of all probabilities stays as it was; if all are 0, nothing changes.
inline void move_probabilities(std::span<double> probabilities, double* log_weights,
                               std::span<const std::int64_t> items, const double* targets, double momentum,
                               double exploration) {
  if (are_zero({targets, items.size()})) return;
  const double uniform_share = exploration / static_cast<double>(probabilities.size());
  double mass = 0.0;
  for (const std::int64_t j : items) mass += probabilities[static_cast<std::size_t>(j)];
  for (std::size_t k = 0; k < items.size(); ++k) {
    double& q = probabilities[static_cast<std::size_t>(items[k])];
    q = (1.0 - momentum) * q + momentum * mass * targets[k];
    log_weights[items[k]] = log_of((1.0 - exploration) * q + uniform_share);
  }
}

// Add the importances of some items to their sums; return the means so far as shares of their total. Negative means
// count as 0. Importances that are all 0 are not added, and shares are all 0 if no mean is positive.
inline std::vector<double> remember_importances(std::span<const std::int64_t> items, const double* importances,
                                                double* sums, std::int64_t* counts) {
  std::vector<double> shares(items.size());
  if (are_zero({importances, items.size()})) return shares;
  double total = 0.0;
  for (std::size_t k = 0; k < items.size(); ++k) {
    const std::int64_t j = items[k];
    sums[j] += importances[k];
    const double mean = sums[j] / static_cast<double>(++counts[j]);
    total += shares[k] = std::max(mean, 0.0);
  }
  if (total > 0)
    for (double& share : shares) share /= total;
  return shares;
}

}  // namespace mpboost
