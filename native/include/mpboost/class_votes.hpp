// Steps 3 to 5 of Algorithm 1 for many classes, in passes over the rows.
#pragma once

#include <cstdint>
#include <span>

#include "mpboost/threads.hpp"
#include "mpboost/votes.hpp"

namespace mpboost {

// Votes are counted per class, in 16 bits where so many learners do. The rivals of a row are the most votes of
// a class other than its own.
template <class Count>
struct ClassOutputs {
  std::int64_t n_rows, n_classes;
  const std::uint16_t* labels;
  Count* votes;              // F [n_rows][n_classes]: of all learners
  Count* oop_votes;          // G [n_rows][n_classes]: of learners that were not trained on the row
  std::int32_t* rivals;      // of F
  std::int32_t* oop_rivals;  // of G
};

// What of it the weights of rows follow from.
template <class Count>
struct ClassVotes {
  std::int64_t n_rows, n_classes;
  const std::uint16_t* labels;
  const Count* votes;
  const std::int32_t* rivals;  // asked by weigh_margins alone
};

// How rows are judged: at a tie the class of higher rank wins F; a tie is wrong for G, and so is a row without votes.
struct ClassJudge {
  const std::uint16_t* ranks;
  const double* sample_weights;  // null where rows weigh the same
};

// Add a learner's votes to F and, for the rows that are not in its (ascending) patch, to G. Sum up the rows that
// either gets right.
template <class Count>
Correct add_class_votes(const std::uint16_t* votes, std::span<const std::int64_t> patch,
                        const ClassOutputs<Count>& outputs, const ClassJudge& judge, Threads& threads);

// The same for a learner of two colours of classes: its vote, +1 or -1, counts for each class of that colour.
template <class Count>
Correct add_colour_votes(const std::int8_t* votes, const std::int8_t* colours, std::span<const std::int64_t> patch,
                         const ClassOutputs<Count>& outputs, const ClassJudge& judge, Threads& threads);

// What p follows from: the table's entry k, counted from its middle, is the logarithm of L at a margin of k votes,
// where L falls. The logarithms of the rows' own weights, if there are any, are added.
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
