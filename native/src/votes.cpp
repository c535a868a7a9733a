#include "mpboost/votes.hpp"

#include <atomic>

namespace mpboost {

CorrectCounts add_votes(const std::int8_t* votes, std::span<const std::int64_t> patch, const BinaryOutputs& outputs,
                        std::int8_t tie_label, const double* table, double* log_weights, Threads& threads) {
  for (const std::int64_t i : patch) outputs.in_patch_votes[i] += votes[i];

  std::atomic<std::int64_t> train{0}, out_of_patch{0};
  threads.for_ranges(outputs.n_rows, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t n_train = 0, n_out_of_patch = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t label = outputs.labels[i];
      const std::int32_t f = outputs.votes[i] += votes[i];
      const std::int32_t g = f - outputs.in_patch_votes[i];
      n_train += label * f > 0 || (f == 0 && label == tie_label);
      n_out_of_patch += label * g > 0;
    }
    if (log_weights)
      for (std::int64_t i = begin; i < end; ++i) log_weights[i] = table[outputs.labels[i] * outputs.votes[i]];
    train += n_train;
    out_of_patch += n_out_of_patch;
  });
  return {train, out_of_patch};
}

}  // namespace mpboost
