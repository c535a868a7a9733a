// Steps 3 to 5 of Algorithm 1 for numbers: sums of predictions, their squared errors, and weights that follow
// residuals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/threads.hpp"

namespace mpboost {

struct ValueOutputs {
  std::int64_t n_rows;
  const double* labels;
  const double* weights;     // null: all 1
  double* sums;              // of the predictions of all learners: F times their number
  double* oop_sums;          // of the learners that were not trained on the row
  std::int32_t* oop_counts;  // how many these are
};

// Sums of squared errors, times weights.
struct SquaredErrors {
  double train, out_of_patch;
};

// Add a learner's predictions, given the rows of its patch, ascending. Return the errors of the means over n_learners,
// this one included; a row that all of them were trained on has the out-of-patch prediction `unseen`.
SquaredErrors add_values(const double* values, std::span<const std::int64_t> patch, const ValueOutputs& outputs,
                         std::int64_t n_learners, double unseen, Threads& threads);

// What a row weighs, given its residual r as a multiple of the median: r, r^2 or 1 - exp(-r), each with r cut at
// max_residual; or 1 if r > 1, else 0.
enum class ResidualWeighting { linear, square, exponential, threshold };

inline constexpr double max_residual = 3.0;

// From sums of predictions to p: log_weights = log((1 - exploration) * weight / mean weight + exploration), plus the
// logarithm of the row's own weight. Both weights of rows are null where rows weigh the same.
struct ResidualWeights {
  ResidualWeighting weighting;
  double exploration;
  double total_weight;  // of all rows
  const double* sample_weights;
  const double* log_sample_weights;
  double* log_weights;
};

// Rows whose median residual is the unit of residuals, or their mean if that is 0. With weights, whole numbers so that
// their sums are exact, the median is the lowest residual such that those up to it have half of the weight.
struct MedianRows {
  std::span<const std::int64_t> rows;
  const std::int64_t* weights;  // of these rows; null: all 1
};

void weigh_residuals(const double* labels, const double* sums, std::int64_t n_rows, std::int64_t n_learners,
                     const MedianRows& median, const ResidualWeights& weights, Threads& threads);

}  // namespace mpboost
