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

double judge(double value, std::int8_t label) { return value * label > 0; }
double judge(double value, std::uint16_t label) { return value == label; }
double judge(double value, double label) { return -(value - label) * (value - label); }

}  // namespace

template <class Label>
std::vector<double> permutation_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                            const Stream& stream) {
  std::vector<std::int64_t> shuffled(patch.rows.begin(), patch.rows.end());
  const auto sum_right = [&](std::int64_t feature) {
    double right = 0;
    for (std::size_t i = 0; i < patch.rows.size(); ++i) {
      const double value = predict(tree, columns, patch.rows[i], feature, shuffled[i]);
      right += judge(value, patch.labels[patch.rows[i]]) * (patch.weights.empty() ? 1.0 : patch.weights[i]);
    }
    return right;
  };
  const double total = patch.weights.empty() ? static_cast<double>(patch.rows.size())
                                             : std::accumulate(patch.weights.begin(), patch.weights.end(), 0.0);
  const double right = sum_right(-1);
  std::vector<double> losses(patch.features.size(), 0.0);
  std::uint64_t draw = 0;
  for (std::size_t k = 0; k < patch.features.size(); ++k) {
    for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[stream.bits(draw++) % i]);
    const bool is_used = std::ranges::any_of(tree.splits, [&](const Split& s) { return s.feature == patch.features[k]; });
    if (is_used) losses[k] = (right - sum_right(patch.features[k])) / total;
  }
  return losses;
}

template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<std::int8_t>&, const Stream&);
template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<std::uint16_t>&, const Stream&);
template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<double>&, const Stream&);

}  // namespace mpboost
