// Steps 3 to 5 of Algorithm 1 for two classes, in one pass over the rows.
#pragma once

#include <cstdint>
#include <span>

#include "mpboost/threads.hpp"

namespace mpboost {

struct BinaryOutputs {
  std::int64_t n_rows;
  const std::int8_t* labels;     // +1 or -1
  std::int32_t* votes;           // F: sum of the votes of all learners
  std::int32_t* in_patch_votes;  // S: sum of the votes of learners that were trained on the row; G = F - S
};

struct CorrectCounts {
  std::int64_t train, out_of_patch;
};

// Add a learner's votes to F and, for the rows of its patch, to S. Count the rows that sign(F) and sign(G) get
// right: where F is 0 it predicts tie_label; where G is 0 it is wrong. Unless `log_weights` is null, set
// it to the entry label * F of the table, counted from its middle: the logarithm of the weighting of Table I.
CorrectCounts add_votes(const std::int8_t* votes, std::span<const std::int64_t> patch, const BinaryOutputs& outputs,
                        std::int8_t tie_label, std::span<const double> table, double* log_weights, Threads& threads);

}  // namespace mpboost
