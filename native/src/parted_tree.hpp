// Trees of many leaves: the rows are parted by the top of the tree, then each part goes on in the piece of the tree
// that it has reached. A piece is applied from the leaves up, so that no branch depends on the data; with pieces of
// about sqrt(leaves) splits a row meets two of them.
#pragma once

#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"
#include "selected_tree.hpp"

namespace mpboost {

class PartedTree {
 public:
  // Prepare to find about n_rows leaves. Returns false where the tree uses so many columns that a walk is faster.
  bool bind(TreeView tree, const BinnedColumns& columns, std::int64_t n_rows);

  // Find the leaves of rows; the first one is the first of a block.
  template <class Leaf>
  void find_leaves(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves);

 private:
  // A piece that parts rows has splits that hang together, and exits that lead to pieces or, by the complement (~), to
  // leaves. A last piece has all splits below its first one, and its exits are leaves in their order.
  struct Piece {
    Selection selection;
    bool is_last;
    std::int32_t first_leaf;  // of a last piece
    std::size_t first_exit;   // of any other
  };

  // Rows that have reached a piece: a range of order_.
  struct Part {
    std::size_t piece;
    std::int64_t begin, end;
  };

  void place_columns(TreeView tree, const BinnedColumns& columns);
  void bind_splits(TreeView tree, const BinnedColumns& columns);
  void choose_splits(TreeView tree, std::int32_t root, std::size_t max_parts);
  Piece make_piece(TreeView tree, const BinnedColumns& columns);
  Piece make_last_piece(TreeView tree, std::int32_t root);
  std::int32_t count_splits(std::int32_t root) const { return next_[static_cast<std::size_t>(root)] - root; }

  // Find the exits of the rows of a part; then sort the rows by exit, and call take(exit, begin, end) for each range.
  void find_exits(const Part& part, std::int64_t first_row);
  template <class Take>
  void sort_rows(const Part& part, Take take);
  template <class Leaf>
  void find_some(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves);

  std::vector<Piece> pieces_;            // the first one has the root, and looks at the columns themselves
  std::vector<SelectSplit> splits_;      // of last pieces, numbered as those of the tree
  std::vector<SelectSplit> top_splits_;  // of the other pieces
  std::vector<std::int32_t> exits_;
  Slots slots_;

  // The columns that the tree uses, up to a multiple of tile_rows, and notes of bind.
  std::vector<const std::uint8_t*> columns_;
  std::vector<std::int32_t> features_;
  std::vector<std::int32_t> places_;  // of the features among these columns; -1 elsewhere
  std::vector<std::int32_t> next_;    // the first split that is not below a split
  std::vector<std::int32_t> roots_;   // of the pieces
  std::vector<std::int32_t> chosen_;  // splits of a piece
  bool has_shifts_ = false;

  // The rows that are worked on.
  struct alignas(64) Line {
    std::uint8_t codes[64];
  };
  std::vector<Line> rows_;          // codes, [row][column]
  std::vector<Line> part_columns_;  // codes of a few rows, [column][block_rows]
  std::vector<std::uint16_t> order_, sorted_;
  std::vector<std::uint8_t> found_;  // exits of rows, in their order
  std::vector<Part> parts_;
};

}  // namespace mpboost
