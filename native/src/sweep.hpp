// A tree made ready to be taken over the blocks of some columns: by a sweep, or row by row.
#pragma once

#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

class BoundTree {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);

  // Find the leaves of the rows of a block.
  void sweep(std::int64_t block) {
    const auto n_splits = static_cast<std::int32_t>(splits_.size());
    kernel_({splits_.data(), n_splits, is_shifted_, has_sets_, masks_.data()}, block * block_rows);
  }

  std::size_t n_leaves() const { return masks_.size() / mask_words - splits_.size(); }

  // Which of 64 rows of the block, from row 64 * word, are in a leaf; and which are in leaves of positive value.
  std::uint64_t rows_in_leaf(std::size_t leaf, int word) const {
    return masks_[(splits_.size() + leaf) * mask_words + static_cast<std::size_t>(word)];
  }
  std::uint64_t positive_rows(int word) const {
    std::uint64_t rows = 0;
    for (const std::size_t leaf : positive_leaves_) rows |= rows_in_leaf(leaf, word);
    return rows;
  }

 private:
  void (*kernel_)(const Sweep&, std::int64_t) = nullptr;
  std::vector<SweepSplit> splits_;
  bool is_shifted_ = false, has_sets_ = false;
  std::vector<std::uint64_t> masks_;
  std::vector<std::size_t> positive_leaves_;
};

// Turn 64 bits into votes: +1 where the bit is set, -1 elsewhere.
void write_votes(std::uint64_t positive, std::int8_t* votes);

// Walks rows down a tree. Its cost grows with the depth of a tree, that of a sweep with the number of leaves.
class WalkedTree {
 public:
  static bool pays(TreeView tree, const BinnedColumns& columns);

  void bind(TreeView tree, const BinnedColumns& columns);
  void find_leaves(std::int64_t block, std::int32_t* leaves) const;

 private:
  // Splits, then leaves, which lead to themselves: no branch of a walk depends on the data.
  struct Node {
    std::uint32_t column;  // where it begins, in blocks from the first column
    std::uint32_t children[2];
    std::uint8_t shift, last_left;  // as those of SweepSplit
  };

  template <bool has_sets>
  void walk(const std::uint8_t* codes, std::int32_t* leaves) const;

  std::uint32_t n_splits_ = 0;
  const std::uint8_t* codes_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<const std::uint8_t*> sets_;  // of each node, null where it has none; empty where none has one
};

// Finds the leaves of the rows of a block in the way that is faster.
class LeafFinder {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  void find(std::int64_t block, std::int32_t* leaves);

 private:
  bool walks_ = false;
  WalkedTree walked_;
  BoundTree swept_;
};

// Finds the classes of the leaves of the rows of a block.
class ClassFinder {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  void find(std::int64_t block, std::uint16_t* classes);

 private:
  bool walks_ = false;
  WalkedTree walked_;
  std::vector<std::uint16_t> classes_;  // of the leaves
  BoundTree swept_;
  std::vector<std::vector<std::size_t>> planes_;  // the leaves whose class has bit 0, 1, ...
};

}  // namespace mpboost
