// What the splits of a tree are worth to rows that it was not grown on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/gradient_grower.hpp"
#include "mpboost/minipatch_slopes.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// How much each feature's splits lower the loss, to first order, on rows whose gradients are given as sums over leaves;
// nodes have the values that they got on the minipatch. In the order of `features`, which must ascend. On rows that the
// tree was not grown on, a split that is there by chance is credited with nothing on average.
std::vector<double> gradient_credits(const GradientTree& grown, std::span<const double> gradient_sums,
                                     std::span<const std::int64_t> features);

// How large credits are by chance: the root of the sum of their variances, if gradients vary by their hessians, as
// those of the log loss do where the model is right.
double chance_of_credits(const GradientTree& grown, std::span<const double> hessian_sums);

// A tree whose features are credited by the rows outside its minipatch.
struct UnseenRows {
  const GradientTree& grown;
  std::span<const double> sums;            // of all rows, [leaf][output][gradient, hessian]
  std::span<const std::uint16_t> leaves;   // of all rows
  std::span<const std::int64_t> rows;      // of the minipatch
  Slopes slopes;                           // outputs are combined along the direction
  std::span<const std::int64_t> features;  // ascending
};

struct GradientCredits {
  std::vector<double> credits, importances;  // the latter are multiples of what chance alone would give
};

// Trees and outputs share the threads. Rows and leaves that do not exist are refused.
std::vector<GradientCredits> credit_unseen(std::span<const UnseenRows> trees, Threads& threads);

}  // namespace mpboost
