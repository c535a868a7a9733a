// Contributions of features to what trees put out for a row: exact Shapley values.
#pragma once

#include <cstdint>

#include "mpboost/columns.hpp"
#include "mpboost/forest.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// What the leaves of trees stand for.
enum class LeafKind : std::uint8_t {
  values,   // as many outputs as the trees have
  signs,    // one number, -1 or +1, which counts for each output as often as the factor of the tree says
  classes,  // a vote for a class: 1 for the output that the value numbers, 0 for the others
};

struct Explained {
  LeafKind kind;
  std::int64_t n_outputs;
  const double* factors = nullptr;  // of signs: [tree][output]; null: all 1
};

// Add up contributions of features over all trees: out is [row][output][feature], with the expected value behind the
// features of an output. Features that are unknown are replaced by what the training rows did at a split: both children
// count, by their covers, which the forest must have.
void add_contributions(const Forest& forest, const BinnedColumns& columns, const Explained& explained, double* out,
                       Threads& threads);

// The same, with unknown features replaced by those of the background's rows, one by one, and the mean taken. Throws
// if more than 64 features are on one path of a tree.
void add_background_contributions(const Forest& forest, const BinnedColumns& columns, const BinnedColumns& background,
                                  const Explained& explained, double* out, Threads& threads);

// Add up interactions of pairs of features over all trees, with unknown features replaced as by add_contributions: out
// is [row][output][feature][feature], with one more place behind the features, which stays as it is, as does the
// diagonal. What a pair contributes together is divided between both of its places.
void add_interactions(const Forest& forest, const BinnedColumns& columns, const Explained& explained, double* out,
                      Threads& threads);

}  // namespace mpboost
