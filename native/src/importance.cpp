#include "mpboost/importance.hpp"

#include <algorithm>
#include <numeric>

namespace mpboost {
namespace {

// The value of the leaf that a row reaches, with the code of one feature taken from another row.
double predict(TreeView tree, const BinnedColumns& columns, std::int64_t row, std::int64_t shuffled_feature,
               std::int64_t source_row) {
  std::int32_t node = tree.splits.empty() ? ~0 : 0;
  while (node >= 0) {
    const Split& split = tree.splits[static_cast<std::size_t>(node)];
    const std::uint8_t code = columns.column(split.feature)[split.feature == shuffled_feature ? source_row : row];
    node = tree.goes_left(split, code) ? split.left : split.right;
  }
  return tree.leaf_values[static_cast<std::size_t>(~node)];
}

}  // namespace

std::vector<double> permutation_importances(TreeView tree, const BinnedColumns& columns,
                                            std::span<const std::int64_t> rows, std::span<const std::int64_t> features,
                                            const std::int8_t* labels, std::span<const double> weights,
                                            const Stream& stream) {
  std::vector<std::int64_t> shuffled(rows.begin(), rows.end());
  const auto sum_right = [&](std::int64_t feature) {
    double right = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (predict(tree, columns, rows[i], feature, shuffled[i]) * labels[rows[i]] > 0) right += weights.empty() ? 1 : weights[i];
    return right;
  };
  const double total = weights.empty() ? static_cast<double>(rows.size()) : std::accumulate(weights.begin(), weights.end(), 0.0);
  const double right = sum_right(-1);
  std::vector<double> losses(features.size(), 0.0);
  std::uint64_t draw = 0;
  for (std::size_t k = 0; k < features.size(); ++k) {
    for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[stream.bits(draw++) % i]);
    const bool is_used = std::ranges::any_of(tree.splits, [&](const Split& s) { return s.feature == features[k]; });
    if (is_used) losses[k] = (right - sum_right(features[k])) / total;
  }
  return losses;
}

}  // namespace mpboost
