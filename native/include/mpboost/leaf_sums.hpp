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

// Write the leaf of each row, and add the sums of gradients and hessians, [leaf][output][2], to those of the rows
// before. Return all sums.
std::vector<double> sum_leaves(TreeView tree, const BinnedColumns& columns, const float* gradients,
                               const float* hessians, std::int64_t n_outputs, std::uint16_t* leaves, RowSums& sums,
                               Threads& threads);

// The sums of some rows, whose leaves are known, times weights; null means 1.
std::vector<double> sum_rows(std::span<const std::int64_t> rows, const double* weights, const std::uint16_t* leaves,
                             const float* gradients, const float* hessians, std::int64_t n_outputs,
                             std::int64_t n_leaves);

// The lower weighted quantile of the residuals of each leaf: the smallest that, with all that are not larger, has a
// share of at least alpha of the weight; 0 for leaves without weight. `weights` may be null, which means 1.
std::vector<double> leaf_quantiles(const std::uint16_t* leaves, const float* residuals, const float* weights,
                                   std::int64_t n_rows, double alpha, std::int64_t n_leaves, Threads& threads);

}  // namespace mpboost
