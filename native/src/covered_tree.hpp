// What contributions and interactions share: a tree with the covers of its nodes. contributions.cpp explains the terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "leaf_outputs.hpp"
#include "mpboost/kernels.hpp"
#include "quadrature.hpp"

namespace mpboost {

inline constexpr int n_states = 3;

// One tree, as far as it does not depend on values.
class CoveredTree {
 public:
  explicit CoveredTree(TreeView tree)
      : view_(tree), slots_(tree), parents_(tree), earlier_(tree.splits.size(), -1), depths_(tree.splits.size()) {
    sum_covers();
    std::int32_t n_features = 1;  // the most on any path
    for (std::size_t n = 0; n < tree.splits.size(); ++n) {
      const std::int32_t parent = parents_.of_split[n];
      depths_[n] = (parent < 0 ? 0 : depths_[static_cast<std::size_t>(parent)]) + (find_earlier(n) ? 0 : 1);
      n_features = std::max(n_features, depths_[n]);
      const double before = earlier_[n] < 0 ? 1.0 : passing_[static_cast<std::size_t>(earlier_[n])];
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
        passing_.push_back(before * shares_[2 * n + side]);
    }
    n_features_ = n_features;
  }

  const TreeView& view() const { return view_; }
  const Slots& slots() const { return slots_; }
  std::int32_t n_features() const { return n_features_; }
  const Parents& parents() const { return parents_; }
  double share(std::size_t split, int side) const { return shares_[2 * split + static_cast<std::size_t>(side)]; }
  // The share of rows that a feature lets through, after a split and before it.
  double passing(std::size_t split, int side) const { return passing_[2 * split + static_cast<std::size_t>(side)]; }
  double passing_before(std::size_t split) const {
    return earlier_[split] < 0 ? 1.0 : passing_[static_cast<std::size_t>(earlier_[split])];
  }

  // What the split changes at a point t of the quadrature, for a row of this state that takes this side (or not): the
  // product of all F_j is multiplied by weight_factor. (o - z) / F of its own feature is `gain` after the split.
  double weight_factor(std::size_t split, int state, int side, double t) const {
    if (state == 0) return share(split, side);
    const double after = (state == 1 + side ? t : 0.0) + passing(split, side) * (1 - t);
    return after / (t + passing_before(split) * (1 - t));
  }
  double gain(std::size_t split, int state, int side, double t) const {
    const double z = passing(split, side);
    return state == 1 + side ? (1 - z) / (t + z * (1 - t)) : -1 / (1 - t);
  }
  double gain_change(std::size_t split, int state, int side, double t) const {
    if (state == 0) return 0.0;
    const double before = passing_before(split);
    return gain(split, state, side, t) - (1 - before) / (t + before * (1 - t));
  }

  // Write the states of some rows, [split][row]; rows beyond the last have state 0.
  void find_states(const BinnedColumns& columns, std::int64_t row, std::int64_t n_rows, std::uint8_t* states) const {
    std::array<std::uint8_t, contribution_rows> goes_left{};
    for (std::size_t n = 0; n < view_.splits.size(); ++n) {
      find_sides(view_, view_.splits[n], columns, row, n_rows, goes_left.data());
      std::uint8_t* of_split = states + n * contribution_rows;
      if (earlier_[n] < 0) {
        for (std::size_t i = 0; i < contribution_rows; ++i) of_split[i] = static_cast<std::uint8_t>(2 - goes_left[i]);
        continue;
      }
      const std::uint8_t* before = states + static_cast<std::size_t>(earlier_[n] / 2) * contribution_rows;
      const auto passed = static_cast<std::uint8_t>(1 + earlier_[n] % 2);
      for (std::size_t i = 0; i < contribution_rows; ++i)
        of_split[i] = static_cast<std::uint8_t>(before[i] == passed ? 2 - goes_left[i] : 0);
    }
  }

 private:
  // The shares of covers that go to both children; halves where nothing is known.
  void sum_covers() {
    const std::size_t n_splits = view_.splits.size();
    std::vector<double> covers(n_splits);
    shares_.resize(2 * n_splits);
    for (std::size_t n = n_splits; n-- > 0;) {
      const auto cover_of = [&](std::int32_t child) {
        return child < 0 ? static_cast<double>(view_.leaf_covers[static_cast<std::size_t>(~child)])
                         : covers[static_cast<std::size_t>(child)];
      };
      const double left = cover_of(view_.splits[n].left), right = cover_of(view_.splits[n].right);
      covers[n] = left + right;
      shares_[2 * n] = covers[n] > 0 ? left / covers[n] : 0.5;
      shares_[2 * n + 1] = covers[n] > 0 ? right / covers[n] : 0.5;
    }
  }

  // Find the last split by the same feature above this one; tell whether there is any.
  bool find_earlier(std::size_t split) {
    for (auto n = static_cast<std::int32_t>(split); parents_.of_split[static_cast<std::size_t>(n)] >= 0;) {
      const bool is_left = parents_.is_left[static_cast<std::size_t>(n)];
      n = parents_.of_split[static_cast<std::size_t>(n)];
      if (view_.splits[static_cast<std::size_t>(n)].feature != view_.splits[split].feature) continue;
      earlier_[split] = 2 * n + !is_left;
      return true;
    }
    return false;
  }

  TreeView view_;
  Slots slots_;
  Parents parents_;
  std::vector<std::int32_t> earlier_;  // 2 * split + side (0: left); -1: none
  std::vector<std::int32_t> depths_;   // features on the path, with the split's own
  std::vector<double> shares_;         // [split][side]
  std::vector<double> passing_;        // z, the same
  std::int32_t n_features_ = 0;
};

// Quadratures by their number of points, a multiple of quadrature_lanes; points that are not needed weigh nothing.
class Quadratures {
 public:
  const Quadrature& of(std::int32_t n_features) {
    const int n = std::max((n_features + 1) / 2, 1);
    const auto [found, is_new] = made_.try_emplace(n);
    if (is_new) {
      found->second = make_quadrature(n);
      const auto size = static_cast<std::size_t>((n + quadrature_lanes - 1) / quadrature_lanes * quadrature_lanes);
      found->second.points.resize(size, 0.5);
      found->second.weights.resize(size, 0.0);
    }
    return found->second;
  }

 private:
  std::map<int, Quadrature> made_;
};

}  // namespace mpboost
