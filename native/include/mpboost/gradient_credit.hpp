// What the splits of a tree are worth to rows that it was not grown on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/gradient_grower.hpp"

namespace mpboost {

// What the splits of a tree move the loss by, to first order, on rows whose sums of gradients are given leaf by leaf,
// when nodes say what they said on the patch; feature by feature, in the order of `features`. Rows that the tree was not
// grown on credit a split by chance with nothing, in the mean.
std::vector<double> gradient_credits(const GradientTree& grown, std::span<const double> gradient_sums,
                                     std::span<const std::int64_t> features);

// The size that credits have by chance: the root of their summed variances, if the variance of gradients is the hessian, as
// that of the log loss is where the model is right.
double chance_of_credits(const GradientTree& grown, std::span<const double> hessian_sums);

}  // namespace mpboost
