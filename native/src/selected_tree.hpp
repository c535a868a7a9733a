// Trees of up to 256 leaves, and pieces of larger ones: applied from the leaves up.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

inline constexpr std::size_t max_selected_leaves = 256;  // numbers of leaves are bytes

// What select_rows needs to know of a split, except where its children are.
inline SelectSplit bind_split(TreeView tree, const Split& split, const BinnedColumns& columns,
                              const std::uint8_t* column) {
  const std::uint8_t shift = split.missing_left && columns.has_missing(split.feature);
  return {
      .column = column,
      .left_slot = 0,
      .other_slot = 0,
      .begins = true,
      .side = 255,
      .shift = shift,
      .last_left = static_cast<std::uint8_t>(split.bin + shift),
      .set = split.categories >= 0 ? tree.category_sets[static_cast<std::size_t>(split.categories)].data() : nullptr,
  };
}

// Put the children of the splits of a selection in order, given their slots as if each split began anew.
inline void chain(std::span<SelectSplit> splits) {
  for (std::size_t k = 0; k + 1 < splits.size(); ++k) {
    SelectSplit& split = splits[k];
    const bool is_left = split.left_slot == k + 1, is_right = split.other_slot == k + 1;
    split.begins = !is_left && !is_right;
    split.side = is_right ? 0 : 255;
    if (is_right) split.other_slot = split.left_slot;
  }
}

// The memory that select_rows works in: slots of splits, then those of leaves, in which every row has the same byte,
// the slot's number: a leaf's own number, or what the leaf stands for.
class Slots {
 public:
  // Prepare the slot of a leaf; the first time, get the memory.
  void fill(std::uint8_t byte) {
    if (!slots_) slots_ = std::make_unique_for_overwrite<Slot[]>(2 * max_selected_leaves);
    if (!is_filled_[byte]) std::ranges::fill(slots_[max_selected_leaves + byte].bytes, byte);
    is_filled_[byte] = true;
  }
  void fill_all() {
    for (std::size_t byte = 0; byte < max_selected_leaves; ++byte) fill(static_cast<std::uint8_t>(byte));
  }

  const std::uint8_t* leaf(std::uint8_t byte) const { return slots_[max_selected_leaves + byte].bytes; }

  // The bytes of the leaves that a block of rows reaches, or the first rows of one; until the next call.
  const std::uint8_t* select(const Selection& selection, std::int64_t row, int n_rows) {
    // The leaves' slots stay where they are: those of the splits end there.
    std::uint8_t* first = slots_[max_selected_leaves - static_cast<std::size_t>(selection.n_splits)].bytes;
    select_rows_(selection, row, n_rows, first);
    return first;
  }

 private:
  struct alignas(64) Slot {
    std::uint8_t bytes[block_rows];
  };

  void (*select_rows_)(const Selection&, std::int64_t, int, std::uint8_t*) = kernels().select_rows;
  std::unique_ptr<Slot[]> slots_;
  std::array<bool, max_selected_leaves> is_filled_{};
};

class SelectedTree {
 public:
  static bool can_bind(TreeView tree) { return tree.n_leaves() <= max_selected_leaves; }

  // Prepare to find the numbers of leaves, or the bytes that leaves stand for: then splits that change no byte are left
  // out.
  void bind(TreeView tree, const BinnedColumns& columns);
  void bind(TreeView tree, const BinnedColumns& columns, std::span<const std::uint8_t> bytes);

  // Those of the rows of a block, until the next call.
  const std::uint8_t* find(std::int64_t row) {
    if (splits_.empty()) return slots_.leaf(first_byte_);
    return slots_.select(selection_, row, static_cast<int>(block_rows));
  }

 private:
  std::vector<SelectSplit> splits_;
  std::vector<std::int32_t> slot_of_split_;
  Selection selection_{};
  std::uint8_t first_byte_ = 0;
  Slots slots_;
};

}  // namespace mpboost
