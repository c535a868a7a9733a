// Finds the leaves of rows in the way that is fastest for a tree and a number of rows.
#pragma once

#include "mpboost/columns.hpp"
#include "mpboost/tree.hpp"
#include "parted_tree.hpp"
#include "selected_tree.hpp"

namespace mpboost {

class LeafFinder {
 public:
  // The tree and the columns must stay as long as leaves are looked for: about n_rows times.
  void bind(TreeView tree, const BinnedColumns& columns, std::int64_t n_rows);

  // Find the leaves of rows, as numbers of 32 or, where they suffice, 16 bits. The first row is the first of a block;
  // the more rows, the faster each.
  template <class Leaf>
  void find(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves);

 private:
  enum class Way { walk, select, part };

  TreeView tree_;
  const BinnedColumns* columns_ = nullptr;
  Way way_ = Way::walk;
  SelectedTree selected_;
  PartedTree parted_;
};

}  // namespace mpboost
