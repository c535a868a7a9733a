#include "selected_tree.hpp"

#include <numeric>

namespace mpboost {

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns) {
  std::array<std::uint8_t, max_selected_leaves> numbers;
  std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
  bind(tree, columns, std::span(numbers).first(tree.n_leaves()));
}

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns, std::span<const std::uint8_t> bytes) {
  const auto n_splits = static_cast<std::int32_t>(tree.splits.size());
  const auto slot = [&](std::int32_t child) {
    return static_cast<std::uint32_t>(child >= 0 ? child : n_splits + bytes[static_cast<std::size_t>(~child)]);
  };
  for (const std::uint8_t byte : bytes) slots_.fill(byte);
  first_byte_ = bytes[0];
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
