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
  void bind(TreeView tree, const BinnedColumns& columns);

  // Find the leaves of rows; the first one is the first of a block.
  template <class Leaf>
  void find_leaves(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves);

 private:
  // Splits that hang together, in preorder, and where their exits lead: to a piece, or, by the complement (~), to a
  // leaf.
  struct Piece {
    std::size_t first_split, first_exit;
    std::int32_t n_splits;
    bool is_last;  // all exits are leaves
  };

  // Rows that have reached a piece: a range of order_.
  struct Part {
    std::size_t piece;
    std::int64_t begin, end;
  };

  void place_columns(TreeView tree, const BinnedColumns& columns);
  void choose_splits(TreeView tree, std::int32_t root);
  void make_piece(TreeView tree, const BinnedColumns& columns);
  Selection as_selection(const Piece& piece) const {
    return {splits_.data() + piece.first_split, piece.n_splits, has_shifts_, has_sets_};
  }

  // Find the exits of the rows of a part; then sort the rows by exit, and call take(exit, begin, end) for each range.
  void find_exits(const Part& part, std::int64_t first_row);
  template <class Take>
  void sort_rows(const Part& part, Take take);
  template <class Leaf>
  void find_some(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves);

  std::vector<Piece> pieces_;  // the first has the root, and looks at the columns themselves
  std::vector<SelectSplit> splits_;
  std::vector<std::int32_t> exits_;
  bool has_shifts_ = false, has_sets_ = false;
  Slots slots_;

  // The columns that the tree uses, up to a multiple of tile_rows; what it shares with bind alone is in `places_`.
  std::vector<const std::uint8_t*> columns_;
  std::vector<std::int32_t> places_;           // of the features among these columns; -1 elsewhere
  std::vector<std::int32_t> next_;             // the first split that is not below a split
  std::vector<std::int32_t> roots_;            // of the pieces
  std::vector<std::int32_t> chosen_;           // splits of a piece
  std::vector<std::int32_t> slots_of_splits_;  // in their piece; -1 where it is still to be made

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
