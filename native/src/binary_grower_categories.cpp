// Splits of categorical features: the categories of a node in the order of their share of positives, cut in two. For
// two classes one of these cuts is the best of all subsets (Breiman et al., 1984, theorem 4.5).
#include <algorithm>
#include <array>

#include "mpboost/binary_grower.hpp"

namespace mpboost {

// Fewer positives first. Weights are below 2^31, so that the products are exact.
bool BinaryGrower::Category::operator<(const Category& other) const {
  const std::int64_t left = positive * other.weight, right = other.positive * weight;
  return left != right ? left < right : code < other.code;
}

// The rows of a node by code, for some lanes side by side: in a single lane, a count would wait for the one before.
struct BinaryGrower::CategoryCounts {
  using Counts = std::array<std::array<std::int32_t, used_lanes>, 256>;
  Counts n_rows[2], weights[2];  // of negatives and positives; weights, below 2^31, only where rows have any

  void clear(std::size_t n_bins, bool has_weights) {
    for (auto* counts : {&n_rows, &weights}) {
      if (counts == &weights && !has_weights) continue;
      for (Counts& of_class : *counts) {
        std::fill_n(of_class.begin(), n_bins, Counts::value_type{});
        of_class[missing_code] = {};
      }
    }
  }

  Category describe(std::size_t code, std::size_t lane, bool has_weights) const {
    const std::int32_t n = n_rows[0][code][lane] + n_rows[1][code][lane];
    if (!has_weights) return {static_cast<std::uint8_t>(code), n, n, n_rows[1][code][lane]};
    return {static_cast<std::uint8_t>(code), n, weights[0][code][lane] + weights[1][code][lane],
            weights[1][code][lane]};
  }
};

void BinaryGrower::search_categories(const Node& node, std::size_t first_lane, Choice& choice) {
  CategoryCounts counts;
  counts.clear(static_cast<std::size_t>(ranges_[first_lane / group_lanes].n_bins), has_weights());
  const std::uint8_t* row = lane_codes(first_lane, node);
  for (std::int32_t i = 0; i < node.size(); ++i, row += group_lanes) {
    const bool is_positive = i >= node.n_negative;
    CategoryCounts::Counts &n_rows = counts.n_rows[is_positive], &weights = counts.weights[is_positive];
    for (std::size_t l = 0; l < used_lanes; ++l) ++n_rows[row[l]][l];
    if (has_weights())
      for (std::size_t l = 0; l < used_lanes; ++l) weights[row[l]][l] += row_weight(node, i);
  }
  for (std::size_t lane = first_lane; lane < first_lane + used_lanes; ++lane)
    if (lane == first_lane || lanes_[lane] != lanes_[lane - 1]) cut_categories(node, lane, counts, choice);
}

void BinaryGrower::cut_categories(const Node& node, std::size_t lane, const CategoryCounts& counts, Choice& choice) {
  std::array<Category, 256> categories;
  auto* end = categories.begin();
  const auto n_bins = static_cast<std::size_t>(ranges_[lane / group_lanes].n_bins);
  for (std::size_t code = 0; code < n_bins; ++code)
    if (const Category some = counts.describe(code, lane % used_lanes, has_weights()); some.n_rows > 0) *end++ = some;
  const Category missing = counts.describe(missing_code, lane % used_lanes, has_weights());
  if (end - categories.begin() + (missing.n_rows > 0) < 2) return;
  std::sort(categories.begin(), end);

  Category left{};
  CategorySet set{};
  Choice best{lane, 0, false, -1.0, {}};
  const auto total = static_cast<double>(node.weight()), positive = static_cast<double>(node.positive);
  const auto offer = [&](const Category& side, bool missing_left) {
    const std::int32_t n_right = node.size() - side.n_rows;
    if (side.n_rows < options_.min_samples_leaf || n_right < options_.min_samples_leaf) return;
    const auto l = static_cast<double>(side.weight);
    const double d = static_cast<double>(side.positive) * total - l * positive;
    const double score = d * d / (l * (total - l));
    if (score > best.score) best = {lane, 0, missing_left, score, set};
  };
  for (const Category* category = categories.begin(); category != end; ++category) {
    left.n_rows += category->n_rows;
    left.weight += category->weight;
    left.positive += category->positive;
    insert(set, category->code);
    offer(left, false);
    if (missing.n_rows > 0)
      offer({0, left.n_rows + missing.n_rows, left.weight + missing.weight, left.positive + missing.positive}, true);
  }
  if (best.score < 0) return;
  const auto n = static_cast<double>(node.size());
  const auto k = static_cast<double>(end - categories.begin()) + (missing.n_rows > 0);
  best.score = std::max(0.0, best.score - chance_share * (k - 1) / (n - 1) * positive * (total - positive));
  if (best.score > choice.score) choice = best;
}

// Send categories that the node has not seen with its heavier part, and missing values, too, if it has none.
void BinaryGrower::place_categories(const Node& node, Choice& choice) const {
  CategorySet seen{};
  std::int64_t left = 0;
  for (std::int32_t i = 0; i < node.size(); ++i) {
    const std::uint8_t code = split_codes_[static_cast<std::size_t>(i)];
    insert(seen, code);
    left += (code == missing_code ? choice.missing_left : holds(choice.set, code)) ? row_weight(node, i) : 0;
  }
  const bool heavier_is_left = left > node.weight() - left;
  if (!holds(seen, missing_code)) choice.missing_left = heavier_is_left;
  for (int code = 0; code < missing_code && heavier_is_left; ++code)
    if (!holds(seen, static_cast<std::uint8_t>(code))) insert(choice.set, static_cast<std::uint8_t>(code));
  if (choice.missing_left) insert(choice.set, missing_code);
}

}  // namespace mpboost
