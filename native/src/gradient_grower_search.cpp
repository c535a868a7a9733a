// Chooses the best split of a node.
#include <algorithm>
#include <array>

#include "mpboost/gradient_grower.hpp"
#include "mpboost/grower.hpp"

namespace mpboost {

// A Newton step; none where the second derivative is too small to be told from 0.
double GradientGrower::step(double gradient, double hessian) const {
  return hessian > packing_.hessian_unit / 2 ? -gradient / hessian : 0.0;
}

double GradientGrower::value_of(std::uint64_t sums) const {
  return step(packing_.gradient_unit * static_cast<double>(packing_.gradient(sums)),
              packing_.hessian_unit * static_cast<double>(packing_.hessian(sums)) + limits_.l2_regularization);
}

// Twice what the loss falls by, to second order, if the rows of `left` and the other rows of the node get values of
// their own.
double GradientGrower::gain_of(const Node& node, std::uint64_t left, double extra_l2) const {
  const double l2 = limits_.l2_regularization + extra_l2;
  const auto fall = [&](std::uint64_t sums) {
    const double g = static_cast<double>(packing_.gradient(sums)) * packing_.gradient_unit;
    const double h = static_cast<double>(packing_.hessian(sums)) * packing_.hessian_unit + l2;
    const double value = std::clamp(step(g, h), node.lowest, node.highest);
    return -value * (2 * g + h * value);
  };
  return fall(left) + fall(node.sums - left) - fall(node.sums);
}

// What splits may gain by rounding alone: without this bound, rows with equal derivatives would be split for nothing. A
// row is off by the difference of two errors of up to half a unit, of which the variance is 1/6 of a squared unit (0.41
// units; 0.37 to 0.41 in a simulation). One split gains so much for each row, over the hessian; the best of 10, 100 or
// 1000 features with 64 bins gained 9, 13 or 17 times that in the mean of the simulation. Twelve times 1/6 is the 2.
double GradientGrower::gain_by_rounding(const Node& node) const {
  const double hessian =
      packing_.hessian_unit * static_cast<double>(packing_.hessian(node.sums)) + limits_.l2_regularization;
  const double gradient_unit = packing_.gradient_unit, hessian_unit = node.value * packing_.hessian_unit;
  const double squared_unit = gradient_unit * gradient_unit + hessian_unit * hessian_unit;
  return hessian > 0 ? 2 * node.size * squared_unit / hessian : 0.0;
}

// What a feature that tells nothing gains for each of its categories, if each got a value of its own: the variance of
// the sum of its gradients over its hessians. Gradients are those that the value of the node leaves, with the weights
// of rows in them.
double GradientGrower::gain_by_chance(const Node& node) const {
  const double hessian =
      packing_.hessian_unit * static_cast<double>(packing_.hessian(node.sums)) + limits_.l2_regularization;
  const double gradient_unit = packing_.gradient_unit, hessian_unit = node.value * packing_.hessian_unit;
  const double squares = gradient_unit * gradient_unit * node.products.gradients +
                         2 * gradient_unit * hessian_unit * node.products.mixed +
                         hessian_unit * hessian_unit * node.products.hessians;
  return hessian > 0 ? std::max(0.0, squares) / hessian : 0.0;
}

// Choose the splits of a node, and of its sibling if that is given: its sums are taken off those of the parent.
void GradientGrower::choose_splits(Node& rest, Node* part) {
  Node* nodes[] = {&rest, part};
  const bool searches_part = part && may_split(*part);
  const auto for_nodes = [&](auto work) {
    for (std::size_t k = 0; k < (searches_part ? 2 : 1); ++k) work(*nodes[k], k);
  };
  Choice best[2];
  for_nodes([&](const Node& node, std::size_t k) { best[k].gain = gain_by_rounding(node); });
  // Neither 0 nor infinite, to divide by. Far above all sums of hessians it does not matter how large it is.
  const auto l2 = static_cast<float>(std::clamp(limits_.l2_regularization / packing_.hessian_unit, 0.5, 0x1p60));
  for (std::size_t index = 0; index < groups_.size(); ++index) {
    const Group& group = groups_[index];
    GradientLanes found[2];
    kernels().search_gradients({.rest = histogram(rest) + group.sums,
                                .part = part ? histogram(*part) + group.sums : nullptr,
                                .rest_total = rest.sums,
                                .part_total = part ? part->sums : 0,
                                .searches_part = searches_part,
                                .n_bins = group.n_bins,
                                .has_missing = group.has_missing,
                                .count_bits = packing_.count_bits,
                                .hessian_bits = packing_.hessian_bits,
                                .min_samples_leaf = limits_.min_samples_leaf,
                                .l2 = l2},
                               found[0], found[1]);
    for_nodes([&](const Node& node, std::size_t k) {
      const bool is_simple = !group.is_categorical && !group.has_monotonic && !node.is_bounded();
      if (!is_simple || !offer_lanes(node, index, found[k], best[k])) search_one_by_one(node, index, best[k]);
    });
  }
  for_nodes([&](Node& node, std::size_t k) { node.choice = best[k].feature < 0 ? Choice{} : best[k]; });
}

void GradientGrower::search_one_by_one(const Node& node, std::size_t group, Choice& best) {
  for (std::size_t lane = group * lanes; lane < (group + 1) * lanes; ++lane) {
    if (!may_use(node, static_cast<std::int32_t>(lane))) continue;
    groups_[group].is_categorical ? search_categories(node, lane, best) : search_bounded(node, lane, best);
  }
}

// Offer the best split of those that were found side by side. Returns false if it has a side whose hessians are 0: then
// scores say nothing.
bool GradientGrower::offer_lanes(const Node& node, std::size_t group, const GradientLanes& found, Choice& best) {
  const Group& g = groups_[group];
  const std::uint64_t* sums = histogram(node) + g.sums;
  int lane = -1;
  for (int k = 0; k < lanes; ++k) {
    if (found.score[k] < 0 || (lane >= 0 && found.score[k] <= found.score[lane])) continue;
    if (may_use(node, static_cast<std::int32_t>(group) * lanes + k)) lane = k;
  }
  if (lane < 0) return true;
  Choice candidate{.feature = static_cast<std::int32_t>(group) * lanes + lane,
                   .bin = found.code[lane] / 2,
                   .missing_left = found.code[lane] % 2 != 0};
  std::uint64_t& left = candidate.left;
  if (candidate.missing_left) left = sums[g.n_bins * lanes + lane];
  for (int bin = 0; bin <= candidate.bin; ++bin) left += sums[bin * lanes + lane];
  if (limits_.l2_regularization <= packing_.hessian_unit / 2 &&
      (packing_.hessian(left) == 0 || packing_.hessian(node.sums - left) == 0))
    return false;
  offer(gain_of(node, left), candidate, best);
  return true;
}

void GradientGrower::offer(double gain, const Choice& candidate, Choice& best) {
  if (!(gain > best.gain)) return;  // also if it is not a number
  best = candidate;
  best.gain = gain;
}

// Try all thresholds of one feature, whose leaves have bounds.
void GradientGrower::search_bounded(const Node& node, std::size_t lane, Choice& best) {
  const Group& group = groups_[lane / lanes];
  const std::uint64_t* sums = histogram(node) + group.sums + lane % lanes;
  const std::int64_t n_rows = packing_.count(node.sums);
  const std::int8_t direction = features_[lane].monotonic;
  const std::uint64_t missing = sums[group.n_bins * lanes];
  std::uint64_t values = 0;
  for (int bin = 0; bin < group.n_bins; ++bin) {
    values += sums[bin * lanes];
    for (const bool missing_left : {false, true}) {
      const std::uint64_t left = missing_left ? values + missing : values;
      if ((missing_left && !group.has_missing) || packing_.count(left) < limits_.min_samples_leaf ||
          n_rows - packing_.count(left) < limits_.min_samples_leaf)
        continue;
      if (direction * (value_of(node.sums - left) - value_of(left)) < 0) continue;
      offer(gain_of(node, left),
            {.feature = static_cast<std::int32_t>(lane), .bin = bin, .missing_left = missing_left, .left = left}, best);
    }
  }
}

// Try all cuts of the categories in the order of their values. The values of categories, and of both sides, are shrunk
// as if there were some more rows without a gradient. What many categories gain by chance is taken off, except for as
// many as gain no more than the best threshold of a number does by chance, of which nothing is taken off. Both are
// chosen by measurement: docs/decisions.md.
void GradientGrower::search_categories(const Node& node, std::size_t lane, Choice& best) {
  constexpr double imagined_rows = 10.0;  // as LightGBM's cat_smooth and cat_l2; no comparison is recorded
  constexpr double free_categories = 5.0;
  struct Category {
    std::uint8_t bin;
    double key;
  };
  const Group& group = groups_[lane / lanes];
  const std::uint64_t* sums = histogram(node) + group.sums + lane % lanes;
  const std::int64_t n_rows = packing_.count(node.sums);
  const double extra = imagined_rows * static_cast<double>(packing_.hessian(node.sums)) / static_cast<double>(n_rows);
  std::array<Category, 256> categories;
  std::size_t n_categories = 0;
  for (int bin = 0; bin <= group.n_bins; ++bin) {
    const std::uint64_t s = sums[bin * lanes];
    if (packing_.count(s) == 0) continue;
    const double h = static_cast<double>(packing_.hessian(s)) + extra;  // 0 in all categories or in none
    categories[n_categories++] = {static_cast<std::uint8_t>(bin),
                                  static_cast<double>(packing_.gradient(s)) / (h > 0 ? h : 1.0)};
  }
  std::sort(categories.begin(), categories.begin() + static_cast<std::ptrdiff_t>(n_categories),
            [](const Category& a, const Category& b) { return a.key < b.key || (a.key == b.key && a.bin < b.bin); });
  const double chance =
      chance_share * std::max(0.0, static_cast<double>(n_categories) - free_categories) * gain_by_chance(node);
  Choice candidate{.feature = static_cast<std::int32_t>(lane), .is_set = true};
  std::uint64_t& left = candidate.left;
  for (std::size_t k = 0; k + 1 < n_categories; ++k) {
    const int bin = categories[k].bin;
    left += sums[bin * lanes];
    candidate.missing_left |= bin == group.n_bins;
    insert(candidate.bins, bin == group.n_bins ? missing_code : categories[k].bin);
    if (packing_.count(left) < limits_.min_samples_leaf || n_rows - packing_.count(left) < limits_.min_samples_leaf)
      continue;
    offer(gain_of(node, left, extra * packing_.hessian_unit) - chance, candidate, best);
  }
}

}  // namespace mpboost
