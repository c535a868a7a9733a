#include "mpboost/apply.hpp"

#include <algorithm>
#include <vector>

#include "leaf_finder.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t grain = 16'384;  // a tree of 100 leaves takes 0.05 ms

// Call take(row, its leaf) for all rows.
template <class Take>
void for_leaves(TreeView tree, const BinnedColumns& columns, Threads& threads, Take take) {
  threads.for_ranges(columns.n_rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    LeafFinder finder;
    finder.bind(tree, columns, end - begin);
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(std::min(grain, end - begin)));
    for (std::int64_t first = begin; first < end; first += grain) {
      const std::int64_t n = std::min(grain, end - first);
      finder.find(first, n, leaves.data());
      for (std::int64_t i = 0; i < n; ++i) take(first + i, leaves[static_cast<std::size_t>(i)]);
    }
  });
}

}  // namespace

void apply_leaves(TreeView tree, const BinnedColumns& columns, std::int32_t* leaves, Threads& threads) {
  for_leaves(tree, columns, threads, [=](std::int64_t row, std::int32_t leaf) { leaves[row] = leaf; });
}

void apply_leaf_numbers(TreeView tree, const BinnedColumns& columns, std::uint16_t* leaves, Threads& threads) {
  for_leaves(tree, columns, threads,
             [=](std::int64_t row, std::int32_t leaf) { leaves[row] = static_cast<std::uint16_t>(leaf); });
}

void apply_votes(TreeView tree, const BinnedColumns& columns, std::int8_t* votes, Threads& threads) {
  std::vector<std::int8_t> of_leaves(tree.n_leaves());
  std::ranges::transform(tree.leaf_values, of_leaves.begin(), to_vote);
  for_leaves(tree, columns, threads,
             [votes, of = of_leaves.data()](std::int64_t row, std::int32_t leaf) { votes[row] = of[leaf]; });
}

void apply_classes(TreeView tree, const BinnedColumns& columns, std::uint16_t* classes, Threads& threads) {
  const std::vector<std::uint16_t> of_leaves(tree.leaf_values.begin(), tree.leaf_values.end());
  for_leaves(tree, columns, threads,
             [classes, of = of_leaves.data()](std::int64_t row, std::int32_t leaf) { classes[row] = of[leaf]; });
}

void apply_values(TreeView tree, const BinnedColumns& columns, double* values, Threads& threads) {
  const std::int64_t n = tree.n_outputs;
  if (n == 1)
    for_leaves(tree, columns, threads,
               [=](std::int64_t row, std::int32_t leaf) { values[row] = *tree.values_of(leaf); });
  else
    for_leaves(tree, columns, threads,
               [=](std::int64_t row, std::int32_t leaf) { std::copy_n(tree.values_of(leaf), n, values + row * n); });
}

}  // namespace mpboost
