#include "leaf_finder.hpp"

#include <algorithm>

namespace mpboost {
namespace {

// The other ways take some time for each split before they find the first leaf.
constexpr std::int64_t max_splits_per_row = 8;

// Walk rows down a tree, eight side by side: a step waits for three loads one after the other. No branch depends on
// where rows go, except that the walk ends with the longest.
template <bool has_sets, class Leaf>
void walk(TreeView tree, const BinnedColumns& columns, std::int64_t first_row, std::int64_t n_rows, Leaf* leaves) {
  constexpr std::int64_t n_lanes = 8;
  const std::uint8_t* codes = columns.column(0);
  const Split* splits = tree.splits.data();
  for (std::int64_t first = 0; first < n_rows; first += n_lanes) {
    std::int32_t at[n_lanes]{};
    bool is_done = tree.splits.empty();
    if (is_done) std::ranges::fill(at, ~0);
    while (!is_done) {
      is_done = true;
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < n_lanes; ++i) {
        const Split& split = splits[std::max(at[i], 0)];
        const std::uint8_t code = codes[split.feature * columns.stride() + first_row + std::min(first + i, n_rows - 1)];
        bool goes_left = code == missing_code ? split.missing_left : code <= split.bin;
        if constexpr (has_sets) {
          const bool is_in = holds(tree.category_sets[static_cast<std::size_t>(std::max(split.categories, 0))], code);
          goes_left = split.categories < 0 ? goes_left : is_in;
        }
        const std::int32_t next = goes_left ? split.left : split.right;
        at[i] = at[i] < 0 ? at[i] : next;
        is_done &= at[i] < 0;
      }
    }
    for (std::int64_t i = 0; i < std::min(n_lanes, n_rows - first); ++i) leaves[first + i] = static_cast<Leaf>(~at[i]);
  }
}

bool walks(TreeView tree, std::int64_t n_rows) {
  return n_rows * max_splits_per_row < static_cast<std::int64_t>(tree.splits.size());
}

}  // namespace

void LeafFinder::bind(TreeView tree, const BinnedColumns& columns, std::int64_t n_rows) {
  tree_ = tree;
  columns_ = &columns;
  way_ = walks(tree, n_rows) ? Way::walk : SelectedTree::can_bind(tree) ? Way::select : Way::part;
  if (way_ == Way::select) selected_.bind(tree, columns);
  if (way_ == Way::part && !parted_.bind(tree, columns, n_rows)) way_ = Way::walk;
}

template <class Leaf>
void LeafFinder::find(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves) {
  if (way_ == Way::part) return parted_.find_leaves(first_row, n_rows, leaves);
  if (way_ == Way::walk)
    return tree_.category_sets.empty() ? walk<false>(tree_, *columns_, first_row, n_rows, leaves)
                                       : walk<true>(tree_, *columns_, first_row, n_rows, leaves);
  for (std::int64_t i = 0; i < n_rows; i += block_rows)
    std::copy_n(selected_.find(first_row + i), std::min(block_rows, n_rows - i), leaves + i);
}

template void LeafFinder::find(std::int64_t, std::int64_t, std::uint16_t*);
template void LeafFinder::find(std::int64_t, std::int64_t, std::int32_t*);

}  // namespace mpboost
