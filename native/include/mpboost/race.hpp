// Weighted draws without replacement by exponential race.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// The n of n_items that arrive first, in ascending order, when item i arrives after Exp(1) / weight(i):
// the same law as n successive draws in proportion to the weights of the items that are left.
// Weights are given by their logarithms, of any size; items of weight zero (log -inf or NaN) are drawn, uniformly,
// only when no other is left. Needs n <= n_items.
std::vector<std::int64_t> race(const double* log_weights, std::int64_t n_items, std::int64_t n, const Stream& stream,
                               Threads& threads);

// The logarithms of the times at which some items arrive.
std::vector<double> log_arrivals(const double* log_weights, std::span<const std::int64_t> items, const Stream& stream);

}  // namespace mpboost
