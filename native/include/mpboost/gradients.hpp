// What gradient boosting does with all rows in an iteration: draw some by the sizes of their gradients, add up gradients
// by the leaves of a tree, and move outputs F by the values of its leaves. Rows with derivatives are float32, [row][output];
// sums are made in double, in an order that does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

inline constexpr std::size_t max_numbered_leaves = 65'536;  // whose numbers fit into 16 bits

// Write the leaf of each row, and return the sums of gradients and hessians, [leaf][output][2].
std::vector<double> sum_leaves(TreeView tree, const BinnedColumns& columns, const float* gradients, const float* hessians,
                               std::int64_t n_outputs, std::uint16_t* leaves, Threads& threads);

// The sums of some rows, whose leaves are known, times weights; null means 1.
std::vector<double> sum_rows(std::span<const std::int64_t> rows, const double* weights, const std::uint16_t* leaves, const float* gradients,
                             const float* hessians, std::int64_t n_outputs, std::int64_t n_leaves);

// The lower weighted quantile of the residuals of each leaf: the smallest that, with all that are not larger, has a share of
// at least alpha of the weight; 0 for leaves without weight. `weights` may be null, which means 1.
std::vector<double> leaf_quantiles(const std::uint16_t* leaves, const float* residuals, const float* weights,
                                   std::int64_t n_rows, double alpha, std::int64_t n_leaves, Threads& threads);

// Add the values of their leaves to F of all rows, and derive the loss. Returns the weight of rows that are right: labels
// are -1 and +1, and an F of 0 says +1; or they are classes, and the lowest wins at a tie.
double step_log_loss(const LossRows<std::int8_t>& rows, Threads& threads);
double step_softmax(LossRows<std::uint16_t> rows, Threads& threads);

// The same for numbers; returns the weighted sum of squared errors. Poisson and gamma losses take F for a logarithm.
double step_values(ValueLoss loss, const LossRows<float>& rows, Threads& threads);

// Rows, ascending, and for each what it stands for: sums over drawn rows with these weights have the expectation of
// sums over all.
struct GradientDraw {
  std::vector<std::int64_t> rows;
  std::vector<double> weights;
};

// Draw rows by s = (1 - exploration) * size / mean(size) + exploration * weight / mean(weight): n_drawn points, one
// in each of as many equal parts of the line on which row i has length s_i. `weights` may be null, which means 1.
GradientDraw draw_by_gradient(const GradientRows& rows, const float* weights, double exploration, std::int64_t n_drawn,
                              Stream stream, Threads& threads);

}  // namespace mpboost
