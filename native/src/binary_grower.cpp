#include "mpboost/binary_grower.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace mpboost {
namespace {

// Instructions were counted, for a full group of features, and are compared in quarters: comparing rows with thresholds
// takes about 2.25 per pair and 70 per threshold, for each side that missing values may go to; counting takes 100 per
// row; trying all bins then takes 70 per bin. Where counts are kept, sums over blocks of bins, and taking them off the
// parent's, take 9000 once there are any; finding the best split among known counts takes 4000.
std::int64_t cost_of_pairs(const NodeRows& node) {
  const std::int64_t n_rows = node.n_negative + node.n_positive, n_sides = node.has_missing ? 2 : 1;
  const std::int64_t n_thresholds =
      node.tries_rarer_class ? 2 * std::min(node.n_negative, node.n_positive) : static_cast<std::int32_t>(n_rows);
  if (n_rows > max_pairs || n_thresholds * n_sides > max_pairs) return std::numeric_limits<std::int64_t>::max();
  return n_thresholds * 9 * (n_rows + n_sides * node.n_lanes);
}
std::int64_t cost_of_bins(const NodeRows& node) {
  return (13 * (node.n_negative + node.n_positive) + 9 * node.n_bins) * std::int64_t{node.n_lanes};
}
// Given how many rows are counted first.
std::int64_t cost_of_counts(const NodeRows& node, std::int32_t n_counted) {
  return (500 + (n_counted > 0 ? 13 * n_counted + 1100 : 0)) * std::int64_t{node.n_lanes};
}

// With weights, nanoseconds were measured, with AVX2: 1.4 per pair and 38 per row against 17 per row and 29 per bin.
bool weighted_pairs_are_cheaper(std::int64_t n_rows, std::int64_t n_bins) {
  return n_rows * n_rows + 14 * n_rows < 20 * n_bins;
}

constexpr std::size_t rows_ahead = 24;       // whose codes are asked for before they are gathered,
constexpr std::int64_t near_rows = 1 << 16;  // unless columns are so short that they stay in the cache
static_assert(used_lanes == sizeof(std::uint64_t));

constexpr std::size_t max_count_sets = 8;  // that are in use: more would not stay in the cache

constexpr double total_weight = 1 << 30;  // of a minipatch, as whole numbers: rounded up, it stays below 2^31

}  // namespace

GrownTree BinaryGrower::grow(const BinnedColumns& columns, const Minipatch<std::int8_t>& patch,
                             std::int32_t min_samples_split, const std::function<void()>& poll) {
  min_samples_split_ = min_samples_split;
  lay_out(patch);
  order_rows(patch);
  gather(columns, patch);
  GrownTree grown;
  grown.importances.assign(patch.features.size(), 0.0);
  auto& [splits, leaf_values, category_sets, n_outputs, leaf_covers] = grown.tree;

  pending_.assign(1, make_root());
  while (!pending_.empty()) {
    Node node = pending_.back();
    pending_.pop_back();
    if (poll && node.size() >= polled_rows) poll();
    Choice choice;
    const bool is_split = !is_final(node) && choose_split(node, choice);
    const auto index = static_cast<std::int32_t>(is_split ? splits.size() : ~leaf_values.size());
    if (node.parent >= 0) {
      Split& parent = splits[static_cast<std::size_t>(node.parent)];
      (node.is_left ? parent.left : parent.right) = index;
    }
    if (!is_split) {
      drop_counts(node);
      const int majority = (node.positive > node.negative) - (node.positive < node.negative);
      leaf_values.push_back(majority == 0 ? options_.tie_value : majority);
      leaf_covers.push_back(to_cover(static_cast<double>(node.weight()) * weight_unit_));
      continue;
    }
    Node left{node.begin, 0, 0, 0, 0, node.depth + 1, index, true};
    Node right{node.begin, 0, 0, 0, 0, node.depth + 1, index, false};
    const bool is_set = is_categorical(choice.lane);
    partition(node, choice, left, right);
    share_counts(node, left, right);
    move_rows(node, left, right);
    const std::size_t place = lanes_[choice.lane];
    const std::int32_t categories = is_set ? static_cast<std::int32_t>(category_sets.size()) : -1;
    if (is_set) category_sets.push_back(choice.set);
    splits.push_back(
        {static_cast<std::int32_t>(patch.features[place]), 0, 0, categories, choice.bin, choice.missing_left, 0});
    if (!has_weights())
      grown.sides.push_back(
          {{left.size(), left.n_positive - left.n_negative}, {right.size(), right.n_positive - right.n_negative}});
    // In proportion to the decrease of impurity.
    grown.importances[place] += choice.score / static_cast<double>(node.weight());
    pending_.push_back(right);  // left is taken first: preorder
    pending_.push_back(left);
  }
  const double total = std::accumulate(grown.importances.begin(), grown.importances.end(), 0.0);
  if (total > 0)
    for (double& importance : grown.importances) importance /= total;
  return grown;
}

