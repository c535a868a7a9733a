// Importances of a minipatch's features that are measured rather than read off the splits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/random.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// How much accuracy a tree loses on some rows when one feature is shuffled among them; feature by feature. The rows
// have weights, or all the same where there are none.
std::vector<double> permutation_importances(TreeView tree, const BinnedColumns& columns,
                                            std::span<const std::int64_t> rows, std::span<const std::int64_t> features,
                                            const std::int8_t* labels, std::span<const double> weights,
                                            const Stream& stream);

}  // namespace mpboost
