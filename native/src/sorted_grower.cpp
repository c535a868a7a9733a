#include "mpboost/sorted_grower.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

namespace mpboost {

template <class Criterion>
GrownTree SortedGrower<Criterion>::grow(const BinnedColumns& columns, const Minipatch<Label>& patch,
                                        std::int32_t min_samples_split, const std::function<void()>& poll) {
  min_samples_split_ = min_samples_split;
  criterion_.read(patch);
  lay_out(columns, patch);
  GrownTree grown;
  grown.importances.assign(patch.features.size(), 0.0);
  auto& [splits, leaf_values, category_sets, n_outputs, leaf_covers] = grown.tree;

  pending_.assign(1, make_root());
  pending_varies_.assign(features_.size(), true);
  while (!pending_.empty()) {
    const Node node = pending_.back();
    pending_.pop_back();
    varies_.assign(pending_varies_.end() - static_cast<std::ptrdiff_t>(features_.size()), pending_varies_.end());
    pending_varies_.resize(pending_varies_.size() - features_.size());
    if (poll && node.size() >= polled_rows) poll();
    criterion_.open(rows(node, node.list));
    Choice choice;
    const bool is_split = !node.is_final && choose_split(node, choice);
    const auto index = static_cast<std::int32_t>(is_split ? splits.size() : ~leaf_values.size());
    if (node.parent >= 0) {
      Split& parent = splits[static_cast<std::size_t>(node.parent)];
      (node.is_left ? parent.left : parent.right) = index;
    }
    if (!is_split) {
      leaf_values.push_back(criterion_.leaf_value(rows(node, node.list)));
      double cover = patch.weights.empty() ? node.size() : 0;
      if (!patch.weights.empty())
        for (const Entry entry : rows(node, node.list)) cover += patch.weights[place_of(entry)];
      leaf_covers.push_back(to_cover(cover));
      continue;
    }
    settle(node, choice);
    const std::size_t place = features_[choice.list];
    const std::int32_t categories = choice.is_set ? static_cast<std::int32_t>(category_sets.size()) : -1;
    if (choice.is_set) category_sets.push_back(choice.set);
    splits.push_back(
        {static_cast<std::int32_t>(patch.features[place]), 0, 0, categories, choice.bin, choice.missing_left, 0});
    grown.importances[place] += std::max(0.0, criterion_.gain(choice.score));
    Node left{node.begin, 0, node.depth + 1, index, true, choice.list, false};
    Node right{0, node.end, node.depth + 1, index, false, choice.list, false};
    partition(node, choice, left, right);
    for (const Node& child : {right, left}) {  // left is taken first: preorder
      pending_.push_back(child);
      pending_varies_.insert(pending_varies_.end(), varies_.begin(), varies_.end());
    }
  }
  const double total = std::accumulate(grown.importances.begin(), grown.importances.end(), 0.0);
  if (total > 0)
    for (double& importance : grown.importances) importance /= total;
  return grown;
}

// Sort the rows by each feature, by counting.
template <class Criterion>
void SortedGrower<Criterion>::lay_out(const BinnedColumns& columns, const Minipatch<Label>& patch) {
  n_rows_ = patch.rows.size();
  const auto is_categorical = [&](std::size_t place) {
    return patch.is_categorical && patch.is_categorical[patch.features[place]];
  };
  features_.resize(patch.features.size());
  const auto places = std::views::iota(std::size_t{0}, features_.size());
  const auto categorical = std::ranges::remove_copy_if(places, features_.begin(), is_categorical).out;
  std::ranges::copy_if(places, categorical, is_categorical);
  n_numeric_ = static_cast<std::size_t>(categorical - features_.begin());

  goes_left_.resize(n_rows_);
  right_rows_.resize(n_rows_ + 1);
  entries_.resize(features_.size() * n_rows_);
  for (std::size_t list = 0; list < features_.size(); ++list) {
    const std::uint8_t* column = columns.column(patch.features[features_[list]]);
    std::array<std::uint32_t, 257> starts{};
    for (const std::int64_t row : patch.rows) ++starts[column[row] + 1u];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    Entry* sorted = entries_.data() + list * n_rows_;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      const std::uint8_t code = column[patch.rows[i]];
      sorted[starts[code]++] = static_cast<Entry>(code) << place_bits | static_cast<Entry>(i);
    }
  }
}