// Give each feature its lane: numeric ones first, categorical ones in groups of their own. The lanes in use of a
// group's last features may exceed these: they repeat the last feature, which changes nothing.
void BinaryGrower::lay_out(const Minipatch<std::int8_t>& patch) {
  lanes_.clear();
  group_lanes_.clear();
  const auto fill = [&](bool categorical) {
    const std::size_t first = lanes_.size();
    for (std::size_t k = 0; k < patch.features.size(); ++k)
      if ((patch.is_categorical && patch.is_categorical[patch.features[k]]) == categorical) lanes_.push_back(k);
    const std::size_t n = (lanes_.size() - first + used_lanes - 1) / used_lanes * used_lanes;
    if (n == 0) return;
    for (std::size_t done = 0; done < n; done += group_lanes)
      group_lanes_.push_back(static_cast<int>(std::min<std::size_t>(group_lanes, n - done)));
    lanes_.resize(group_lanes_.size() * group_lanes, lanes_.back());
  };
  fill(false);
  n_numeric_groups_ = group_lanes_.size();
  if (patch.is_categorical != nullptr) fill(true);
  n_groups_ = group_lanes_.size();
  if (n_counted_groups_ < n_numeric_groups_) {
    n_counted_groups_ = n_numeric_groups_;
    count_sets_.clear();
    idle_sets_.clear();
  }
}

// Negatives first, each class in the order of its rows; weights become whole numbers in the same order.
void BinaryGrower::order_rows(const Minipatch<std::int8_t>& patch) {
  n_rows_ = static_cast<std::int32_t>(patch.rows.size());
  places_.resize(patch.rows.size());
  const auto is_negative = [&](std::int64_t row) { return patch.labels[row] < 0; };
  n_negative_ = static_cast<std::int32_t>(std::ranges::count_if(patch.rows, is_negative));
  std::int32_t ends[] = {n_negative_, 0};
  for (std::size_t i = 0; i < patch.rows.size(); ++i) places_[i] = ends[is_negative(patch.rows[i])]++;
  weights_.clear();
  weight_unit_ = 1;
  if (patch.weights.empty()) return;
  const double sum = std::accumulate(patch.weights.begin(), patch.weights.end(), 0.0);
  for (const bool negative : {true, false})
    for (std::size_t i = 0; i < patch.rows.size(); ++i)
      if (is_negative(patch.rows[i]) == negative) weights_.push_back(whole_weight(patch.weights[i], sum, total_weight));
  weight_unit_ = sum / static_cast<double>(std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0}));
  right_weights_.resize(weights_.size() + 1);
}

