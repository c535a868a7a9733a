// A tree bound to columns, ready to be applied to their blocks: by masks, from the leaves up, or row by row.
#pragma once

#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

// The splits of a tree with pointers to the columns that they look at.
class BoundSplits {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);

 protected:
  Sweep as_sweep(std::uint64_t* masks) const {
    return {splits_.data(), static_cast<std::int32_t>(splits_.size()), is_shifted_, has_sets_, masks};
  }

  std::vector<SweepSplit> splits_;

 private:
  bool is_shifted_ = false, has_sets_ = false;
};

// Finds the leaves of rows from the root down, as a mask of rows for each leaf.
class BoundTree : private BoundSplits {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);

  // Find the leaves of the rows of a block.
  void sweep(std::int64_t block) { kernel_(as_sweep(masks_.data()), block * block_rows); }

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
  std::vector<std::uint64_t> masks_;
  std::vector<std::size_t> positive_leaves_;
};

// Finds the leaf numbers of rows from the leaves up: each split takes over, for each row, the number that its left or
// its right child has. Faster than a sweep, whose masks would have to be turned into numbers, but numbers must fit a
// byte.
class SelectedTree : private BoundSplits {
 public:
  static bool can_bind(TreeView tree) { return tree.n_leaves() <= 256; }

  void bind(TreeView tree, const BinnedColumns& columns);

  // The leaves of the rows of a block, until the next call.
  const std::uint8_t* find_leaves(std::int64_t block) {
    kernel_(as_sweep(nullptr), block * block_rows, slots_[0].bytes);
    return slots_[0].bytes;
  }

 private:
  struct alignas(64) Slot {
    std::uint8_t bytes[block_rows];
  };

  void (*kernel_)(const Sweep&, std::int64_t, std::uint8_t*) = nullptr;
  std::vector<Slot> slots_;  // of the splits, then of the leaves
};

// Turn 64 bits into votes: +1 where the bit is set, -1 elsewhere.
void write_votes(std::uint64_t positive, std::int8_t* votes);

// Walks rows down a tree one by one. The cost grows with the depth of the tree, that of a sweep with the number of
// leaves.
class WalkedTree {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  template <class Leaf>
  void find_leaves(std::int64_t block, Leaf* leaves) const;

 private:
  // Splits, then leaves, which lead to themselves: no branch of a walk depends on the data.
  struct Node {
    std::int64_t column;  // where it begins, counted from the first column
    std::uint32_t children[2];
    std::uint8_t shift, last_left;  // as those of SweepSplit
  };

  template <bool has_sets, class Leaf>
  void walk(const std::uint8_t* codes, Leaf* leaves) const;

  std::uint32_t n_splits_ = 0;
  const std::uint8_t* codes_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<const std::uint8_t*> sets_;  // of each node, null where it has none; empty where none has one
};

// Finds the votes of the rows of a block, +1 or -1, by masks or, in large trees, row by row.
class VoteFinder {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  void find(std::int64_t block, std::int8_t* votes);

 private:
  bool is_walked_faster(TreeView tree);

  bool walks_ = false;
  BoundTree swept_;
  WalkedTree walked_;
  std::vector<std::int8_t> votes_;    // of the leaves, if it walks
  std::vector<std::int32_t> depths_;  // of the splits
};

// Finds the leaves of the rows of a block in the way that is faster, as numbers of 32 or, where they suffice, 16 bits.
class LeafFinder {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  template <class Leaf>
  void find(std::int64_t block, Leaf* leaves);

 private:
  bool walks_ = false;
  WalkedTree walked_;
  SelectedTree selected_;
};

// Finds the classes of the leaves of the rows of a block.
class ClassFinder {
 public:
  void bind(TreeView tree, const BinnedColumns& columns);
  void find(std::int64_t block, std::uint16_t* classes);

 private:
  LeafFinder finder_;
  std::vector<std::uint16_t> classes_;  // of the leaves
};

}  // namespace mpboost
