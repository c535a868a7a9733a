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

// Sums of all rows that are not in the minipatch, if there is one output.
LeafSums sum_unseen(const UnseenRows& tree) {
  using Pair [[gnu::vector_size(16)]] = double;  // gradient and hessian
  const std::vector<std::uint16_t> leaves = gather_leaves(tree);
  std::vector<double> of_patch(tree.sums.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::int64_t row = tree.rows[i];
    double* at = of_patch.data() + 2 * leaves[i];
    Pair sum;
    __builtin_memcpy(&sum, at, sizeof sum);
    sum += Pair{tree.slopes.gradients[row], tree.slopes.hessians[row]};
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
  // Gradients and hessians of many outputs are summed apart: then two threads have work if there is a single tree.
  std::vector<LeafSums> sums(trees.size());
  threads.for_ranges(2 * std::ssize(trees), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto part = static_cast<std::size_t>(begin); part < static_cast<std::size_t>(end); ++part) {
      const UnseenRows& tree = trees[part / 2];
      LeafSums& of_tree = sums[part / 2];
      if (tree.slopes.n_outputs == 1) {
        if (part % 2 == 0) of_tree = sum_unseen(tree);
      } else if (part % 2 == 0) {
        of_tree.gradients = sum_unseen(tree, 0, tree.slopes.direction);
      } else {
        of_tree.hessians = sum_unseen(tree, 1, nullptr);
        for (double& hessian : of_tree.hessians) hessian = std::max(hessian, 0.0);
      }
    }
  });
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
