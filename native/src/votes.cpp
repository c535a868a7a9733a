#include "mpboost/votes.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace mpboost {
namespace {

// Few rows at a time, and counts of 32 bits, so that the loop is vectorised.
CorrectCounts add_batch(const std::int8_t* votes, const BinaryOutputs& outputs, std::int64_t first, std::int64_t n,
                        std::int8_t tie_label, std::int32_t* margins, std::int32_t& largest_margin) {
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
    margins[i] = margin;
    const std::int32_t size = margin < 0 ? -margin : margin;
    largest = size > largest ? size : largest;
    n_train += margin + is_tie_label > 0;  // margins are whole: only 0 is moved over the line
    n_out_of_patch += (g ^ sign) - sign > 0;
  }
  largest_margin = largest;
  return {n_train, n_out_of_patch};
}

}  // namespace

CorrectCounts add_votes(const std::int8_t* votes, std::span<const std::int64_t> patch, const BinaryOutputs& outputs,
                        std::int8_t tie_label, std::span<const double> table, double* log_weights, Threads& threads) {
  const std::int64_t half = (static_cast<std::int64_t>(table.size()) - 1) / 2;
  const double* middle = table.data() + half;
  for (const std::int64_t i : patch) outputs.in_patch_votes[i] += votes[i];

  std::atomic<std::int64_t> train{0}, out_of_patch{0};
  threads.for_ranges(outputs.n_rows, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t batch = 1024;
    for (std::int64_t first = begin; first < end; first += batch) {
      const std::int64_t n = std::min(batch, end - first);
      std::int32_t margins[batch], largest_margin;
      const auto correct = add_batch(votes + first, outputs, first, n, tie_label, margins, largest_margin);
      train.fetch_add(correct.train, std::memory_order_relaxed);
      out_of_patch.fetch_add(correct.out_of_patch, std::memory_order_relaxed);
      if (!log_weights) continue;
      if (largest_margin > half) throw std::invalid_argument("the table of weights is too short for these votes");
      for (std::int64_t i = 0; i < n; ++i) log_weights[first + i] = middle[margins[i]];
    }
  });
  return {train, out_of_patch};
}

}  // namespace mpboost
