// Steps 3 to 5 of Algorithm 1 for two classes, in one pass over the rows.
#pragma once

#include <cstdint>
#include <span>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

struct BinaryOutputs {
  std::int64_t n_rows;
  const std::int8_t* labels;      // +1 or -1
  std::int32_t* votes;            // F: sum of the votes of all learners
  std::int32_t* in_patch_votes;   // S: sum of the votes of learners that were trained on the row; G = F - S
  std::int32_t* in_patch_counts;  // how many learners these are
};

// From outputs to p: log_weights = entry label * F of the table, counted from its middle, plus the logarithm of the
// row's own weight. `log_weights` is null where p stays as it is, the other two where rows weigh the same.
struct RowWeights {
  std::span<const double> table;
  double* log_weights;
  const double* sample_weights;
  const double* log_sample_weights;
};

// The weight of the rows that are right, or their number where rows weigh the same.
struct Correct {
  double train, out_of_patch;
};

// Add a learner's votes to F and, for the rows of its patch, to S, and update p. Add the weight of the rows that
// sign(F) and sign(G) get right to that of the rows before, and return all of it: an F of 0 predicts tie_label, a G of
// 0 is wrong.
Correct add_votes(const std::int8_t* votes, std::span<const std::int64_t> patch, const BinaryOutputs& outputs,
                  std::int8_t tie_label, const RowWeights& weights, RowSums& sums, Threads& threads);

}  // namespace mpboost
