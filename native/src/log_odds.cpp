#include "mpboost/log_odds.hpp"

#include <algorithm>
#include <vector>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t batch_numbers = 1024;  // that stay in the cache from step to step
constexpr std::int64_t piece_rows = 1024;     // of sums

// Call compute(first, n, losses, hits) for batches of rows, which writes their losses and whether they are right;
// return the sums of these times weights.
template <class Label, class Compute>
LossSums sum_batches(const LogOdds<Label>& rows, std::int64_t batch_rows, Threads& threads, Compute compute) {
  RowSums sums;
  sums.add_rows(rows.n_rows, 2, piece_rows, 1, threads, [&] {
    return [&, compute](std::int64_t first, std::int64_t n, double* sum) mutable {  // a copy, with memory of its own
      double losses[piece_rows], hits[piece_rows];
      for (std::int64_t i = 0; i < n; i += batch_rows)
        compute(first + i, std::min(batch_rows, n - i), losses + i, hits + i);
      if (rows.weights) {
        for (std::int64_t i = 0; i < n; ++i) losses[i] *= rows.weights[first + i];
        for (std::int64_t i = 0; i < n; ++i) hits[i] *= rows.weights[first + i];
      }
      sum[0] = sum_numbers(losses, n);
      sum[1] = sum_numbers(hits, n);
    };
  });
  const std::vector<double> total = sums.total();
  return {total[0], total[1]};
}

// Rows that are taken at a time: as many as fit into a batch.
std::int64_t count_batch_rows(std::int64_t n_classes) { return std::max<std::int64_t>(1, batch_numbers / n_classes); }

// Write exp(raw - the largest of the row) for some rows, and the sum of these and the largest for each row.
void compute_odds(const double* raw, std::int64_t n_rows, std::int64_t n_classes, double* odds, double* sums,
                  double* most) {
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double* row = raw + i * n_classes;
    most[i] = *std::max_element(row, row + n_classes);
    for (std::int64_t k = 0; k < n_classes; ++k) odds[i * n_classes + k] = row[k] - most[i];
  }
  kernels().exp_of(odds, n_rows * n_classes);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    sums[i] = 0.0;
    for (std::int64_t k = 0; k < n_classes; ++k) sums[i] += odds[i * n_classes + k];
  }
}

}  // namespace

void compute_shares(const double* raw, std::int64_t n_rows, std::int64_t n_classes, double* shares) {
  const std::int64_t batch_rows = count_batch_rows(n_classes);
  double sums[batch_numbers], most[batch_numbers];
  for (std::int64_t first = 0; first < n_rows; first += batch_rows) {
    const std::int64_t n = std::min(batch_rows, n_rows - first), start = first * n_classes;
    compute_odds(raw + start, n, n_classes, shares + start, sums, most);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < n_classes; ++k) shares[start + i * n_classes + k] /= sums[i];
  }
}

LossSums sum_log_losses(const LogOdds<std::int8_t>& rows, Threads& threads) {
  return sum_batches(rows, batch_numbers, threads,
                     [&](std::int64_t first, std::int64_t n, double* losses, double* hits) {
                       const double* raw = rows.raw + first;
                       const std::int8_t* labels = rows.labels + first;
                       for (std::int64_t i = 0; i < n; ++i) losses[i] = labels[i] > 0 ? -raw[i] : raw[i];
                       for (std::int64_t i = 0; i < n; ++i) hits[i] = (raw[i] >= 0) == (labels[i] > 0) ? 1.0 : 0.0;
                       kernels().softplus_of(losses, n);
                     });
}

LossSums sum_log_losses(const LogOdds<std::uint16_t>& rows, Threads& threads) {
  const std::int64_t n_classes = rows.n_classes, batch_rows = count_batch_rows(n_classes);
  std::vector<double> odds(static_cast<std::size_t>(batch_rows * n_classes));
  const auto compute = [&, odds](std::int64_t first, std::int64_t n, double* losses, double* hits) mutable {
    double most[batch_numbers];
    const double* raw = rows.raw + first * n_classes;
    const std::uint16_t* labels = rows.labels + first;
    compute_odds(raw, n, n_classes, odds.data(), losses, most);
    kernels().log_of(losses, n);
    for (std::int64_t i = 0; i < n; ++i) losses[i] += most[i] - raw[i * n_classes + labels[i]];
    for (std::int64_t i = 0; i < n; ++i) {
      const double* row = raw + i * n_classes;
      hits[i] = std::find(row, row + labels[i] + 1, most[i]) == row + labels[i] ? 1.0 : 0.0;
    }
  };
  return sum_batches(rows, batch_rows, threads, compute);
}

}  // namespace mpboost
