// Applies a tree to all rows of binned columns.
#pragma once

#include <cstdint>

#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// Write the leaf of every row.
void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads);

// The same in 16 bits, for trees of up to 65 536 leaves.
void apply_leaf_numbers(TreeView tree, const BinnedColumns& columns, std::uint16_t* leaves, Threads& threads);

// Write the sign, +1 or -1, of every row's leaf value: faster than apply_leaves, from masks, without a look-up per row.
void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads);

// Write the class of every row's leaf, for trees whose leaf values are whole numbers below 65 536.
void apply_classes(TreeView tree, const BinnedColumns& columns, std::uint16_t* classes, Threads& threads);

// Write the values of every row's leaf: [n_rows][n_outputs].
void apply_values(TreeView tree, const BinnedColumns& columns, double* values, Threads& threads);

}  // namespace mpboost