template <class Criterion>
SortedGrower<Criterion>::Node SortedGrower<Criterion>::make_root() const {
  Node root{0, static_cast<std::int32_t>(n_rows_), 0, -1, false, 0, false};
  root.is_final = is_final(root);
  return root;
}

template <class Criterion>
bool SortedGrower<Criterion>::is_final(const Node& node) const {
  return (limits_.max_depth > 0 && node.depth >= limits_.max_depth) || node.size() < min_samples_split_ ||
         node.size() / 2 < limits_.min_samples_leaf || criterion_.is_pure(rows(node, node.list));
}

template <class Criterion>
bool SortedGrower<Criterion>::choose_split(const Node& node, Choice& choice) {
  choice.score = -std::numeric_limits<double>::infinity();
  for (std::size_t list = 0; list < features_.size(); ++list) {
    if (!varies_[list]) continue;
    const auto entries = rows(node, list);
    if (code_of(entries.front()) == code_of(entries.back())) {
      varies_[list] = false;  // below this node, too: the list need not be kept in order there
      continue;
    }
    criterion_.has_weights() ? search<true>(node, list, choice) : search<false>(node, list, choice);
  }
  return choice.score > -std::numeric_limits<double>::infinity();
}

template <class Criterion>
template <bool has_weights>
void SortedGrower<Criterion>::search(const Node& node, std::size_t list, Choice& choice) {
  const auto entries = rows(node, list);
  const bool is_set = list >= n_numeric_;
  if (code_of(entries.back()) == missing_code) {
    const auto missing = std::ranges::lower_bound(entries, Entry{missing_code} << place_bits);
    const auto n_values = static_cast<std::int32_t>(missing - entries.begin());
    using Side = Criterion::template Side<has_weights, true>;
    is_set ? search_categories<Side>(node, list, n_values, choice) : search_values<Side>(node, list, n_values, choice);
  } else {
    using Side = Criterion::template Side<has_weights, false>;
    is_set ? search_categories<Side>(node, list, node.size(), choice)
           : search_values<Side>(node, list, node.size(), choice);
  }
}

// Try all thresholds of a numeric feature, from the lowest to the highest.
template <class Criterion>
template <class Side>
void SortedGrower<Criterion>::search_values(const Node& node, std::size_t list, std::int32_t n_values, Choice& choice) {
  const auto entries = rows(node, list);
  const std::int32_t n = node.size(), n_missing = n - n_values;
  const std::int32_t least = limits_.min_samples_leaf, most = n - least;
  Side side(criterion_, entries.subspan(static_cast<std::size_t>(n_values)));
  double best = choice.score;
  std::int32_t best_end = 0;
  bool best_missing_left = false;
  for (std::int32_t end = 1; end <= std::min(n_values, most); ++end) {
    const Entry last = entries[static_cast<std::size_t>(end - 1)];
    side.move(place_of(last));
    if (code_of(entries[static_cast<std::size_t>(end)]) == code_of(last)) continue;
    if (end >= least) {
      const double score = side.score();
      if (score > best) best = score * Criterion::rounding, best_end = end, best_missing_left = false;
    }
    if (n_missing > 0 && end < n_values && end + n_missing >= least && end + n_missing <= most) {
      const double score = side.score_with_missing();
      if (score > best) best = score * Criterion::rounding, best_end = end, best_missing_left = true;
    }
  }
  if (best_end == 0) return;
  // The threshold lies half-way to the next code that occurs.
  const std::uint8_t bin = code_of(entries[static_cast<std::size_t>(best_end - 1)]);
  const bool is_last = best_end == n_values;
  const int next = is_last ? 0 : code_of(entries[static_cast<std::size_t>(best_end)]);
  choice = {list,  best, static_cast<std::uint8_t>(is_last ? max_value_bins - 1 : (bin + next) / 2), best_missing_left,
            false, {}};
}

