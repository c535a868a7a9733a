// Gradient boosting, after a tree was grown: find the leaf of each row, and sum up derivatives, or take a quantile of
// residuals, leaf by leaf. Derivatives are float32, [row][output]; sums are made in double and do not depend on
// the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

inline constexpr std::size_t max_numbered_leaves = 65'536;  // whose numbers fit into 16 bits

// A tree, the rows to apply it to, their derivatives, and memory for the leaf of each row.
struct TreeRows {
  TreeView tree;
  const BinnedColumns* columns;
  const float *gradients, *hessians;
  std::int64_t n_outputs;
  std::uint16_t* leaves;
};

// Write the leaves of rows, and add the sums of gradients and hessians, [leaf][output][2], to those of the rows before:
// of several trees at once, so that all threads have work where there are few rows.
void sum_leaves(std::span<const TreeRows> trees, std::span<RowSums* const> sums, Threads& threads);

// Newton steps by such sums, times a factor: [leaf][output]; 0 where the hessian is.
std::vector<double> fit_newton(std::span<const double> sums, double l2, double factor);

// The sums of some rows, whose leaves are known, times weights; null means 1. Throws if a leaf is not below n_leaves.
std::vector<double> sum_rows(std::span<const std::int64_t> rows, const double* weights, const std::uint16_t* leaves,
                             const float* gradients, const float* hessians, std::int64_t n_outputs,
                             std::int64_t n_leaves);

// The lower weighted quantile of the residuals of each leaf: the smallest that, with all that are not larger, has a
// share of at least alpha of the weight; 0 for leaves without weight. `weights` may be null, which means 1.
std::vector<double> leaf_quantiles(const std::uint16_t* leaves, const float* residuals, const float* weights,
                                   std::int64_t n_rows, double alpha, std::int64_t n_leaves, Threads& threads);

}  // namespace mpboost
