#include "selected_tree.hpp"

#include <numeric>

namespace mpboost {

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns) {
  std::array<std::uint8_t, max_selected_leaves> numbers;
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  bind(tree, columns, std::span(numbers).first(tree.n_leaves()));
}

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) slots_.fill(byte);
  first_byte_ = bytes[0];
  splits_.clear();
  bool has_shifts = false;
  // From the last split to the first, children before parents, with slots counted backwards from the first leaf's: -1
  // is that of the last split. A split is left out if both its sides end with the same byte.
  slot_of_split_.resize(tree.splits.size());
  const auto slot = [&](std::int32_t child) {
    return child >= 0 ? slot_of_split_[static_cast<std::size_t>(child)] : bytes[static_cast<std::size_t>(~child)];
  };
  for (std::size_t k = tree.splits.size(); k-- > 0;) {
    const Split& split = tree.splits[k];
    const std::int32_t left = slot(split.left), right = slot(split.right);
    slot_of_split_[k] = left == right ? left : ~static_cast<std::int32_t>(splits_.size());
    if (left == right) continue;
    splits_.push_back(bind_split(tree, split, columns, columns.column(split.feature)));
    splits_.back().left_slot = static_cast<std::uint32_t>(left);
    splits_.back().other_slot = static_cast<std::uint32_t>(right);
    has_shifts |= splits_.back().shift != 0;
  }
  std::ranges::reverse(splits_);
  const auto n_splits = static_cast<std::uint32_t>(splits_.size());
  for (SelectSplit& split : splits_) split.left_slot += n_splits, split.other_slot += n_splits;
  chain(splits_);
  selection_ = {splits_.data(), static_cast<std::int32_t>(n_splits), has_shifts, !tree.category_sets.empty()};
}

}  // namespace mpboost
