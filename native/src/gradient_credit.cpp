#include "mpboost/gradient_credit.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

// Call take(split, sum, move) for both children of each split, children before parents: sum is that of `of_leaves` over
// the leaves below the child, move how far the child's value is from that of the split.
template <class Take>
void for_children(const GradientTree& grown, std::span<const double> of_leaves, Take take) {
  const std::vector<Split>& splits = grown.tree.splits;
  std::vector<double> sums(splits.size());
  for (std::size_t k = splits.size(); k-- > 0;) {
    for (const std::int32_t child : {splits[k].left, splits[k].right}) {
      const bool is_leaf = child < 0;
      const auto index = static_cast<std::size_t>(is_leaf ? ~child : child);
      const double sum = is_leaf ? of_leaves[index] : sums[index];
      const double value = is_leaf ? grown.tree.leaf_values[index] : grown.split_values[index];
      sums[k] += sum;
      take(splits[k], sum, value - grown.split_values[k]);
    }
  }
}

// The leaves of the rows of a minipatch.
std::vector<std::uint16_t> gather_leaves(const UnseenRows& tree) {
  std::vector<std::uint16_t> leaves(tree.rows.size());
  std::uint16_t last = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) last = std::max(last, leaves[i] = tree.leaves[tree.rows[i]]);
  if (last >= tree.grown.tree.n_leaves()) throw std::invalid_argument("there is a leaf that does not exist");
  return leaves;
}

// The sums of some rows, leaf by leaf: of gradients, along the direction, and of hessians.
struct LeafSums {
  std::vector<double> gradients, hessians;
};

// What a row of a minipatch adds to its leaf, if there is one output.
struct PatchRow {
  float gradient, hessian;
  std::uint16_t leaf;
};

// The rows of all minipatches, one after the other. They are far apart in memory, so fetching them takes most of the
// time: threads share it even if there is a single tree, which changes no sum.
std::vector<PatchRow> fetch_rows(std::span<const UnseenRows> trees, Threads& threads) {
  std::size_t n_rows = 0;
  for (const UnseenRows& tree : trees) n_rows += tree.rows.size();
  std::vector<PatchRow> fetched(n_rows);
  threads.for_ranges(std::ssize(fetched), 2048, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t first = 0;  // of a tree's rows
    for (const UnseenRows& tree : trees) {
      const std::int64_t last = std::min(end, first + std::ssize(tree.rows));
      for (std::int64_t i = std::max(begin, first); i < last; ++i) {
        const std::int64_t row = tree.rows[static_cast<std::size_t>(i - first)];
        fetched[static_cast<std::size_t>(i)] = {tree.slopes.gradients[row], tree.slopes.hessians[row],
                                                tree.leaves[row]};
      }
      first += std::ssize(tree.rows);
    }
  });
  return fetched;
}

// Sums of all rows that are not in the minipatch, if there is one output.
LeafSums sum_unseen(const UnseenRows& tree, std::span<const PatchRow> rows) {
  using Pair [[gnu::vector_size(16)]] = double;  // gradient and hessian
  std::vector<double> of_patch(tree.sums.size());
  for (const PatchRow& row : rows) {
    if (row.leaf >= tree.grown.tree.n_leaves()) throw std::invalid_argument("there is a leaf that does not exist");
    double* at = of_patch.data() + 2 * row.leaf;
    Pair sum;
    __builtin_memcpy(&sum, at, sizeof sum);
    sum += Pair{row.gradient, row.hessian};
    __builtin_memcpy(at, &sum, sizeof sum);
  }
  LeafSums unseen;
  for (std::size_t i = 0; i < of_patch.size(); i += 2) {
    unseen.gradients.push_back(tree.sums[i] - of_patch[i]);
    unseen.hessians.push_back(std::max(tree.sums[i + 1] - of_patch[i + 1], 0.0));
  }
  return unseen;
}

