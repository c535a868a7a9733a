#include "mpboost/gradient_grower.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace mpboost {
namespace {

// 128 MB. Beyond that, leaves do not keep their histograms until they are split: these are then made anew from rows.
constexpr std::size_t max_histogram_words = std::size_t{1} << 24;

// Share 64 bits among the sums of a minipatch. Gradients get what the other two leave: 24 bits at least, with 23 for
// the number of rows and 17 for hessians.
Packing make_packing(std::int64_t n_rows) {
  Packing packing{};
  packing.count_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_rows)));
  const int rest = 64 - packing.count_bits;
  packing.hessian_bits = std::min(28, std::max(rest - 30, rest * 3 / 7));
  return packing;
}

// Rounds numbers to multiples of a unit so that any run of them keeps its sum: what is cut off is added to the next.
class Rounder {
 public:
  explicit Rounder(double unit) : scale_(unit > 0 ? 1 / unit : 0) {}

  std::int64_t round(double value) {
    // A sum with this number is rounded to a whole one, in its low bits; sums have 30 bits at most.
    constexpr double magic = 0x1.8p52;
    sum_ += value * scale_;
    const std::int64_t before = given_;
    given_ = std::bit_cast<std::int64_t>(sum_ + magic) - std::bit_cast<std::int64_t>(magic);
    return given_ - before;
  }

 private:
  double scale_, sum_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace

GradientTree GradientGrower::grow(const BinnedColumns& columns, const GradientPatch& patch, const Stream& stream,
                                  Threads* threads, const std::function<void()>& poll) {
  threads_ = threads;
  n_rows_ = static_cast<std::int32_t>(patch.rows.size());
  lay_out(columns, patch, stream);
  gather(columns, patch);
  pack(patch);
  order_.resize(patch.rows.size());
  right_.resize(patch.rows.size());
  for (std::uint32_t row = 0; row < order_.size(); ++row) order_[row] = row;

  nodes_.clear();
  nodes_.reserve(2 * static_cast<std::size_t>(std::min(limits_.max_leaf_nodes, n_rows_)));  // none moves
  free_slots_.clear();
  n_slots_ = 0;
  Node& root = add_node(0, n_rows_, 0, total());
  open_sets(patch, root);
  if (may_split(root)) {
    root.slot = take_slot();
    add_rows(root);
    choose_split(root);
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
  return finish();
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
        feature.offset =
            static_cast<int>(stream.bits(static_cast<std::uint64_t>(column)) & ((1U << feature.shift) - 1));
        feature.n_bins = ((feature.n_bins - 1 + feature.offset) >> feature.shift) + 1;
        if (patch.monotonic) feature.monotonic = patch.monotonic[column];
      }
      features_.push_back(feature);
    }
    while (features_.size() % lanes) features_.push_back(Feature{.is_categorical = categorical});
  }
  for (std::size_t first = 0; first < features_.size(); first += lanes) {
    Group group{first * static_cast<std::size_t>(n_rows_), slot_size_, 0,
                features_[first].is_categorical,           false,      false};
    for (std::size_t k = first; k < first + lanes; ++k) {
      group.n_bins = std::max(group.n_bins, features_[k].n_bins);
      group.has_missing |= features_[k].has_missing;
      group.has_monotonic |= features_[k].monotonic != 0;
    }
    slot_size_ += static_cast<std::size_t>(group.n_bins + 1) * lanes;
    groups_.push_back(group);
  }
}

// Copy the codes of the minipatch, as bins of this tree, row by row, the features of a group at a time.
void GradientGrower::gather(const BinnedColumns& columns, const GradientPatch& patch) {
  codes_.resize(features_.size() * patch.rows.size());
  for_groups(n_rows_, [&](std::size_t index) {
    const Group& group = groups_[index];
    std::uint8_t bins[lanes][256];
    const std::uint8_t* of_lane[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Feature& feature = features_[index * lanes + lane];
      of_lane[lane] = columns.column(std::max(feature.column, 0));
      // Codes beyond what the column promises go to its last bin: a histogram has no room for others.
      const int last = std::max(feature.n_bins - 1, 0);
      for (int code = 0; code < 256; ++code)
        bins[lane][code] = static_cast<std::uint8_t>(std::min((code + feature.offset) >> feature.shift, last));
      // Missing values have the same bin in all features of a group: the search knows only one.
      if (feature.place >= 0) bins[lane][missing_code] = static_cast<std::uint8_t>(group.n_bins);
    }
    std::uint8_t* codes = codes_.data() + group.codes;
    for (const std::int64_t row : patch.rows) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < lanes; ++lane) codes[lane] = bins[lane][of_lane[lane][row]];
      codes += lanes;
    }
  });
}

