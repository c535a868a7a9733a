#include "mpboost/gradient_credit.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace mpboost