// Sums of one kind, gradients (0) or hessians (1), over all rows that are not in the minipatch, and over outputs: times
// the direction, if there is one.
std::vector<double> sum_unseen(const UnseenRows& tree, std::size_t kind, const double* direction) {
  const std::vector<std::uint16_t> leaves = gather_leaves(tree);
  const auto n_outputs = static_cast<std::size_t>(tree.slopes.n_outputs), n_leaves = tree.grown.tree.n_leaves();
  std::vector<double> of_patch(n_leaves * n_outputs), sums(n_leaves);
  kernels().add_numbers(leaves.data(), tree.rows.data(), std::ssize(leaves),
                        kind == 0 ? tree.slopes.gradients : tree.slopes.hessians, tree.slopes.n_outputs,
                        of_patch.data());
  for (std::size_t leaf = 0, i = 0; leaf < n_leaves; ++leaf)
    for (std::size_t k = 0; k < n_outputs; ++k, ++i) {
      const double unseen = tree.sums[2 * i + kind] - of_patch[i];
      sums[leaf] += direction ? unseen * direction[k] : unseen;
    }
  return sums;
}

// The sums of the rows outside of each tree's minipatch.
std::vector<LeafSums> sum_all_unseen(std::span<const UnseenRows> trees, Threads& threads) {
  std::vector<LeafSums> sums(trees.size());
  const bool has_one_output = std::ranges::all_of(trees, [](const UnseenRows& t) { return t.slopes.n_outputs == 1; });
  if (has_one_output) {
    const std::vector<PatchRow> fetched = fetch_rows(trees, threads);
    std::vector<std::span<const PatchRow>> rows;
    for (std::size_t k = 0, first = 0; k < trees.size(); first += trees[k++].rows.size())
      rows.emplace_back(fetched.data() + first, trees[k].rows.size());
    threads.for_ranges(std::ssize(trees), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
        sums[k] = sum_unseen(trees[k], rows[k]);
    });
    return sums;
  }
  // Gradients and hessians of many outputs are summed apart: then two threads have work if there is a single tree.
  threads.for_ranges(2 * std::ssize(trees), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto part = static_cast<std::size_t>(begin); part < static_cast<std::size_t>(end); ++part) {
      const UnseenRows& tree = trees[part / 2];
      LeafSums& of_tree = sums[part / 2];
      if (part % 2 == 0) {
        of_tree.gradients = sum_unseen(tree, 0, tree.slopes.direction);
      } else {
        of_tree.hessians = sum_unseen(tree, 1, nullptr);
        for (double& hessian : of_tree.hessians) hessian = std::max(hessian, 0.0);
      }
    }
  });
  return sums;
}

}  // namespace

std::vector<double> gradient_credits(const GradientTree& grown, std::span<const double> gradient_sums,
                                     std::span<const std::int64_t> features) {
  std::vector<double> credits(features.size());
  for_children(grown, gradient_sums, [&](const Split& split, double sum, double move) {
    const auto feature = std::ranges::lower_bound(features, split.feature);
    credits[static_cast<std::size_t>(feature - features.begin())] -= sum * move;
  });
  return credits;
}

double chance_of_credits(const GradientTree& grown, std::span<const double> hessian_sums) {
  double variance = 0;
  for_children(grown, hessian_sums, [&](const Split&, double sum, double move) { variance += sum * move * move; });
  return std::sqrt(variance);
}

std::vector<GradientCredits> credit_unseen(std::span<const UnseenRows> trees, Threads& threads) {
  const std::vector<LeafSums> sums = sum_all_unseen(trees, threads);
  std::vector<GradientCredits> all;
  for (std::size_t k = 0; k < trees.size(); ++k) {
    const GradientTree& grown = trees[k].grown;
    GradientCredits made{gradient_credits(grown, sums[k].gradients, trees[k].features), {}};
    const double chance = chance_of_credits(grown, sums[k].hessians);
    for (const double credit : made.credits) made.importances.push_back(chance > 0 ? credit / chance : 0.0);
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace mpboost
