// Where rows end up in trees.
#pragma once

#include <cstdint>

#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// The leaf of every row.
void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads);

// The sign, +1 or -1, of every row's leaf value: as apply_leaves, but from 64-bit masks without a look-up per row.
void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads);

}  // namespace mpboost
