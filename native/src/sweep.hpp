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

  // Bit i of leaf(l) tells whether row 64 * block + i is in leaf l, after sweep(block).
  void sweep(std::int64_t block) { kernel_({splits_, masks_.data()}, block * block_rows); }
  std::size_t n_leaves() const { return masks_.size() - splits_.size(); }
  std::uint64_t leaf(std::size_t l) const { return masks_[splits_.size() + l]; }

  // The rows of the block whose leaf value is positive.
  std::uint64_t positive_rows() const {
    std::uint64_t rows = 0;
    for (const std::uint32_t slot : positive_slots_) rows |= masks_[slot];
    return rows;
  }

 private:
  void (*kernel_)(const Sweep&, std::int64_t) = nullptr;
  std::vector<SweepSplit> splits_;
  std::vector<std::uint64_t> masks_;
  std::vector<std::uint32_t> positive_slots_;
};

// Bits to votes: +1 where the bit is set, -1 elsewhere.
void write_votes(std::uint64_t positive, std::int64_t n_rows, std::int8_t* votes);

}  // namespace mpboost
