#include "mpboost/value_losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpboost/chunk_sums.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t piece_rows = 1024;
constexpr double max_loss = 1e300;      // sums of fewer than a hundred million do not overflow
constexpr double max_log_mean = 700.0;  // exp stays finite

bool has_log_link(ValueLoss loss) { return loss == ValueLoss::poisson || loss == ValueLoss::gamma; }

// The loss of a row, given its raw prediction, the prediction itself, and the label.
double compute_loss(ValueLoss loss, double raw, double prediction, double label, double parameter, double unit) {
  if (loss == ValueLoss::poisson) return (prediction - label * raw) / unit;
  if (loss == ValueLoss::gamma) return raw + label / prediction;
  const double residual = (raw - label) / unit, size = std::abs(residual);
  switch (loss) {
    case ValueLoss::squared: return 0.5 * (residual * residual);
    case ValueLoss::huber: return size <= parameter ? 0.5 * (size * size) : parameter * (size - 0.5 * parameter);
    case ValueLoss::quantile: return (residual < 0 ? parameter : 1.0 - parameter) * size;
    default: return size;
  }
}

}  // namespace

LossSums sum_value_losses(ValueLoss loss, const ValueRows& rows, Threads& threads) {
  RowSums sums;
  sums.add_rows(rows.n_rows, 2, piece_rows, 4, threads, [&] {
    return [&](std::int64_t first, std::int64_t n, double* sum) {
      const double *raw = rows.raw + first, *labels = rows.labels + first;
      double bounded[piece_rows], predictions[piece_rows], losses[piece_rows], squares[piece_rows];
      std::copy(raw, raw + n, bounded);
      if (has_log_link(loss))
        for (std::int64_t i = 0; i < n; ++i) bounded[i] = std::clamp(bounded[i], -max_log_mean, max_log_mean);
      std::copy(bounded, bounded + n, predictions);
      if (has_log_link(loss)) kernels().exp_of(predictions, n);
      for (std::int64_t i = 0; i < n; ++i) {
        const double of_row = compute_loss(loss, bounded[i], predictions[i], labels[i], rows.parameter, rows.unit);
        losses[i] = std::clamp(of_row, -max_loss, max_loss);
      }
      for (std::int64_t i = 0; i < n; ++i) squares[i] = (labels[i] - predictions[i]) * (labels[i] - predictions[i]);
      if (rows.weights) {
        for (std::int64_t i = 0; i < n; ++i) losses[i] *= rows.weights[first + i];
        for (std::int64_t i = 0; i < n; ++i) squares[i] *= rows.weights[first + i];
      }
      sum[0] = sum_numbers(losses, n);
      sum[1] = sum_numbers(squares, n);
    };
  });
  const std::vector<double> total = sums.total();
  return {total[0], total[1]};
}

}  // namespace mpboost
