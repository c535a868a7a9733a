// Importances of a minipatch's features that are measured rather than read off the splits.
#pragma once

#include <cstdint>
#include <span>
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

// How far the splits of a tree move what it says about rows that it never saw towards their labels; feature by feature.
// A node says what the rows of the minipatch in it have on average: of labels -1 and +1 and of numbers the mean, of
// classes their shares. A move counts by its length times the label (of numbers, the label less the mean of the
// minipatch), with classes by what the share of the right one gains. Moves the other way count against it, so that
// splits by chance get nothing in the mean.
template <class Label>
std::vector<double> unseen_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                       std::span<const std::int64_t> unseen_rows);

}  // namespace mpboost