void BinaryGrower::gather(const BinnedColumns& columns, const Minipatch<std::int8_t>& patch) {
  patch_.resize(n_groups_ * patch.rows.size() * group_lanes);
  goes_left_.resize(patch.rows.size());
  split_codes_.resize(patch.rows.size() + group_lanes);
  right_rows_.resize((patch.rows.size() + 1) * group_lanes);
  side_places_.resize(patch.rows.size() + 1);
  all_places_.resize(patch.rows.size());
  std::iota(all_places_.begin(), all_places_.end(), 0);
  const std::size_t n_rows = patch.rows.size();
  const bool is_far = columns.n_rows() > near_rows;
  for (std::size_t k = 0; k < lanes_.size(); k += used_lanes) {
    if (static_cast<int>(k % group_lanes) >= group_lanes_[k / group_lanes]) continue;
    std::uint8_t* out = codes(k / group_lanes, 0) + k % group_lanes;
    std::array<const std::uint8_t*, used_lanes> column;
    for (std::size_t l = 0; l < used_lanes; ++l) column[l] = columns.column(patch.features[lanes_[k + l]]);
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::int64_t row = patch.rows[i], later = patch.rows[std::min(i + rows_ahead, n_rows - 1)];
      std::uint64_t word = 0;  // the codes of a row, written at once
      for (std::size_t l = 0; l < used_lanes; ++l) {
        if (is_far) __builtin_prefetch(column[l] + later);
        word |= std::uint64_t{column[l][row]} << 8 * l;
      }
      std::memcpy(out + places_[i] * group_lanes, &word, sizeof word);
    }
  }
  // What columns promise about their codes is not enough: a view may hold others.
  ranges_.clear();
  for (std::size_t group = 0; group < n_groups_; ++group)
    ranges_.push_back(kernels().find_code_range(codes(group, 0), n_rows_, group_lanes_[group]));
}

BinaryGrower::Node BinaryGrower::make_root() const {
  const std::int32_t n_positive = n_rows_ - n_negative_;
  if (!has_weights()) return {0, n_negative_, n_positive, n_negative_, n_positive, 0, -1, false};
  const auto positives = weights_.begin() + n_negative_;
  const auto negative = std::accumulate(weights_.begin(), positives, std::int64_t{0});
  const auto positive = std::accumulate(positives, weights_.end(), std::int64_t{0});
  return {0, n_negative_, n_positive, negative, positive, 0, -1, false};
}

bool BinaryGrower::is_final(const Node& node) const {
  return node.n_negative == 0 || node.n_positive == 0 || (options_.max_depth > 0 && node.depth >= options_.max_depth) ||
         node.size() < min_samples_split_ || node.size() / 2 < options_.min_samples_leaf;
}

bool BinaryGrower::choose_split(Node& node, Choice& choice) {
  choice.score = -1.0;
  for (std::size_t group = 0; group < n_numeric_groups_; ++group) {
    const GroupSplit best = search_group(node, group);
    if (best.score > choice.score)
      choice = {
          group * group_lanes + static_cast<std::size_t>(best.lane), best.bin, best.missing_left != 0, best.score, {}};
  }
  for (std::size_t group = n_numeric_groups_; group < n_groups_; ++group)
    for (int lane = 0; lane < group_lanes_[group]; lane += used_lanes)
      search_categories(node, group * group_lanes + static_cast<std::size_t>(lane), choice);
  return choice.score >= 0;
}

NodeRows BinaryGrower::rows_of(const Node& node, std::size_t group) const {
  // Where values of one class follow each other, the score has no peak (it is convex): the best threshold is next to a
  // row of each class. A least number of rows in leaves, or missing values, which go to either side, change that.
  const std::int32_t n_rarer = std::min(node.n_negative, node.n_positive);
  const bool tries_rarer_class =
      options_.min_samples_leaf == 1 && !ranges_[group].has_missing && 2 * n_rarer < node.size();
  return {codes(group, node.begin),
          node.n_negative,
          node.n_positive,
          group_lanes_[group],
          ranges_[group].n_bins,
          ranges_[group].has_missing,
          options_.min_samples_leaf,
          tries_rarer_class,
          has_weights() ? weights_.data() + node.begin : nullptr,
          node.weight(),
          node.positive};
}

GroupSplit BinaryGrower::search_group(Node& node, std::size_t group) {
  const NodeRows rows = rows_of(node, group);
  const Kernels& use = kernels();
  if (has_weights())
    return weighted_pairs_are_cheaper(node.size(), rows.n_bins) ? use.search_weighted_pairs(rows)
                                                                : use.search_weighted_bins(rows, histogram_);
  if (!has_bin_counts(node.size(), rows.n_bins))
    return cost_of_pairs(rows) < cost_of_bins(rows) ? use.search_pairs(rows, histogram_)
                                                    : use.search_bins(rows, histogram_);
  const bool is_known = node.counts >= 0 && count_sets_[static_cast<std::size_t>(node.counts)][group].is_known;
  if (!is_counted(node, group, is_known ? 0 : node.size())) return use.search_pairs(rows, histogram_);
  if (node.counts < 0) take_counts(node);
  GroupCounts& of_group = count_sets_[static_cast<std::size_t>(node.counts)][group];
  if (!is_known) use.count_bins(rows, all_places_.data(), of_group.counts);
  of_group.is_known = true;
  return use.search_counts(rows, of_group.counts);
}

