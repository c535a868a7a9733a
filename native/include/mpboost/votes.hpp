// Steps 3 to 5 of Algorithm 1 for two classes, in one pass over the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

class VoteBits;

// What a learner says about the rows: an array, or a tree, which the pass that adds its votes up applies to columns.
template <class Vote>
struct LearnerVotes {
  const Vote* array;  // null where there is a tree
  TreeView tree = {};
  const BinnedColumns* columns = nullptr;  // of the tree
  const VoteBits* bits = nullptr;          // what the votes of the tree are found by, if that is known already
};

// Prepare to find the votes of a tree, which takes a good part of the time that finding them takes. Null for trees
// whose votes are found in another way. The columns, and the category sets of the tree, must stay as long as the
// result.
std::shared_ptr<const VoteBits> prepare_votes(TreeView tree, const BinnedColumns& columns);

// Sums of votes and counts of learners, in 16 bits as long as there are few enough learners.
template <class Count>
struct BinaryOutputs {
  std::int64_t n_rows;
  const std::int8_t* labels;  // +1 or -1
  Count* votes;               // F: sum of the votes of all learners
  Count* in_patch_votes;      // S: sum of the votes of learners that were trained on the row; G = F - S
  Count* in_patch_counts;     // how many learners these are
};

// The weight of the rows that are right, or their number where rows weigh the same.
struct Correct {
  double train, out_of_patch;
};

// Add a learner's votes, +1 or -1, to F and, for the rows of its (ascending) patch, to S. Add the weight of the rows
// that sign(F) and sign(G) get right to that of the rows before, and return all of it: an F of 0 predicts tie_label, a
// G of 0 is wrong. `sample_weights` is null where rows weigh the same.
template <class Count>
Correct add_votes(const LearnerVotes<std::int8_t>& votes, std::span<const std::int64_t> patch,
                  const BinaryOutputs<Count>& outputs, std::int8_t tie_label, const double* sample_weights,
                  RowSums& sums, Threads& threads);

// Count the rows that have each margin, label * votes; entry k of the counts is that of the margin k - n_counts / 2.
// Throws if a margin has no entry.
template <class Count>
std::vector<std::int64_t> count_margins(std::int64_t n_rows, const std::int8_t* labels, const Count* votes,
                                        std::int64_t n_counts);

// How many rows out-of-patch votes, G, get wrong and right; a G of 0 is neither.
struct Sides {
  std::int64_t n_wrong, n_right;
};

template <class Count>
Sides count_sides(const BinaryOutputs<Count>& outputs, std::span<const std::int64_t> rows);

}  // namespace mpboost
