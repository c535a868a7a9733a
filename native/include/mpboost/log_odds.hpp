// What log odds say: probabilities of many classes, and the log loss of labels.
#pragma once

#include <cstdint>

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

// The sum of the log losses of rows, times their weights: of two classes, -1 and +1, and of many.
double sum_log_losses(const LogOdds<std::int8_t>& rows);
double sum_log_losses(const LogOdds<std::uint16_t>& rows);

}  // namespace mpboost
