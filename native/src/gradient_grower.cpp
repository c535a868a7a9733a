#include "mpboost/gradient_grower.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace mpboost {
namespace {

// 128 MB. Beyond that, leaves do not keep their histograms until they are split: these are then made anew from rows.
constexpr std::size_t max_histogram_words = std::size_t{1} << 24;

// Share 64 bits among the sums of a minipatch. Gradients get what the other two leave: 24 bits at least, with 23 for
// the number of rows and 17 for hessians; 30 bits at most, with at least 6 for the number of rows and 28 for hessians.
Packing make_packing(std::int64_t n_rows) {
  Packing packing{};
  packing.count_bits = std::max(6, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_rows))));
  const int rest = 64 - packing.count_bits;
  packing.hessian_bits = std::min(28, std::max(rest - 30, rest * 3 / 7));
  return packing;
}

// Eight sums side by side need not wait for each other.
double sum_sizes(std::span<const double> numbers) {
  double sums[8]{};
  std::size_t i = 0;
  for (; i + 8 <= numbers.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += std::abs(numbers[i + lane]);
  for (; i < numbers.size(); ++i) sums[i % 8] += std::abs(numbers[i]);
  return std::accumulate(sums, sums + 8, 0.0);
}

bool has_negative(std::span<const double> numbers) {
  std::uint64_t bits = 0;
  for (const double number : numbers) bits |= std::bit_cast<std::uint64_t>(number + 0.0);  // never the negative zero
  return bits >> 63 != 0;
}

// Add rows to the histograms of the first n_lanes features of a group, [bin][lane]. Additions to one feature may have
// to wait for each other: those to the others are in between.
template <int n_lanes>
void add_to_lanes(std::span<const std::uint32_t> rows, const std::uint64_t* packed, const std::uint8_t* bins,
                  std::uint64_t* sums) {
  for (const std::uint32_t row : rows) {
    const std::uint64_t derivatives = packed[row];
    const std::uint8_t* of_row = bins + std::size_t{row} * gradient_lanes;
#pragma GCC unroll 8
    for (int lane = 0; lane < n_lanes; ++lane) sums[of_row[lane] * gradient_lanes + lane] += derivatives;
  }
}

}  // namespace

GradientTree GradientGrower::grow(const BinnedColumns& columns, const GradientPatch& patch, const Stream& stream,
                                  Threads* threads, const std::function<void()>& poll) {
  threads_ = threads;
  n_rows_ = static_cast<std::int32_t>(patch.rows.size());
  const std::uint64_t total = pack(patch);
  lay_out(columns, patch, stream);
  gather(columns, patch);
  leaves_.assign(stride_, 0);
  high_leaves_.assign(std::min(limits_.max_leaf_nodes, n_rows_) > 256 ? stride_ : 0, 0);
  n_leaves_ = 1;
  listed_.resize(stride_ + 16);

  nodes_.clear();
  nodes_.reserve(2 * static_cast<std::size_t>(std::min(limits_.max_leaf_nodes, n_rows_)));  // none moves
  free_slots_.clear();
  n_slots_ = 0;
  Node& root = add_node(0, total);
  open_sets(patch, root);
  if (may_split(root)) {
    root.slot = take_slot();
    add_rows(root, list_rows(root));
    choose_splits(root, nullptr);
  }
  // A heap of the leaves, by what splitting them gains; of equal ones the oldest is on top.
  const auto is_worse = [](const Node* a, const Node* b) {
    return a->choice.gain < b->choice.gain || (a->choice.gain == b->choice.gain && a > b);
  };
  std::vector<Node*> leaves{&root};
  while (std::ssize(leaves) < limits_.max_leaf_nodes && leaves.front()->choice.gain > 0) {
    std::ranges::pop_heap(leaves, is_worse);
    Node& parent = *leaves.back();
    leaves.pop_back();
    split(parent, std::ssize(leaves) + 2 < limits_.max_leaf_nodes);
    for (const std::int32_t child : {parent.left, parent.right}) {
      leaves.push_back(&nodes_[static_cast<std::size_t>(child)]);
      std::ranges::push_heap(leaves, is_worse);
    }
    if (poll) poll();
  }
  return finish(patch.weights);
}

