// Losses of numbers, at predictions in the users' units: for rows that a model does not learn from.
#pragma once

#include <cstdint>

#include "mpboost/kernels.hpp"
#include "mpboost/log_odds.hpp"

namespace mpboost {

// Raw predictions: numbers or, of Poisson and gamma losses, logarithms. `weights` is null where rows weigh the same.
struct ValueRows {
  std::int64_t n_rows;
  const double *raw, *labels, *weights;
  double parameter;  // of the loss
  double unit;       // residuals, or Poisson losses, are divided by it
};

// Sums of losses, up to a constant per row, and of squared errors. Losses beyond 1e300 are cut.
LossSums sum_value_losses(ValueLoss loss, const ValueRows& rows, Threads& threads);

}  // namespace mpboost
