// Splits of categorical features: the categories of a node in the order of their share of positives, cut in two. For
// two classes one of these cuts is the best of all subsets (Breiman et al., 1984, theorem 4.5).
#include <algorithm>
#include <array>

#include "mpboost/binary_grower.hpp"

namespace mpboost {
namespace {

struct Category {
  std::uint8_t code;
  std::int32_t n_rows;
  std::int64_t weight, positive;
};

// Fewer positives first. Weights are below 2^31, so that the products are exact.
bool operator<(const Category& a, const Category& b) {
  const std::int64_t left = a.positive * b.weight, right = b.positive * a.weight;
  return left != right ? left < right : a.code < b.code;
}

}  // namespace

void BinaryGrower::search_categories(const Node& node, std::size_t lane, Choice& choice) {
  std::array<Category, 256> categories;  // most nodes are small: only bins that the group has are cleared
  const auto n_bins = static_cast<std::size_t>(ranges_[lane / group_lanes].n_bins);
  std::fill_n(categories.begin(), n_bins, Category{});
  categories[missing_code] = {};
  const std::uint8_t* column = lane_codes(lane, node);
  for (std::int32_t i = 0; i < node.size(); ++i) {
    const std::uint8_t code = column[static_cast<std::size_t>(i) * group_lanes];
    const std::int32_t weight = row_weight(node, i);
    Category& category = categories[code];
    category.code = code;
    category.n_rows += 1;
    category.weight += weight;
    if (i >= node.n_negative) category.positive += weight;
  }
  const Category missing = categories[missing_code];
  auto* const end = std::remove_if(categories.begin(), categories.begin() + static_cast<std::ptrdiff_t>(n_bins),
                                   [](const Category& category) { return category.n_rows == 0; });
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
  for (auto* category = categories.begin(); category != end; ++category) {
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