// Whether a group is searched by counts, if so many rows are counted first; or any group of a node.
bool BinaryGrower::is_counted(const Node& node, std::size_t group, std::int32_t n_counted) const {
  const NodeRows rows = rows_of(node, group);
  return has_bin_counts(node.size(), rows.n_bins) && cost_of_counts(rows, n_counted) <= cost_of_pairs(rows);
}

bool BinaryGrower::is_counted(const Node& node, std::int32_t n_counted) const {
  if (is_final(node)) return false;
  std::size_t group = 0;
  while (group < n_numeric_groups_ && !is_counted(node, group, n_counted)) ++group;
  return group < n_numeric_groups_;
}

// Of the children of a node with counts, only the rows of the smaller are counted: the larger has the rest.
void BinaryGrower::share_counts(Node& node, Node& left, Node& right) {
  if (node.counts < 0) return;
  Node &smaller = left.size() < right.size() ? left : right, &larger = &smaller == &left ? right : left;
  if (!is_counted(larger, smaller.size()) || count_sets_.size() - idle_sets_.size() >= max_count_sets)
    return drop_counts(node);
  list_side(node, smaller.is_left);
  take_counts(smaller);
  for (std::size_t group = 0; group < n_numeric_groups_; ++group) {
    auto& [counts, is_known] = count_sets_[static_cast<std::size_t>(node.counts)][group];
    auto& [part, part_is_known] = count_sets_[static_cast<std::size_t>(smaller.counts)][group];
    is_known = part_is_known = is_known && is_counted(larger, group, smaller.size());
    if (!is_known) continue;
    NodeRows rows = rows_of(smaller, group);
    rows.codes = codes(group, node.begin);
    kernels().count_bins(rows, side_places_.data(), part);
    kernels().take_off_bins(rows_of(larger, group), counts, part);
  }
  larger.counts = std::exchange(node.counts, -1);
  if (!is_counted(smaller, 0)) drop_counts(smaller);
}

// List the rows of a node that go to one side.
void BinaryGrower::list_side(const Node& node, bool is_left) {
  std::int32_t* place = side_places_.data();
  for (std::int32_t i = 0; i < node.size(); ++i) {
    *place = i;
    place += goes_left_[static_cast<std::size_t>(i)] == is_left;
  }
}

void BinaryGrower::take_counts(Node& node) {
  if (idle_sets_.empty()) {
    idle_sets_.push_back(static_cast<std::int32_t>(count_sets_.size()));
    count_sets_.push_back(std::make_unique<GroupCounts[]>(n_counted_groups_));
  }
  node.counts = idle_sets_.back();
  idle_sets_.pop_back();
  for (std::size_t group = 0; group < n_numeric_groups_; ++group)
    count_sets_[static_cast<std::size_t>(node.counts)][group].is_known = false;
}

void BinaryGrower::drop_counts(Node& node) {
  if (node.counts >= 0) idle_sets_.push_back(std::exchange(node.counts, -1));
}

// Read the codes of a node's rows in the lane that splits it, one after the other; the first one fills up the last
// vector.
void BinaryGrower::read_lane(const Node& node, std::size_t lane) {
  const std::uint8_t* from = lane_codes(lane, node);
  const auto n = static_cast<std::size_t>(node.size());
  for (std::size_t i = 0; i < n; ++i) split_codes_[i] = from[i * group_lanes];
  std::fill_n(split_codes_.data() + n, group_lanes, *from);
}

