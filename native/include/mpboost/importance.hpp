// Importances of a minipatch's features that are measured rather than read off the splits.
#pragma once

#include <cstdint>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/grower.hpp"
#include "mpboost/random.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// How much a tree loses on the rows of a minipatch when one feature is shuffled among them; feature by feature. With
// labels -1 and +1, and with classes, that is accuracy; with numbers, it is what the squared error gains.
template <class Label>
std::vector<double> permutation_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                            const Stream& stream);

}  // namespace mpboost
