#include "mpboost/apply.hpp"

#include <algorithm>
#include <functional>

#include "sweep.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t grain = 16'384 / block_rows;  // a tree of 100 leaves takes 0.07 ms

// Call take(bound tree, block) for each block.
template <class Bound, class Take>
void for_blocks(TreeView tree, const BinnedColumns& columns, Threads& threads, Take take) {
  threads.for_ranges(columns.n_blocks(), grain, [&](std::int64_t begin, std::int64_t end) {
    Bound bound;
    bound.bind(tree, columns);
    for (std::int64_t block = begin; block < end; ++block) take(bound, block);
  });
}

// Write convert(what a finder finds) for each row; the last block may be short.
template <class Found, class Finder, class Out, class Convert>
void apply_finder(TreeView tree, const BinnedColumns& columns, Out* out, Threads& threads, Convert convert) {
  for_blocks<Finder>(tree, columns, threads, [&](Finder& finder, std::int64_t block) {
    Found found[block_rows];
    finder.find(block, found);
    const std::int64_t first = block * block_rows;
    std::transform(found, found + std::min(block_rows, columns.n_rows() - first), out + first, convert);
  });
}

}  // namespace

void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads) {
  apply_finder<std::int32_t, LeafFinder>(tree, columns, leaves, threads, std::identity{});
}

void apply_leaf_numbers(TreeView tree, const BinnedColumns& columns, std::uint16_t* leaves, Threads& threads) {
  apply_finder<std::uint16_t, LeafFinder>(tree, columns, leaves, threads, std::identity{});
}

void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads) {
  for_blocks<VoteFinder>(tree, columns, threads, [&](VoteFinder& finder, std::int64_t block) {
    const std::int64_t first = block * block_rows, n = columns.n_rows() - first;
    if (n >= block_rows) return finder.find(block, votes + first);
    std::int8_t last[block_rows];
    finder.find(block, last);
    std::copy_n(last, n, votes + first);
  });
}

void apply_classes(TreeView tree, const BinnedColumns& columns, std::uint16_t* classes, Threads& threads) {
  apply_finder<std::uint16_t, ClassFinder>(tree, columns, classes, threads, std::identity{});
}

void apply_values(TreeView tree, const BinnedColumns& columns, double* values, Threads& threads) {
  if (tree.n_outputs == 1) {
    const double* of_leaves = tree.leaf_values.data();
    apply_finder<std::int32_t, LeafFinder>(tree, columns, values, threads,
                                           [=](std::int32_t leaf) { return of_leaves[leaf]; });
    return;
  }
  for_blocks<LeafFinder>(tree, columns, threads, [&](LeafFinder& finder, std::int64_t block) {
    std::int32_t leaves[block_rows];
    finder.find(block, leaves);
    const std::int64_t first = block * block_rows, n = std::min(block_rows, columns.n_rows() - first);
    for (std::int64_t i = 0; i < n; ++i)
      std::copy_n(tree.values_of(leaves[i]), tree.n_outputs, values + (first + i) * tree.n_outputs);
  });
}

}  // namespace mpboost