void BinaryGrower::partition(const Node& node, Choice& choice, Node& left, Node& right) {
  read_lane(node, choice.lane);
  const auto n = static_cast<std::size_t>(node.size()), n_negative = static_cast<std::size_t>(node.n_negative);
  const std::uint8_t* codes = split_codes_.data();
  std::uint8_t* goes_left = goes_left_.data();
  bool has_missing = true;
  if (is_categorical(choice.lane)) {
    place_categories(node, choice);
    for (std::size_t i = 0; i < n; ++i) goes_left[i] = holds(choice.set, codes[i]);
  } else {
    // Move the threshold half-way between the codes that occur on both sides of it.
    const Neighbours neighbours = kernels().find_neighbours(codes, node.size(), choice.bin);
    choice.bin = neighbours.next == missing_code ? max_value_bins - 1
                                                 : static_cast<std::uint8_t>((neighbours.last + neighbours.next) / 2);
    has_missing = neighbours.has_missing;
    const std::uint8_t shift = choice.missing_left, last_left = static_cast<std::uint8_t>(choice.bin + shift);
    for (std::size_t i = 0; i < n; ++i)
      goes_left[i] = static_cast<std::uint8_t>(codes[i] + shift) <= last_left;  // the shift turns missing into 0
  }
  left.n_negative = std::accumulate(goes_left, goes_left + n_negative, 0);
  left.n_positive = std::accumulate(goes_left + n_negative, goes_left + n, 0);
  left.negative = left.n_negative;
  left.positive = left.n_positive;
  if (has_weights()) {
    left.negative = left.positive = 0;
    for (std::int32_t i = 0; i < node.size(); ++i)
      (i < node.n_negative ? left.negative : left.positive) += goes_left[i] ? row_weight(node, i) : 0;
  }
  right.n_negative = node.n_negative - left.n_negative;
  right.n_positive = node.n_positive - left.n_positive;
  right.negative = node.negative - left.negative;
  right.positive = node.positive - left.positive;
  // If the node has no missing values, let those of new rows go with its heavier part.
  if (!has_missing) choice.missing_left = left.weight() > right.weight();
}

// Rows that go left move to the front of the node, the others behind them, both in their old order, which keeps the
// negatives first on each side. Nobody will look at the rows of a leaf again: those of the other side move to the
// front.
void BinaryGrower::move_rows(const Node& node, Node& left, Node& right) {
  const bool keeps_left = !is_final(left), keeps_right = !is_final(right);
  if (!keeps_left && !keeps_right) return;
  right.begin = keeps_left ? left.begin + left.size() : node.begin;
  for (std::size_t group = 0; group < n_groups_; ++group) {
    std::uint8_t* rows = codes(group, node.begin);
    if (keeps_left && keeps_right)
      move_both(rows, node.size());
    else
      keep_side(rows, node.size(), keeps_left);
  }
  if (!has_weights()) return;
  std::int32_t* to_left = weights_.data() + node.begin;
  std::int32_t* to_right = right_weights_.data();
  for (std::int32_t i = 0; i < node.size(); ++i) {
    const std::int32_t weight = row_weight(node, i);
    *(goes_left_[static_cast<std::size_t>(i)] ? to_left : to_right)++ = weight;
  }
  std::copy(right_weights_.data(), to_right, keeps_left ? to_left : weights_.data() + node.begin);
}

// Without a branch: copy to both sides, then keep one copy. The left one overwrites a row already moved.
void BinaryGrower::move_both(std::uint8_t* rows, std::int32_t n) {
  std::uint8_t* to_left = rows;
  std::uint8_t* to_right = right_rows_.data();
  for (std::int32_t i = 0; i < n; ++i, rows += group_lanes) {
    std::array<std::uint8_t, group_lanes> row;
    std::memcpy(row.data(), rows, group_lanes);
    std::memcpy(to_left, row.data(), group_lanes);
    std::memcpy(to_right, row.data(), group_lanes);
    const std::size_t step = goes_left_[static_cast<std::size_t>(i)] * group_lanes;
    to_left += step;
    to_right += group_lanes - step;
  }
  std::memcpy(to_left, right_rows_.data(), static_cast<std::size_t>(to_right - right_rows_.data()));
}

void BinaryGrower::keep_side(std::uint8_t* rows, std::int32_t n, bool is_left) {
  std::uint8_t* to = rows;
  for (std::int32_t i = 0; i < n; ++i, rows += group_lanes) {
    std::array<std::uint8_t, group_lanes> row;
    std::memcpy(row.data(), rows, group_lanes);
    std::memcpy(to, row.data(), group_lanes);
    to += goes_left_[static_cast<std::size_t>(i)] == is_left ? group_lanes : 0;
  }
}

}  // namespace mpboost
