#include "mpboost/importance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

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

// Rows are moved from node to node: the fewer bytes they have, the better.
template <class Label>
struct SeenRow {
  std::int64_t row;
  double weight;
  Label label;
};

template <>
struct SeenRow<std::int8_t> {
  SeenRow() = default;
  SeenRow(std::int64_t its_row, double weight, std::int8_t label) : row(its_row), product(weight * label) {}
  std::int64_t row;
  double product;  // of weight and label, which is its sign
};

template <class Label>
struct UnseenRow {
  std::int64_t row;
  Label label;
};

template <>
struct UnseenRow<std::int8_t> {
  UnseenRow() = default;
  UnseenRow(std::int64_t its_row, std::int8_t its_label)
      : row(its_row & ((std::int64_t{1} << 55) - 1)), label(its_label) {}
  std::int64_t row : 56;
  std::int64_t label : 8;
};

// Rows of a node, or of one side of its split. Of the minipatch there are none where the sides of splits are known.
template <class Label>
struct Part {
  std::span<SeenRow<Label>> seen;
  std::span<UnseenRow<Label>> unseen;
};

// A sum of gains and losses. Where they cancel, rounding leaves a rest, which must count as nothing: it could be the
// only credit of a tree. The rest is at most 1e-16 times the sizes for each addition; 1e-12 is well above that of
// thousands.
class Credit {
 public:
  // Takes a sum of gains, and of their sizes.
  void add(double sum, double size) { sum_ += sum, size_ += size; }
  double value() const { return std::abs(sum_) > 1e-12 * size_ ? sum_ : 0.0; }

 private:
  double sum_ = 0, size_ = 0;
};

// Scale labels whose fourth powers, the squares of credits, would vanish or overflow. Credits are compared with one
// another, so any unit will do.
void make_squarable(const Part<double>& all) {
  double largest = 0;
  for (const auto& seen : all.seen) largest = std::max(largest, std::abs(seen.label));
  for (const auto& unseen : all.unseen) largest = std::max(largest, std::abs(unseen.label));
  if (largest == 0 || (largest >= 0x1p-100 && largest <= 0x1p100)) return;
  const double unit = std::ldexp(1.0, std::min(1000, -std::ilogb(largest)));
  for (auto& seen : all.seen) seen.label *= unit;
  for (auto& unseen : all.unseen) unseen.label *= unit;
}

// What share of a node's rows goes left: the node's prediction is the mean of its sides by this share.
struct Shares {
  double left;
  double mean(double of_left, double of_right) const { return left * of_left + (1 - left) * of_right; }
};

// What a split gains on unseen rows (kept), and would gain if their labels were as its sides say (promised).
struct Gain {
  double promised = 0, kept = 0;
};

// Count the rows of the minipatch in a node; 0 if they are all on one side, so that they are not split.
template <class Label>
std::size_t count_split_rows(const Part<Label>& left, const Part<Label>& right) {
  return left.seen.empty() || right.seen.empty() ? 0 : left.seen.size() + right.seen.size();
}

// Moves of means: of labels -1 and +1, or of numbers.
template <class Label>
class MeanMoves {
 public:
  MeanMoves(const Part<Label>& all, std::span<const SplitSides> sides) : sides_(sides) {
    if constexpr (std::is_same_v<Label, double>) {
      const auto [total, weight] = sum(all);
      origin_ = total / weight;
    }
  }

  std::size_t count_rows(std::size_t split, const Part<Label>& left, const Part<Label>& right) const {
    if (sides_.empty()) return count_split_rows(left, right);
    return static_cast<std::size_t>(sides_[split].left.n_rows + sides_[split].right.n_rows);
  }

  Gain move(std::size_t split, const Part<Label>& left, const Part<Label>& right, const Shares* shares,
            Credit& credit) const {
    const auto [left_sum, left_weight] = sides_.empty() ? sum(left) : known(sides_[split].left);
    const auto [right_sum, right_weight] = sides_.empty() ? sum(right) : known(sides_[split].right);
    const double mean = shares ? shares->mean(left_sum / left_weight, right_sum / right_weight)
                               : (left_sum + right_sum) / (left_weight + right_weight);
    const Gain of_left = move(left, mean, left_sum / left_weight, credit);
    const Gain of_right = move(right, mean, right_sum / right_weight, credit);
    return {of_left.promised + of_right.promised, of_left.kept + of_right.kept};
  }

 private:
  static std::pair<double, double> known(const SplitSides::Side& side) { return {side.sum, side.n_rows}; }

  static std::pair<double, double> sum(const Part<Label>& part) {
    if constexpr (std::is_same_v<Label, double>) {
      double sum = 0, weight = 0;
      for (const auto& seen : part.seen) sum += seen.weight * seen.label, weight += seen.weight;
      return {sum, weight};
    } else {
      double sums[4]{}, weights[4]{};  // four side by side, which need not wait for each other
      for (std::size_t i = 0; i < part.seen.size(); ++i) {
        sums[i % 4] += part.seen[i].product;
        weights[i % 4] += std::abs(part.seen[i].product);
      }
      return {(sums[0] + sums[1]) + (sums[2] + sums[3]), (weights[0] + weights[1]) + (weights[2] + weights[3])};
    }
  }

