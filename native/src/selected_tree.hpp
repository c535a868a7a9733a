// Trees of up to 256 leaves, and pieces of larger ones: applied from the leaves up.
#pragma once

#include <memory>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

inline constexpr std::size_t max_selected_leaves = 256;  // numbers of leaves are bytes

// What select_rows needs to know of a split, whose children's slots are still to be written.
inline SelectSplit bind_split(TreeView tree, const Split& split, const BinnedColumns& columns,
                              const std::uint8_t* column) {
  const std::uint8_t shift = split.missing_left && columns.has_missing(split.feature);
  return {
      .column = column,
      .left_slot = 0,
      .right_slot = 0,
      .shift = shift,
      .last_left = static_cast<std::uint8_t>(split.bin + shift),
      .set = split.categories >= 0 ? tree.category_sets[static_cast<std::size_t>(split.categories)].data() : nullptr,
  };
}

// The memory that select_rows works in: slots of splits, then those of leaves, in which every row has the leaf's
// number. Threads take their share of the rows of small tables in a few microseconds: no more memory is written than
// the trees need.
class Slots {
 public:
  // The leaves, up to 256, that a block of rows reaches, or the first rows of one; until the next call.
  const std::uint8_t* select(const Selection& selection, std::int64_t row, int n_rows) {
    if (n_numbered_ <= selection.n_splits) number_leaves(selection.n_splits + 1);
    // The leaves' slots stay where they are: those of the splits end there.
    std::uint8_t* first = slots_[max_selected_leaves - static_cast<std::size_t>(selection.n_splits)].bytes;
    select_rows_(selection, row, n_rows, first);
    return first;
  }

 private:
  struct alignas(64) Slot {
    std::uint8_t bytes[block_rows];
  };

  void number_leaves(std::int32_t n_leaves);

  void (*select_rows_)(const Selection&, std::int64_t, int, std::uint8_t*) = kernels().select_rows;
  std::unique_ptr<Slot[]> slots_ = std::make_unique_for_overwrite<Slot[]>(2 * max_selected_leaves);
  std::int32_t n_numbered_ = 0;  // leaves whose slots are written
};

class SelectedTree {
 public:
  static bool can_bind(TreeView tree) { return tree.n_leaves() <= max_selected_leaves; }

  void bind(TreeView tree, const BinnedColumns& columns);

  // The leaves of the rows of a block, until the next call.
  const std::uint8_t* find_leaves(std::int64_t row) {
    return slots_.select(selection_, row, static_cast<int>(block_rows));
  }

 private:
  std::vector<SelectSplit> splits_;
  Selection selection_{};
  Slots slots_;
};

}  // namespace mpboost
