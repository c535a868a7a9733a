#include "mpboost/votes.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace mpboost {
namespace {

constexpr std::int64_t batch_rows = 1024;

// What is noted about the rows of a batch.
struct Batch {
  std::int32_t margins[batch_rows];
  std::uint8_t train[batch_rows], out_of_patch[batch_rows];  // 1 where right
  std::int32_t n_train, n_out_of_patch, largest_margin;
};

// Counts have 32 bits, so that the loop is vectorised.
template <bool has_weights>
void add_batch(const std::int8_t* votes, const BinaryOutputs& outputs, std::int64_t first, std::int64_t n,
               std::int8_t tie_label, Batch& batch) {
  const std::int8_t* labels = outputs.labels + first;
  const std::int32_t* in_patch = outputs.in_patch_votes + first;
  std::int32_t* totals = outputs.votes + first;
  std::int32_t n_train = 0, n_out_of_patch = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t sign = labels[i] >> 7;  // 0 or -1; (x ^ sign) - sign is label * x
    const std::int32_t is_tie_label = labels[i] == tie_label;
    const std::int32_t f = totals[i] + votes[i];
    const std::int32_t g = f - in_patch[i];
    const std::int32_t margin = (f ^ sign) - sign;
    totals[i] = f;
    batch.margins[i] = margin;
    const std::int32_t size = margin < 0 ? -margin : margin;
    largest = size > largest ? size : largest;
    const bool train = margin + is_tie_label > 0;  // margins are whole numbers: only that of 0 changes sides
    const bool out_of_patch = (g ^ sign) - sign > 0;
    n_train += train;
    n_out_of_patch += out_of_patch;
    if constexpr (has_weights) {
      batch.train[i] = train;
      batch.out_of_patch[i] = out_of_patch;
    }
  }
  batch.n_train = n_train;
  batch.n_out_of_patch = n_out_of_patch;
  batch.largest_margin = largest;
}

Correct sum_correct(const Batch& batch, const double* weights, std::int64_t n) {
  if (!weights) return {static_cast<double>(batch.n_train), static_cast<double>(batch.n_out_of_patch)};
  Correct sum{};
  for (std::int64_t i = 0; i < n; ++i) {
    sum.train += batch.train[i] ? weights[i] : 0.0;
    sum.out_of_patch += batch.out_of_patch[i] ? weights[i] : 0.0;
  }
  return sum;
}

void refresh(const Batch& batch, const RowWeights& weights, std::int64_t first, std::int64_t n) {
  const std::int64_t half = (static_cast<std::int64_t>(weights.table.size()) - 1) / 2;
  if (batch.largest_margin > half) throw std::invalid_argument("the table of weights is too short for these votes");
  const double* middle = weights.table.data() + half;
  double* out = weights.log_weights + first;
  if (!weights.log_sample_weights)
    for (std::int64_t i = 0; i < n; ++i) out[i] = middle[batch.margins[i]];
  else
    for (std::int64_t i = 0; i < n; ++i) out[i] = middle[batch.margins[i]] + weights.log_sample_weights[first + i];
}

}  // namespace

Correct add_votes(const std::int8_t* votes, std::span<const std::int64_t> patch, const BinaryOutputs& outputs,
                  std::int8_t tie_label, const RowWeights& weights, RowSums& sums, Threads& threads) {
  for (const std::int64_t i : patch) {
    outputs.in_patch_votes[i] += votes[i];
    outputs.in_patch_counts[i] += 1;
  }
  sums.add_rows(outputs.n_rows, 2, batch_rows, 8, threads, [&] {
    return [&](std::int64_t first, std::int64_t n, double* sum) {
      Batch batch;
      const double* row_weights = weights.sample_weights ? weights.sample_weights + first : nullptr;
      row_weights ? add_batch<true>(votes + first, outputs, first, n, tie_label, batch)
                  : add_batch<false>(votes + first, outputs, first, n, tie_label, batch);
      const Correct correct = sum_correct(batch, row_weights, n);
      sum[0] = correct.train;
      sum[1] = correct.out_of_patch;
      if (weights.log_weights) refresh(batch, weights, first, n);
    };
  });
  const std::vector<double> total = sums.total();
  return {total[0], total[1]};
}

}  // namespace mpboost