void GradientGrower::lay_out(const BinnedColumns& columns, const GradientPatch& patch, const Stream& stream) {
  features_.clear();
  groups_.clear();
  slot_size_ = 0;
  for (const bool categorical : {false, true}) {
    for (std::size_t place = 0; place < patch.features.size(); ++place) {
      const std::int64_t column = patch.features[place];
      if ((patch.is_categorical && patch.is_categorical[column]) != categorical) continue;
      Feature feature;
      feature.place = static_cast<std::int32_t>(place);
      feature.column = static_cast<std::int32_t>(column);
      feature.is_categorical = categorical;
      feature.has_missing = columns.has_missing(column);
      feature.n_bins = columns.n_bins(column);
      if (!categorical) {
        while (((feature.n_bins - 1) >> feature.shift) + 1 > limits_.max_bins) ++feature.shift;
        const std::int64_t number = patch.numbers.empty() ? column : patch.numbers[place];
        feature.offset =
            static_cast<int>(stream.bits(static_cast<std::uint64_t>(number)) & ((1U << feature.shift) - 1));
        feature.n_bins = ((feature.n_bins - 1 + feature.offset) >> feature.shift) + 1;
        if (patch.monotonic) feature.monotonic = patch.monotonic[column];
      }
      features_.push_back(feature);
    }
    while (features_.size() % lanes) features_.push_back(Feature{.is_categorical = categorical});
  }
  for (std::size_t first = 0; first < features_.size(); first += lanes) {
    Group group{slot_size_, 0, 0, features_[first].is_categorical, false, false};
    for (std::size_t k = first; k < first + lanes; ++k) {
      group.n_features += features_[k].place >= 0;
      group.n_bins = std::max(group.n_bins, features_[k].n_bins);
      group.has_missing |= features_[k].has_missing;
      group.has_monotonic |= features_[k].monotonic != 0;
    }
    slot_size_ += static_cast<std::size_t>(group.n_bins + 1) * lanes;
    groups_.push_back(group);
  }
}

// Copy the codes of the minipatch, as bins of this tree: column by column, to tell rows on both sides of a split apart,
// and row by row, to add them up.
void GradientGrower::gather(const BinnedColumns& columns, const GradientPatch& patch) {
  constexpr std::size_t n_together = 4;  // columns that are read side by side, with a pointer for each
  stride_ = (patch.rows.size() + 63) / 64 * 64;
  bins_.resize(features_.size() * stride_);
  row_bins_.resize(bins_.size());
  for_groups(n_rows_, [&](std::size_t index) {
    const std::size_t stride = stride_;
    std::uint8_t* bins = bins_.data() + index * lanes * stride;
    for (std::size_t lane = 0; lane < lanes; lane += n_together) {
      const Feature* features = &features_[index * lanes + lane];
      const std::uint8_t* from[n_together];
      for (std::size_t k = 0; k < n_together; ++k) from[k] = columns.column(std::max(features[k].column, 0));
      std::uint8_t* to = bins + lane * stride;
      for (const std::int64_t row : patch.rows) {
        std::uint8_t codes[n_together];  // all are read before one is written, which might be a part of anything
        for (std::size_t k = 0; k < n_together; ++k) codes[k] = from[k][row];
        for (std::size_t k = 0; k < n_together; ++k) to[k * stride] = codes[k];
        ++to;
      }
      // Codes beyond what the column promises go to its last bin: a histogram has no room for others.
      for (std::size_t k = 0; k < n_together; ++k)
        kernels().merge_bins(bins + (lane + k) * stride, n_rows_, features[k].shift, features[k].offset,
                             std::max(features[k].n_bins - 1, 0));
    }
    // Missing values have the same bin in all features of a group: the search knows only one.
    kernels().interleave_bins(bins, static_cast<std::int64_t>(stride_), n_rows_, groups_[index].n_bins,
                              row_bins_.data() + index * lanes * stride_);
  });
}

