// Steps 3 to 5 of Algorithm 1 for numbers: sums of predictions, their squared errors, and weights that follow
// residuals.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/chunk_sums.hpp"
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
                         std::int64_t n_learners, double unseen, RowSums& errors, Threads& threads);

// Labels, and means of predictions: their sums divided by the number of learners.
struct ValueMeans {
  std::int64_t n_rows;
  const double *labels, *sums;
  double n_learners;

  double residual(std::int64_t i) const { return std::abs(labels[i] - sums[i] / n_learners); }
};

// From residuals to p, in steps between which parts of the rows are joined:
// log_weights = log((1 - exploration) * weight / mean weight + exploration), plus the logarithm of the row's own
// weight.

// The residuals of some rows.
std::vector<double> find_residuals(const ValueMeans& means, std::span<const std::int64_t> rows);

// Their median, the unit of residuals. With weights, whole numbers so that their sums are exact, the lowest residual
// such that those up to it have half of the weight.
double median_residual(std::span<const double> residuals, const std::int64_t* weights);

// The sum of residuals, times weights: their mean is the unit if the median is 0.
double sum_residuals(const ValueMeans& means, const double* sample_weights, RowSums& all, Threads& threads);

// What a row weighs, given its residual r as a multiple of the unit: r, r^2 or 1 - exp(-r), each with r cut at
// max_residual; or 1 if r > 1, else 0.
enum class ResidualWeighting { linear, square, exponential, threshold };

inline constexpr double max_residual = 3.0;

// Write the weights; return their sum, times the rows' own weights.
double weigh_residuals(const ValueMeans& means, ResidualWeighting weighting, double scale, const double* sample_weights,
                       double* weights, RowSums& all, Threads& threads);

// Turn them into logarithms, given their mean.
void to_log_weights(double* weights, std::int64_t n_rows, double mean, double exploration,
                    const double* log_sample_weights, Threads& threads);

}  // namespace mpboost
