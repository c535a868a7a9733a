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

// Call add(leaf, row) for the rows of a minipatch. Threads check them as they go: a pass beforehand would not be
// shared.
template <class Add>
void for_rows(const UnseenRows& tree, Add add) {
  const std::size_t n_leaves = tree.grown.tree.n_leaves();
  const std::span<const std::uint16_t> leaves = tree.leaves;
  for (const std::int64_t row : tree.rows) {
    const auto place = static_cast<std::size_t>(row);
    if (place >= leaves.size()) throw std::invalid_argument("the patch names a row that does not exist");
    const std::uint16_t leaf = leaves[place];
    if (leaf >= n_leaves) throw std::invalid_argument("there is a leaf that does not exist");
    add(leaf, row);
  }
}

// The sums over the rows of a minipatch, [leaf][gradient, hessian], if there is one output.
std::vector<double> sum_pairs(const UnseenRows& tree) {
  using Pair [[gnu::vector_size(16)]] = double;
  std::vector<double> sums(tree.sums.size());
  for_rows(tree, [to = sums.data(), slopes = tree.slopes](std::uint16_t leaf, std::int64_t row) {
    double* at = to + 2 * leaf;
    Pair sum;
    __builtin_memcpy(&sum, at, sizeof sum);
    sum += Pair{slopes.gradients[row], slopes.hessians[row]};
    __builtin_memcpy(at, &sum, sizeof sum);
  });
  return sums;
}

// The same of one kind alone, gradients (0) or hessians (1), at its places among both.
std::vector<double> sum_kind(const UnseenRows& tree, std::size_t kind) {
  std::vector<double> sums(tree.sums.size());
  const float* derivatives = kind == 0 ? tree.slopes.gradients : tree.slopes.hessians;
  for_rows(tree, [to = sums.data() + kind, derivatives](std::uint16_t leaf, std::int64_t row) {
    to[2 * leaf] += static_cast<double>(derivatives[row]);
  });
  return sums;
}

// The same of many outputs, [leaf][output][gradient, hessian]; added to the sums.
void add_kind(const UnseenRows& tree, std::span<const std::uint16_t> leaves, std::size_t kind, std::span<double> sums) {
  std::vector<double> of_kind(sums.size() / 2);
  kernels().add_numbers(leaves.data(), tree.rows.data(), std::ssize(leaves),
                        kind == 0 ? tree.slopes.gradients : tree.slopes.hessians, tree.slopes.n_outputs,
                        of_kind.data());
  for (std::size_t i = 0; i < of_kind.size(); ++i) sums[2 * i + kind] += of_kind[i];
}

// The sums over the rows of a minipatch, [leaf][output][gradient, hessian], of kinds from `first` to below `end`.
std::vector<double> sum_patch(const UnseenRows& tree, std::size_t first, std::size_t end) {
  if (tree.slopes.n_outputs == 1) return end - first == 2 ? sum_pairs(tree) : sum_kind(tree, first);
  std::vector<std::uint16_t> leaves;
  leaves.reserve(tree.rows.size());
  for_rows(tree, [&](std::uint16_t leaf, std::int64_t) { leaves.push_back(leaf); });
  std::vector<double> sums(tree.sums.size());
  for (std::size_t kind = first; kind < end; ++kind) add_kind(tree, leaves, kind, sums);
  return sums;
}

// Sums of one kind over all rows that are not in the minipatch, leaf by leaf, and over outputs: times the direction, if
// there is one.
std::vector<double> subtract(const UnseenRows& tree, std::span<const double> of_patch, std::size_t kind,
                             const double* direction) {
  const auto n_outputs = static_cast<std::size_t>(tree.slopes.n_outputs);
  std::vector<double> sums(tree.grown.tree.n_leaves());
  for (std::size_t leaf = 0, i = kind; leaf < sums.size(); ++leaf)
    for (std::size_t k = 0; k < n_outputs; ++k, i += 2) {
      const double unseen = tree.sums[i] - of_patch[i];
      sums[leaf] += direction ? unseen * direction[k] : unseen;
    }
  return sums;
}

// The credits of a tree's features, and the size that they have by chance.
struct Credited {
  std::vector<double> credits;
  double chance = 0.0;
};

// Compute what follows from kinds of sums, from `first` to below `end`: credits from gradients (0), chance from
// hessians (1).
void credit_kinds(const UnseenRows& tree, std::size_t first, std::size_t end, Credited& out) {
  const std::vector<double> of_patch = sum_patch(tree, first, end);
  if (first == 0)
    out.credits = gradient_credits(tree.grown, subtract(tree, of_patch, 0, tree.slopes.direction), tree.features);
  if (end == 2) {
    std::vector<double> hessians = subtract(tree, of_patch, 1, nullptr);
    for (double& hessian : hessians) hessian = std::max(hessian, 0.0);
    out.chance = chance_of_credits(tree.grown, hessians);
  }
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
  // A sum cannot be shared without changing its order, but those of gradients and of hessians need not wait for each
  // other: of three trees, each of two threads takes one, and a kind of the third. Both kinds of a tree are one pass.
  const std::int64_t n_kinds = 2 * std::ssize(trees), per_thread = (n_kinds + threads.size() - 1) / threads.size();
  std::vector<Credited> credited(trees.size());
  threads.for_ranges(n_kinds, per_thread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t next = begin; next < end;) {
      const auto tree = static_cast<std::size_t>(next / 2), first = static_cast<std::size_t>(next % 2);
      const std::size_t last = std::min<std::size_t>(2, first + static_cast<std::size_t>(end - next));
      credit_kinds(trees[tree], first, last, credited[tree]);
      next += static_cast<std::int64_t>(last - first);
    }
  });
  std::vector<GradientCredits> all;
  for (auto& [credits, chance] : credited) {
    std::vector<double> importances;
    for (const double credit : credits) importances.push_back(chance > 0 ? credit / chance : 0.0);
    all.push_back({std::move(credits), std::move(importances)});
  }
  return all;
}

}  // namespace mpboost
