#include "mpboost/apply.hpp"

#include <algorithm>
#include <bit>

#include "sweep.hpp"

namespace mpboost {
namespace {

// Call take(bound tree, word, first row, number of rows) for each 64 rows, the last ones perhaps fewer.
template <class Take>
void for_words(TreeView tree, const BinnedColumns& columns, Threads& threads, Take take) {
  constexpr std::int64_t grain = 16'384 / block_rows;
  threads.for_ranges(columns.n_blocks(), grain, [&](std::int64_t begin, std::int64_t end) {
    BoundTree bound;
    bound.bind(tree, columns);
    for (std::int64_t block = begin; block < end; ++block) {
      bound.sweep(block);
      for (int word = 0; word < mask_words; ++word) {
        const std::int64_t row = block * block_rows + 64 * word;
        if (row < columns.n_rows()) take(bound, word, row, std::min<std::int64_t>(64, columns.n_rows() - row));
      }
    }
  });
}

}  // namespace

void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads) {
  for_words(tree, columns, threads, [=](const BoundTree& bound, int word, std::int64_t row, std::int64_t n_rows) {
    const std::uint64_t real_rows = ~std::uint64_t{0} >> (64 - n_rows);
    for (std::size_t leaf = 0; leaf < bound.n_leaves(); ++leaf)
      for (std::uint64_t rows = bound.rows_in_leaf(leaf, word) & real_rows; rows; rows &= rows - 1)
        leaves[row + std::countr_zero(rows)] = static_cast<std::int32_t>(leaf);
  });
}

void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads) {
  for_words(tree, columns, threads, [=](const BoundTree& bound, int word, std::int64_t row, std::int64_t n_rows) {
    if (n_rows == 64) return write_votes(bound.positive_rows(word), votes + row);
    std::int8_t last[64];
    write_votes(bound.positive_rows(word), last);
    std::copy_n(last, n_rows, votes + row);
  });
}

}  // namespace mpboost
