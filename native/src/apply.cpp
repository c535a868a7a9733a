#include "mpboost/apply.hpp"

#include "sweep.hpp"

namespace mpboost {
namespace {

// Call take(bound tree, first row, rows in the block) after sweeping each block.
template <class Take>
void for_blocks(TreeView tree, const BinnedColumns& columns, Threads& threads, Take take) {
  constexpr std::int64_t grain = 256;  // blocks: 16 384 rows
  threads.for_ranges(columns.n_blocks(), grain, [&](std::int64_t begin, std::int64_t end) {
    BoundTree bound;
    bound.bind(tree, columns);
    for (std::int64_t block = begin; block < end; ++block) {
      bound.sweep(block);
      take(bound, block * block_rows, columns.n_rows() - block * block_rows);
    }
  });
}

}  // namespace

void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads) {
  for_blocks(tree, columns, threads, [=](const BoundTree& bound, std::int64_t row, std::int64_t n_rows) {
    const std::uint64_t real_rows = n_rows < block_rows ? (std::uint64_t{1} << n_rows) - 1 : ~std::uint64_t{0};
    for (std::size_t l = 0; l < bound.n_leaves(); ++l)
      for (std::uint64_t rows = bound.leaf(l) & real_rows; rows; rows &= rows - 1)
        leaves[row + std::countr_zero(rows)] = static_cast<std::int32_t>(l);
  });
}

void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads) {
  for_blocks(tree, columns, threads, [=](const BoundTree& bound, std::int64_t row, std::int64_t n_rows) {
    write_votes(bound.positive_rows(), n_rows, votes + row);
  });
}

}  // namespace mpboost
