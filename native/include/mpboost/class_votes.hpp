// Steps 3 to 5 of Algorithm 1 for many classes, in passes over the rows.
#pragma once

#include <cstdint>
#include <span>

#include "mpboost/threads.hpp"
#include "mpboost/votes.hpp"

namespace mpboost {

// Votes per class: in 16 bits as long as there are few enough learners. The rivals of a row are the votes of the
// strongest class other than its own.
template <class Count>
struct ClassOutputs {
  std::int64_t n_rows, n_classes;
  const std::uint16_t* labels;
  Count* votes;              // F [n_rows][n_classes]: of all learners
  Count* oop_votes;          // G [n_rows][n_classes]: of learners that were not trained on the row
  std::int32_t* rivals;      // of F
  std::int32_t* oop_rivals;  // of G
};

// The part of the outputs from which the weights of rows are computed.
template <class Count>
struct ClassVotes {
  std::int64_t n_rows, n_classes;
  const std::uint16_t* labels;
  const Count* votes;
  const std::int32_t* rivals;  // read by weigh_margins alone
};

// How rows are judged. Ties in F go to the class of higher rank; in G a tie, or no vote at all, counts as wrong.
struct ClassJudge {
  const std::uint16_t* ranks;
  const double* sample_weights;  // null where rows weigh the same
};

// Add a learner's votes to F and, for the rows that are not in its (ascending) patch, to G. Add the
// weight of the rows that F and that G get right to that of the rows before, and return all of it.
template <class Count>
Correct add_class_votes(const LearnerVotes<std::uint16_t>& votes, std::span<const std::int64_t> patch,
                        const ClassOutputs<Count>& outputs, const ClassJudge& judge, RowSums& sums, Threads& threads);

// The same where classes have two colours and a learner votes for one of these, +1 or -1: that counts for each class of
// the colour.
template <class Count>
Correct add_colour_votes(const LearnerVotes<std::int8_t>& votes, const std::int8_t* colours,
                         std::span<const std::int64_t> patch, const ClassOutputs<Count>& outputs,
                         const ClassJudge& judge, RowSums& sums, Threads& threads);

// From margins to p: entry k of the table, counted from its middle, is log L at a margin of k votes, and L must not
// rise with the margin. The logarithms of the rows' own weights, if there are any, are added.
struct ClassWeights {
  std::span<const double> table;
  double* log_weights;
  const double* log_sample_weights;
};

// p = L(F_y - rivals): the margin to the strongest other class.
template <class Count>
void weigh_margins(const ClassVotes<Count>& outputs, const ClassWeights& weights, Threads& threads);

// p = sum of L(F_y - F_k) over the classes k other than y; where colours are given, over those of the other colour.
template <class Count>
void weigh_confusions(const ClassVotes<Count>& outputs, const std::int8_t* colours, const ClassWeights& weights,
                      Threads& threads);

// p = L(2 F_y - T) + sum of L(T - 2 F_k) over the other classes: each class against the rest by T learners.
template <class Count>
void weigh_one_against_rest(const ClassVotes<Count>& outputs, std::int64_t n_learners, const ClassWeights& weights,
                            Threads& threads);

}  // namespace mpboost