// Try cuts of the categories in the order of their keys.
template <class Criterion>
template <class Side>
void SortedGrower<Criterion>::search_categories(const Node& node, std::size_t list, std::int32_t n_values,
                                                Choice& choice) {
  const auto entries = rows(node, list);
  categories_.clear();
  for (std::int32_t i = 0; i < n_values; ++i) {
    const std::uint8_t code = code_of(entries[static_cast<std::size_t>(i)]);
    if (categories_.empty() || categories_.back().code != code) categories_.push_back({code, i, i, 0.0});
    ++categories_.back().end;
  }
  criterion_.place_categories(entries, categories_);
  std::ranges::sort(categories_, [](const Category& a, const Category& b) {
    return a.key != b.key ? a.key < b.key : a.code < b.code;
  });

  const std::int32_t n = node.size(), n_missing = n - n_values;
  const std::int32_t least = limits_.min_samples_leaf, most = n - least;
  Side side(criterion_, entries.subspan(static_cast<std::size_t>(n_values)));
  CategorySet set{};
  Choice best{list, -std::numeric_limits<double>::infinity(), 0, false, true, {}};
  std::int32_t n_left = 0;
  const auto offer = [&](double score, std::int32_t n_side, bool missing_left) {
    if (n_side >= least && n_side <= most && score > best.score)
      best = {list, score * Criterion::rounding, 0, missing_left, true, set};
  };
  for (const Category& category : categories_) {
    for (std::int32_t i = category.begin; i < category.end; ++i)
      side.move(place_of(entries[static_cast<std::size_t>(i)]));
    n_left += category.size();
    insert(set, category.code);
    if (n_left < n) offer(side.score(), n_left, false);
    if (n_missing > 0 && n_left + n_missing < n) offer(side.score_with_missing(), n_left + n_missing, true);
  }
  if (std::isinf(best.score)) return;  // no cut is allowed
  const double k = static_cast<double>(categories_.size()) + (n_missing > 0);
  best.score = std::max(criterion_.base(), best.score - chance_share * (k - 1) / (n - 1) * criterion_.impurity());
  if (best.score > choice.score) choice = best;
}

// Send what the node has not seen, missing values or categories, with its heavier part.
template <class Criterion>
void SortedGrower<Criterion>::settle(const Node& node, Choice& choice) const {
  CategorySet seen{};
  double left = 0, total = 0;
  for (const Entry entry : rows(node, choice.list)) {
    const std::uint8_t code = code_of(entry);
    const auto weight = static_cast<double>(criterion_.weight_of(place_of(entry)));
    insert(seen, code);
    total += weight;
    left += choice.goes_left(code) ? weight : 0;
  }
  const bool heavier_is_left = left > total - left;
  if (!holds(seen, missing_code)) choice.missing_left = heavier_is_left;
  if (!choice.is_set) return;
  for (int code = 0; code < missing_code && heavier_is_left; ++code)
    if (!holds(seen, static_cast<std::uint8_t>(code))) insert(choice.set, static_cast<std::uint8_t>(code));
  if (choice.missing_left) insert(choice.set, missing_code);
}

template <class Criterion>
void SortedGrower<Criterion>::partition(const Node& node, const Choice& choice, Node& left, Node& right) {
  for (const Entry entry : rows(node, choice.list)) goes_left_[place_of(entry)] = choice.goes_left(code_of(entry));
  left.end = right.begin = node.begin + move_rows(node, choice.list);
  left.is_final = is_final(left);
  right.is_final = is_final(right);
  if (left.is_final && right.is_final) return;  // nobody will look at the other lists again
  for (std::size_t list = 0; list < features_.size(); ++list)
    if (varies_[list] && list != choice.list) move_rows(node, list);
}

// Move the rows of a list that go left to the front of the node, the others behind them, both in their old order;
// return how many go left.
template <class Criterion>
std::int32_t SortedGrower<Criterion>::move_rows(const Node& node, std::size_t list) {
  Entry* const begin = entries_.data() + list * n_rows_ + node.begin;
  Entry* to_left = begin;
  Entry* to_right = right_rows_.data();
  for (std::int32_t i = 0; i < node.size(); ++i) {
    // Without a branch: copy to both sides, then keep one copy. The left one overwrites a row already moved.
    const Entry entry = begin[i];
    *to_left = *to_right = entry;
    const std::uint8_t goes_left = goes_left_[place_of(entry)];
    to_left += goes_left;
    to_right += 1 - goes_left;
  }
  std::copy(right_rows_.data(), to_right, to_left);
  return static_cast<std::int32_t>(to_left - begin);
}

template class SortedGrower<ClassCriterion>;
template class SortedGrower<ValueCriterion>;

}  // namespace mpboost