// Round the derivatives of all rows and return their sums.
std::uint64_t GradientGrower::pack(const GradientPatch& patch) {
  const double gradients = sum_sizes(patch.gradients), hessians = sum_sizes(patch.hessians);
  if (!std::isfinite(gradients + hessians)) throw std::invalid_argument("gradients and hessians must be finite");
  if (has_negative(patch.hessians)) throw std::invalid_argument("hessians must not be negative");
  packing_ = make_packing(n_rows_);
  const int gradient_bits = 64 - packing_.count_bits - packing_.hessian_bits;
  // Units are so large that no sum of any rows outgrows its bits. Rounding changes a gradient by one unit at most, so a
  // sum by n_rows at most: 2^22, half of what the fewest bits hold. Hessians do not become negative, so that no sum
  // exceeds that of all rows, which rounding changes by half a unit for each chain. The 2 is for the errors of floating
  // point.
  const auto unit = [](double sum, double largest) {
    return std::isnormal(sum / largest) ? sum / largest : 0.0;  // a unit of 0, or a subnormal one, cannot be divided by
  };
  packing_.gradient_unit = unit(gradients, std::ldexp(1.0, gradient_bits - 1) - 2 - n_rows_);
  packing_.hessian_unit = unit(hessians, std::ldexp(1.0, packing_.hessian_bits) - 2 - rounding_chains / 2);
  packed_.resize(patch.rows.size());
  const auto inverse = [](double of) { return of > 0 ? 1 / of : 0.0; };
  return kernels().pack_derivatives({.n_rows = n_rows_,
                                     .gradients = patch.gradients.data(),
                                     .hessians = patch.hessians.data(),
                                     .per_gradient = inverse(packing_.gradient_unit),
                                     .per_hessian = inverse(packing_.hessian_unit),
                                     .count_bits = packing_.count_bits,
                                     .hessian_bits = packing_.hessian_bits},
                                    packed_.data());
}

GradientGrower::Node& GradientGrower::add_node(std::int32_t depth, std::uint64_t sums) {
  Node& node = nodes_.emplace_back();
  node.size = static_cast<std::int32_t>(packing_.count(sums));
  node.depth = depth;
  node.sums = sums;
  node.value = value_of(sums);
  return node;
}

void GradientGrower::open_sets(const GradientPatch& patch, Node& root) {
  sets_of_.clear();
  if (patch.interaction_offsets.size() < 2) return;
  const std::size_t n_sets = patch.interaction_offsets.size() - 1;
  root.open_sets.assign((n_sets + 63) / 64, ~std::uint64_t{0});
  sets_of_.resize(features_.size());
  for (std::size_t k = 0; k < features_.size(); ++k) {
    for (std::size_t set = 0; set < n_sets; ++set) {
      const auto first = patch.interaction_members.begin() + patch.interaction_offsets[set];
      const auto last = patch.interaction_members.begin() + patch.interaction_offsets[set + 1];
      if (std::find(first, last, features_[k].column) != last) sets_of_[k].push_back(static_cast<std::int32_t>(set));
    }
  }
}

bool GradientGrower::may_use(const Node& node, std::int32_t feature) const {
  if (features_[static_cast<std::size_t>(feature)].place < 0) return false;
  if (sets_of_.empty()) return true;
  return std::ranges::any_of(sets_of_[static_cast<std::size_t>(feature)], [&](std::int32_t set) {
    return node.open_sets[static_cast<std::size_t>(set / 64)] >> (set % 64) & 1;
  });
}

void GradientGrower::close_sets(Node& node, std::int32_t feature) const {
  if (sets_of_.empty()) return;
  std::vector<std::uint64_t> having(node.open_sets.size());
  for (const std::int32_t set : sets_of_[static_cast<std::size_t>(feature)])
    having[static_cast<std::size_t>(set / 64)] |= std::uint64_t{1} << set % 64;
  for (std::size_t word = 0; word < having.size(); ++word) node.open_sets[word] &= having[word];
}