  Gain move(const Part<Label>& part, double from, double to, Credit& credit) const {
    double sum = 0, size = 0;
    if constexpr (std::is_same_v<Label, double>) {
      for (const auto& unseen : part.unseen) sum += unseen.label - origin_, size += std::abs(unseen.label - origin_);
    } else {
      std::int64_t total = 0;  // whole numbers need not wait for each other
      for (const auto& unseen : part.unseen) total += unseen.label;
      sum = static_cast<double>(total);
      size = static_cast<double>(part.unseen.size());
    }
    credit.add((to - from) * sum, std::abs(to - from) * size);
    return {(to - from) * (to - origin_) * static_cast<double>(part.unseen.size()), (to - from) * sum};
  }

  std::span<const SplitSides> sides_;
  double origin_ = 0;  // of numbers: their mean, which is known without any split
};

// Moves of the shares of classes. Counts are zero between calls: clearing those of a node's rows is cheaper than
// clearing all.
class ShareMoves {
 public:
  using Rows = Part<std::uint16_t>;

  ShareMoves(const Rows& all, std::span<const SplitSides>) {
    std::uint16_t last = 0;
    for (const auto& seen : all.seen) last = std::max(last, seen.label);
    for (const auto& unseen : all.unseen) last = std::max(last, unseen.label);
    for (auto& counts : counts_) counts.resize(std::size_t{last} + 1);
  }

  static std::size_t count_rows(std::size_t, const Rows& left, const Rows& right) {
    return count_split_rows(left, right);
  }

  Gain move(std::size_t, const Rows& left, const Rows& right, const Shares* shares, Credit& credit) {
    const double weights[] = {count(left, counts_[0]), count(right, counts_[1])};
    const double parts[] = {1 / weights[0], 1 / weights[1]}, whole = 1 / (weights[0] + weights[1]);
    Gain total;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Rows& part = side == 0 ? left : right;
      const auto gain_of = [&](std::uint16_t label) {
        const double counts[] = {counts_[0][label], counts_[1][label]};
        const double before =
            shares ? shares->mean(counts[0] * parts[0], counts[1] * parts[1]) : (counts[0] + counts[1]) * whole;
        return counts[side] * parts[side] - before;
      };
      for (const auto& unseen : part.unseen) {
        const double gain = gain_of(unseen.label);
        credit.add(gain, std::abs(gain));
        total.kept += gain;
      }
      double promised = 0;
      for (const auto& seen : part.seen) promised += seen.weight * gain_of(seen.label);
      total.promised += promised * parts[side] * static_cast<double>(part.unseen.size());
    }
    for (const auto& seen : left.seen) counts_[0][seen.label] = 0;
    for (const auto& seen : right.seen) counts_[1][seen.label] = 0;
    return total;
  }

 private:
  static double count(const Rows& part, std::vector<double>& counts) {
    double weight = 0;
    for (const auto& seen : part.seen) counts[seen.label] += seen.weight, weight += seen.weight;
    return weight;
  }

  std::vector<double> counts_[2];
};

// Sends the rows of a minipatch, and rows that the tree never saw, down a tree and credits the features of its splits.
template <class Label>
class Descent {
 public:
  using Moves = std::conditional_t<std::is_same_v<Label, std::uint16_t>, ShareMoves, MeanMoves<Label>>;

  Descent(TreeView tree, const BinnedColumns& columns)
      : tree_(tree), columns_(columns), credits_(static_cast<std::size_t>(columns.n_columns())) {}

  void run(const Part<Label>& all, std::span<const SplitSides> sides) {
    seen_scratch_.resize(all.seen.size());
    unseen_scratch_.resize(all.unseen.size());
    Moves moves(all, sides);
    std::vector<std::pair<std::int32_t, Part<Label>>> open{{0, all}};  // no recursion: trees may be very deep
    while (!open.empty()) {
      const auto [node, part] = open.back();
      open.pop_back();
      if (node < 0 || part.unseen.empty()) continue;
      const auto number = static_cast<std::size_t>(node);
      const Split& split = tree_.splits[number];
      const std::size_t n_seen = sort_by(split, part.seen, seen_scratch_);
      const std::size_t n_unseen = sort_by(split, part.unseen, unseen_scratch_);
      const Part<Label> left{part.seen.first(n_seen), part.unseen.first(n_unseen)};
      const Part<Label> right{part.seen.subspan(n_seen), part.unseen.subspan(n_unseen)};
      const std::size_t n_rows = moves.count_rows(number, left, right);
      if (n_rows == 0) continue;
      // Rows whose category the node never saw, or that lack a value where it saw none missing, go with the heavier
      // side, which is the purer one more often than not: beside what the node's own rows have on average, any split
      // would sharpen what unseen rows are told. So the node says what its sides say to the unseen rows on average.
      const bool may_be_new = split.categories >= 0 || columns_.has_missing(split.feature);
      const Shares shares{static_cast<double>(n_unseen) / static_cast<double>(part.unseen.size())};
      Credit& credit = credits_[static_cast<std::size_t>(split.feature)];
      const Gain gain = moves.move(number, left, right, may_be_new ? &shares : nullptr, credit);
      SizeGains& gains = gains_[static_cast<std::size_t>(std::bit_width(n_rows)) - 1];
      gains.promised += gain.promised;
      gains.kept += gain.kept;
      gains.squares += gain.kept * gain.kept;
      open.emplace_back(split.right, right);
      open.emplace_back(split.left, left);
    }
  }

