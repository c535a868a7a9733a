// A tree made ready for the sweep over the blocks of some columns.
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

}  // namespace mpboost