bool GradientGrower::may_split(const Node& node) const {
  return packing_.gradient_unit > 0 && packing_.hessian_unit > 0 &&
         node.size >= 2 * static_cast<std::int64_t>(limits_.min_samples_leaf) &&
         (limits_.max_depth == 0 || node.depth < limits_.max_depth);
}

std::int32_t GradientGrower::take_slot() {
  if (free_slots_.empty()) {
    const std::size_t needed = static_cast<std::size_t>(n_slots_ + 1) * slot_size_;
    if (sums_.size() < needed) sums_.resize(std::max(needed, 2 * sums_.size()));
    return n_slots_++;
  }
  const std::int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void GradientGrower::give_back(Node& node) {
  if (node.slot >= 0) free_slots_.push_back(node.slot);
  node.slot = -1;
}

// Add the rows of a node to its histograms.
void GradientGrower::add_rows(Node& node, Rows rows) {
  std::uint64_t* histogram_of_node = histogram(node);
  for_groups(std::ssize(rows), [&](std::size_t index) {
    const Group& group = groups_[index];
    std::uint64_t* sums = histogram_of_node + group.sums;
    std::fill_n(sums, (group.n_bins + 1) * lanes, 0);
    constexpr auto add = std::array{add_to_lanes<2>, add_to_lanes<4>, add_to_lanes<6>, add_to_lanes<8>};
    add[static_cast<std::size_t>(group.n_features - 1) / 2](rows, packed_.data(),
                                                            row_bins_.data() + index * lanes * stride_, sums);
  });
  if (!groups_.back().is_categorical) return;
  for (const std::uint32_t row : rows) {
    const auto g = static_cast<double>(packing_.gradient(packed_[row]));
    const auto h = static_cast<double>(packing_.hessian(packed_[row]));
    node.products.gradients += g * g;
    node.products.mixed += g * h;
    node.products.hessians += h * h;
  }
}

void GradientGrower::split(Node& parent, bool goes_on) {
  Node& left = add_node(parent.depth + 1, parent.choice.left);
  Node& right = add_node(parent.depth + 1, parent.sums - parent.choice.left);
  parent.left = index_of(left);
  parent.right = index_of(right);
  bound(parent, left, right);
  for (Node* child : {&left, &right}) {
    child->open_sets = parent.open_sets;
    close_sets(*child, parent.choice.feature);
  }
  Node& small = left.size <= right.size ? left : right;
  Node& large = &small == &left ? right : left;
  large.leaf = parent.leaf;
  small.leaf = n_leaves_++;
  const auto move_small = [&] { return move_rows(parent.choice, &small == &left, parent.leaf, small.leaf); };
  if (!goes_on || !may_split(large)) {
    move_small();  // for the covers
    return give_back(parent);
  }
  if (parent.slot < 0) {
    parent.slot = take_slot();
    parent.products = {};
    add_rows(parent, list_rows(parent));
  }
  small.slot = take_slot();
  add_rows(small, move_small());
  large.slot = std::exchange(parent.slot, -1);
  large.products = {std::max(0.0, parent.products.gradients - small.products.gradients),
                    parent.products.mixed - small.products.mixed,
                    std::max(0.0, parent.products.hessians - small.products.hessians)};
  choose_splits(large, &small);
  for (Node* child : {&small, &large}) {
    const bool is_full = static_cast<std::size_t>(n_slots_) * slot_size_ > max_histogram_words;
    if (is_full || child->choice.gain <= 0) give_back(*child);
  }
}

// Set the bounds of both children: a split by a monotonic feature keeps them on either side of the middle of their
// values.
void GradientGrower::bound(const Node& parent, Node& left, Node& right) const {
  for (Node* child : {&left, &right}) {
    child->lowest = parent.lowest;
    child->highest = parent.highest;
    child->value = std::clamp(child->value, child->lowest, child->highest);
  }
  const std::int8_t direction = features_[static_cast<std::size_t>(parent.choice.feature)].monotonic;
  if (direction == 0) return;
  const double middle = std::midpoint(left.value, right.value);
  (direction > 0 ? left : right).highest = middle;
  (direction > 0 ? right : left).lowest = middle;
}

GradientGrower::Rows GradientGrower::list_rows(const Node& node) {
  const Choice all_left{.feature = 0, .bin = max_value_bins - 1, .missing_left = true};
  return move_rows(all_left, true, node.leaf, node.leaf);
}

// Give the rows of a leaf that are on one side of a split the number of another leaf, and list them.
GradientGrower::Rows GradientGrower::move_rows(const Choice& choice, bool left_moves, std::int32_t from,
                                               std::int32_t to) {
  const std::int64_t n = kernels().move_rows({.n_rows = n_rows_,
                                              .leaves = leaves_.data(),
                                              .high_leaves = high_leaves_.empty() ? nullptr : high_leaves_.data(),
                                              .from = from,
                                              .to = to,
                                              .bins = bins_.data() + static_cast<std::size_t>(choice.feature) * stride_,
                                              .shift = choice.missing_left,
                                              .last_left = static_cast<std::uint8_t>(choice.bin + choice.missing_left),
                                              .set = choice.is_set ? choice.bins.data() : nullptr,
                                              .left_moves = left_moves,
                                              .moved = listed_.data()});
  return {listed_.data(), static_cast<std::size_t>(n)};
}

// The weight of the rows in each leaf, by the number that its rows have.
std::vector<double> GradientGrower::sum_covers(std::span<const double> weights) const {
  std::vector<double> covers(static_cast<std::size_t>(n_leaves_));
  for (std::size_t row = 0; row < static_cast<std::size_t>(n_rows_); ++row) {
    const std::size_t leaf = leaves_[row] | (high_leaves_.empty() ? 0U : std::size_t{high_leaves_[row]} << 8);
    covers[leaf] += weights.empty() ? 1.0 : weights[row];
  }
  return covers;
}

GradientTree GradientGrower::finish(std::span<const double> weights) const {
  GradientTree grown;
  const std::vector<double> covers = sum_covers(weights);
  struct Place {
    const Node* node;
    std::int32_t parent;
    bool is_left;
  };
  std::vector<Place> pending{{nodes_.data(), -1, false}};
  while (!pending.empty()) {
    const auto [node, parent, is_left] = pending.back();
    pending.pop_back();
    const bool is_leaf = node->left < 0;
    const auto index = static_cast<std::int32_t>(is_leaf ? ~grown.tree.leaf_values.size() : grown.tree.splits.size());
    if (parent >= 0)
      (is_left ? grown.tree.splits[static_cast<std::size_t>(parent)].left
               : grown.tree.splits[static_cast<std::size_t>(parent)].right) = index;
    if (is_leaf) {
      grown.tree.leaf_values.push_back(node->value);
      grown.tree.leaf_covers.push_back(to_cover(covers[static_cast<std::size_t>(node->leaf)]));
      continue;
    }
    grown.tree.splits.push_back(make_split(*node, grown.tree.category_sets));
    grown.split_values.push_back(node->value);
    grown.gains.push_back(node->choice.gain);
    pending.push_back({&nodes_[static_cast<std::size_t>(node->right)], index, false});
    pending.push_back({&nodes_[static_cast<std::size_t>(node->left)], index, true});
  }
  return grown;
}

// The split in terms of the columns' codes.
Split GradientGrower::make_split(const Node& node, std::vector<CategorySet>& sets) const {
  const Choice& choice = node.choice;
  const auto lane = static_cast<std::size_t>(choice.feature);
  const Feature& feature = features_[lane];
  Split split{.feature = feature.column,
              .left = 0,
              .right = 0,
              .categories = -1,
              .bin = 0,
              .missing_left = choice.missing_left,
              .reserved = 0};
  if (!feature.is_categorical) {
    const int last_left = ((choice.bin + 1) << feature.shift) - 1 - feature.offset;
    split.bin = static_cast<std::uint8_t>(std::min(last_left, max_value_bins - 1));
    return split;
  }
  split.categories = static_cast<std::int32_t>(sets.size());
  sets.push_back(choice.bins);
  return split;
}

}  // namespace mpboost
