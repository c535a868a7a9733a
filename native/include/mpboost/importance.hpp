// Importances of a minipatch's features that are measured on rows rather than read off the splits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/grower.hpp"
#include "mpboost/random.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// How much a tree loses on the rows of a minipatch when one feature is shuffled among them, for each feature: accuracy
// where labels are classes or -1 and +1; squared error, which grows, where they are numbers.
template <class Label>
std::vector<double> permutation_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                            const Stream& stream);

// What the splits of nodes of one size gain on unseen rows, as defined below. `promised` is what they would gain if the
// labels of these rows were as the sides of the splits say; noise keeps nothing of it, on average. `squares` is the sum
// of the squares of what each split keeps: its root tells how far `kept` may be off.
struct SizeGains {
  double promised = 0, kept = 0, squares = 0;
};

struct UnseenCredits {
  std::vector<double> importances;  // of the patch's features
  std::array<SizeGains, 32> gains;  // number k is about nodes of 2^k to 2^(k + 1) - 1 rows of the minipatch
};

// How far the splits of a tree move its predictions for rows that it never saw towards their labels, for each feature.
// A node predicts what its rows of the minipatch have on average: the mean of labels -1 and +1 or of numbers, the
// shares of classes. A move counts by its length times the label (of numbers, the label less the mean of the
// minipatch); with classes, by what the share of the right one gains. Moves away from the label count as negative, so
// that splits by chance get nothing on average. That holds only if the unseen rows go left as often as the rows of the
// minipatch. Where they may not, since the split is by categories or the feature has missing values, a node predicts
// the mean of its sides over the unseen rows: then credit is what the sides tell apart, whatever the shares. Numbers
// that are very small or large are counted in another unit. If the tree was grown on this minipatch, its grower may
// know the sides of the splits, so that only the unseen rows have to be sent down the tree: for labels -1 and +1 that
// have no weights.
template <class Label>
UnseenCredits unseen_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                 std::span<const std::int64_t> unseen_rows, std::span<const SplitSides> sides = {});

}  // namespace mpboost