  const auto& gains() const { return gains_; }
  double credit(std::int64_t feature) const { return credits_[static_cast<std::size_t>(feature)].value(); }

 private:
  // Rows that go left to the front, in their order; returns how many. Without branches, which could
  // not be predicted.
  template <class Row>
  std::size_t sort_by(const Split& split, std::span<Row> rows, std::vector<Row>& scratch) const {
    if (split.categories >= 0) {
      const CategorySet& set = tree_.category_sets[static_cast<std::size_t>(split.categories)];
      return sort_rows(split, rows, scratch, [&](std::uint8_t code) { return holds(set, code); });
    }
    const std::uint8_t shift = split.missing_left, last_left = static_cast<std::uint8_t>(split.bin + shift);
    return sort_rows(split, rows, scratch, [=](std::uint8_t code) {
      return static_cast<std::uint8_t>(code + shift) <= last_left;  // the shift turns missing into 0
    });
  }

  template <class Row, class GoesLeft>
  std::size_t sort_rows(const Split& split, std::span<Row> rows, std::vector<Row>& scratch, GoesLeft goes_left) const {
    const std::uint8_t* codes = columns_.column(split.feature);
    Row *left = rows.data(), *right = scratch.data();
    for (const Row row : rows) {
      const bool is_left = goes_left(codes[row.row]);
      *left = *right = row;
      left += is_left;
      right += !is_left;
    }
    std::copy(scratch.data(), right, left);
    return static_cast<std::size_t>(left - rows.data());
  }

  TreeView tree_;
  const BinnedColumns& columns_;
  std::vector<Credit> credits_;
  decltype(UnseenCredits::gains) gains_{};  // by the size of the node
  std::vector<SeenRow<Label>> seen_scratch_;
  std::vector<UnseenRow<Label>> unseen_scratch_;
};

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
    const bool is_used =
        std::ranges::any_of(tree.splits, [&](const Split& s) { return s.feature == patch.features[k]; });
    if (is_used) losses[k] = (right - sum_right(patch.features[k])) / total;
  }
  return losses;
}

template <class Label>
UnseenCredits unseen_importances(TreeView tree, const BinnedColumns& columns, const Minipatch<Label>& patch,
                                 std::span<const std::int64_t> unseen_rows, std::span<const SplitSides> sides) {
  if (!std::is_same_v<Label, std::int8_t> || !patch.weights.empty()) sides = {};
  std::vector<SeenRow<Label>> seen;
  std::vector<UnseenRow<Label>> unseen;
  const std::size_t n_seen = sides.empty() ? patch.rows.size() : 0;
  seen.reserve(n_seen);
  unseen.reserve(unseen_rows.size());
  for (std::size_t i = 0; i < n_seen; ++i)
    seen.push_back({patch.rows[i], patch.weights.empty() ? 1.0 : patch.weights[i], patch.labels[patch.rows[i]]});
  for (const std::int64_t row : unseen_rows) unseen.push_back({row, patch.labels[row]});
  if constexpr (std::is_same_v<Label, double>) make_squarable({seen, unseen});
  Descent<Label> descent(tree, columns);
  if (!tree.splits.empty()) descent.run({seen, unseen}, sides);
  UnseenCredits credits{std::vector<double>(patch.features.size()), descent.gains()};
  std::ranges::transform(patch.features, credits.importances.begin(),
                         [&](std::int64_t feature) { return descent.credit(feature); });
  return credits;
}

template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<std::int8_t>&,
                                                     const Stream&);
template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<std::uint16_t>&,
                                                     const Stream&);
template std::vector<double> permutation_importances(TreeView, const BinnedColumns&, const Minipatch<double>&,
                                                     const Stream&);
template UnseenCredits unseen_importances(TreeView, const BinnedColumns&, const Minipatch<std::int8_t>&,
                                          std::span<const std::int64_t>, std::span<const SplitSides>);
template UnseenCredits unseen_importances(TreeView, const BinnedColumns&, const Minipatch<std::uint16_t>&,
                                          std::span<const std::int64_t>, std::span<const SplitSides>);
template UnseenCredits unseen_importances(TreeView, const BinnedColumns&, const Minipatch<double>&,
                                          std::span<const std::int64_t>, std::span<const SplitSides>);

}  // namespace mpboost
