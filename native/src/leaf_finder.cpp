#include "leaf_finder.hpp"

#include <algorithm>

namespace mpboost {
namespace {

// The other ways take some time for each split before they find the first leaf.
constexpr std::int64_t min_rows_per_split = 8;

std::int32_t walk(TreeView tree, const BinnedColumns& columns, std::int64_t row) {
  std::int32_t node = tree.splits.empty() ? ~0 : 0;
  while (node >= 0) {
    const Split& split = tree.splits[static_cast<std::size_t>(node)];
    node = tree.goes_left(split, columns.column(split.feature)[row]) ? split.left : split.right;
  }
  return ~node;
}

}  // namespace

void LeafFinder::bind(TreeView tree, const BinnedColumns& columns, std::int64_t n_rows) {
  tree_ = tree;
  columns_ = &columns;
  const auto n_splits = static_cast<std::int64_t>(tree.splits.size());
  way_ = n_rows * min_rows_per_split < n_splits ? Way::walk : SelectedTree::can_bind(tree) ? Way::select : Way::part;
  if (way_ == Way::select) selected_.bind(tree, columns);
  if (way_ == Way::part) parted_.bind(tree, columns);
}

template <class Leaf>
void LeafFinder::find(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves) {
  if (way_ == Way::part) return parted_.find_leaves(first_row, n_rows, leaves);
  if (way_ == Way::walk) {
    for (std::int64_t i = 0; i < n_rows; ++i) leaves[i] = static_cast<Leaf>(walk(tree_, *columns_, first_row + i));
    return;
  }
  for (std::int64_t i = 0; i < n_rows; i += block_rows)
    std::copy_n(selected_.find_leaves(first_row + i), std::min(block_rows, n_rows - i), leaves + i);
}

template void LeafFinder::find(std::int64_t, std::int64_t, std::uint16_t*);
template void LeafFinder::find(std::int64_t, std::int64_t, std::int32_t*);

}  // namespace mpboost