void GradientGrower::pack(const GradientPatch& patch) {
  packing_ = make_packing(n_rows_);
  double gradients = 0, hessians = 0;
  for (const double g : patch.gradients) gradients += std::abs(g);
  for (const double h : patch.hessians) hessians += h;
  const int gradient_bits = std::min(30, 64 - packing_.count_bits - packing_.hessian_bits);
  // Units are so large that no sum of any rows outgrows its bits. Rounding changes a gradient by one unit at most, so a
  // sum by n_rows at most: 2^22, half of what the fewest bits hold. Hessians do not become negative, so that no sum
  // exceeds that of all rows, which rounding changes by half a unit. The 2 is for the errors of floating point.
  const auto unit = [](double sum, double largest) {
    return std::isnormal(sum / largest) ? sum / largest : 0.0;  // a unit of 0, or a subnormal one, cannot be divided by
  };
  packing_.gradient_unit = unit(gradients, std::ldexp(1.0, gradient_bits - 1) - 2 - n_rows_);
  packing_.hessian_unit = unit(hessians, std::ldexp(1.0, packing_.hessian_bits) - 2);
  Rounder gradient(packing_.gradient_unit), hessian(packing_.hessian_unit);
  packed_.resize(patch.rows.size());
  for (std::size_t row = 0; row < packed_.size(); ++row) {
    const auto g = static_cast<std::uint64_t>(gradient.round(patch.gradients[row]));
    const auto h = static_cast<std::uint64_t>(hessian.round(patch.hessians[row]));
    packed_[row] = (g << (packing_.hessian_bits + packing_.count_bits)) + (h << packing_.count_bits) + 1;
  }
}

std::uint64_t GradientGrower::total() const {
  return std::accumulate(packed_.begin(), packed_.end(), std::uint64_t{0});
}

GradientGrower::Node& GradientGrower::add_node(std::int32_t begin, std::int32_t end, std::int32_t depth,
                                               std::uint64_t sums) {
  Node& node = nodes_.emplace_back();
  node.begin = begin;
  node.end = end;
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
         node.size() >= 2 * static_cast<std::int64_t>(limits_.min_samples_leaf) &&
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

// Add the rows of a node to its histograms, eight features of a row at a time: additions to one feature, which may have
// to wait for each other, are eight additions apart.
void GradientGrower::add_rows(const Node& node) {
  std::uint64_t* histogram_of_node = histogram(node);
  const std::uint32_t* rows = order_.data() + node.begin;
  const std::int32_t n_rows = node.size();
  for_groups(n_rows, [&](std::size_t index) {
    const Group& group = groups_[index];
    std::uint64_t* sums = histogram_of_node + group.sums;
    std::fill_n(sums, (group.n_bins + 1) * lanes, 0);
    const std::uint8_t* codes = codes_.data() + group.codes;
    for (std::int32_t i = 0; i < n_rows; ++i) {
      const std::uint64_t derivatives = packed_[rows[i]];
      const std::uint8_t* row = codes + std::size_t{rows[i]} * lanes;
#pragma GCC unroll 8
      for (int lane = 0; lane < lanes; ++lane) sums[row[lane] * lanes + lane] += derivatives;
    }
  });
}

void GradientGrower::split(Node& parent, bool goes_on) {
  const std::int32_t feature = parent.choice.feature;
  const std::int32_t middle = partition(parent);
  Node& left = add_node(parent.begin, middle, parent.depth + 1, parent.choice.left);
  Node& right = add_node(middle, parent.end, parent.depth + 1, parent.sums - parent.choice.left);
  parent.left = index_of(left);
  parent.right = index_of(right);
  bound(parent, left, right);
  for (Node* child : {&left, &right}) {
    child->open_sets = parent.open_sets;
    close_sets(*child, feature);
  }
  Node& small = left.size() <= right.size() ? left : right;
  Node& large = &small == &left ? right : left;
  if (!goes_on || !may_split(large)) return give_back(parent);
  small.slot = take_slot();
  add_rows(small);
  large.slot = parent.slot >= 0 ? parent.slot : take_slot();
  if (parent.slot >= 0) {
    parent.slot = -1;
    std::uint64_t* rest = histogram(large);
    const std::uint64_t* taken = histogram(small);
    for (std::size_t i = 0; i < slot_size_; ++i) rest[i] -= taken[i];
  } else {
    add_rows(large);
  }
  for (Node* child : {&small, &large}) {
    if (may_split(*child)) choose_split(*child);
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

std::int32_t GradientGrower::partition(const Node& node) {
  const auto lane = static_cast<std::size_t>(node.choice.feature);
  const std::uint8_t* codes = codes_.data() + groups_[lane / lanes].codes + lane % lanes;
  bool goes_left[256];  // of the bins, and then of missing values: there are no other codes
  const int missing_bin = groups_[lane / lanes].n_bins;
  for (int code = 0; code <= missing_bin; ++code) goes_left[code] = node.choice.sends_left(code, missing_bin);
  std::uint32_t* rows = order_.data();
  std::int32_t n_left = node.begin, n_right = 0;
  for (std::int32_t i = node.begin; i < node.end; ++i) {
    const std::uint32_t row = rows[i];
    const bool is_left = goes_left[codes[std::size_t{row} * lanes]];
    rows[n_left] = row;
    right_[static_cast<std::size_t>(n_right)] = row;
    n_left += is_left;
    n_right += !is_left;
  }
  std::copy_n(right_.begin(), n_right, rows + n_left);
  return n_left;
}

GradientTree GradientGrower::finish() const {
  GradientTree grown;
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
  CategorySet set{};
  for (int code = 0; code < feature.n_bins; ++code)
    if (holds(choice.bins, static_cast<std::uint8_t>(code))) insert(set, static_cast<std::uint8_t>(code));
  if (choice.missing_left) insert(set, missing_code);
  sets.push_back(set);
  return split;
}

}  // namespace mpboost
