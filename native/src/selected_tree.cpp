#include "selected_tree.hpp"

#include <algorithm>

namespace mpboost {

void Slots::number_leaves(std::int32_t n_leaves) {
  for (; n_numbered_ < n_leaves; ++n_numbered_)
    std::ranges::fill(slots_[max_selected_leaves + static_cast<std::size_t>(n_numbered_)].bytes,
                      static_cast<std::uint8_t>(n_numbered_));
}

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns) {
  const auto n_splits = static_cast<std::int32_t>(tree.splits.size());
  const auto slot = [&](std::int32_t child) {
    return static_cast<std::uint32_t>(child >= 0 ? child : n_splits + ~child);
  };
  splits_.clear();
  bool has_shifts = false;
  for (const Split& split : tree.splits) {
    splits_.push_back(bind_split(tree, split, columns, columns.column(split.feature)));
    splits_.back().left_slot = slot(split.left);
    splits_.back().right_slot = slot(split.right);
    has_shifts |= splits_.back().shift != 0;
  }
  selection_ = {splits_.data(), n_splits, has_shifts, !tree.category_sets.empty()};
}

}  // namespace mpboost
