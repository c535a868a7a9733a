// What log odds say: probabilities of many classes, and the log loss of labels.
#pragma once

#include <cstdint>

#include "mpboost/threads.hpp"

namespace mpboost {

// Log odds of rows: one number for two classes, [row][class] for more. `weights` is null where rows weigh the same.
template <class Label>
struct LogOdds {
  std::int64_t n_rows, n_classes;
  const double* raw;
  const Label* labels;
  const double* weights;
};

// Write exp(raw) as shares of its sum in each row.
void compute_shares(const double* raw, std::int64_t n_rows, std::int64_t n_classes, double* shares);

// Sums over rows, times their weights: of losses, and of what scores are made of, 1 for rows that are right or, of
// numbers, squared errors.
struct LossSums {
  double loss, quality;
};

// Log losses of two classes, -1 and +1, where log odds of 0 stand for +1; and of many, where the first wins at a tie.
LossSums sum_log_losses(const LogOdds<std::int8_t>& rows, Threads& threads);
LossSums sum_log_losses(const LogOdds<std::uint16_t>& rows, Threads& threads);

}  // namespace mpboost
