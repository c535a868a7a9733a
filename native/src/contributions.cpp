// Contributions of features, where both children of a split count by their covers if its feature is unknown.
//
// A leaf of value v has d different features above it. Feature j lets a row through if the row satisfies all splits by
// it, o_j = 1, or else o_j = 0; without j, the share z_j of rows is let through: a product of shares of covers. The
// Shapley value of feature i, summed over all subsets of the others, is an integral over [0, 1] of a polynomial:
//
//   v (o_i - z_i)  integral of  product over j != i of  F_j(t),   F_j(t) = o_j t + z_j (1 - t),
//
// since subsets of k out of d - 1 features count with the weight k! (d - 1 - k)! / d!, which is the integral of
// t^k (1 - t)^(d - 1 - k). Gauss-Legendre quadrature with d / 2 points or more is exact; all factors are positive, so
// nothing cancels. At each point:
//
// - On the way down, the product of all F_j is kept up to date: a split by feature j multiplies it by F_j after the
//   split over F_j before it.
// - On the way up, v times this product is added up over the leaves below. A split by feature i adds to its
//   contribution this sum times (o_i - z_i) / F_i after the split less the same before it. (Of several splits by i on
//   the path of a leaf, all but the last cancel.)
//
// z is the same for all rows. So both factors depend on the row only by its state at the split: 1 or 2 if it goes left
// or right, or 0 if an earlier split by the feature has turned it away, where the contribution is 0. They are looked up
// in tables, one for each split and state. The work for a row grows with leaves times the features on a path.
#include "mpboost/contributions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <stdexcept>

#include "leaf_outputs.hpp"
#include "mpboost/kernels.hpp"
#include "quadrature.hpp"

namespace mpboost {
namespace {

constexpr int n_states = 3;

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
      for (const std::size_t side : {0, 1}) passing_.push_back(before * shares_[2 * n + side]);
    }
    n_features_ = n_features;
  }

  const TreeView& view() const { return view_; }
  const Slots& slots() const { return slots_; }
  std::int32_t n_features() const { return n_features_; }
  double share(std::size_t split, int side) const { return shares_[2 * split + static_cast<std::size_t>(side)]; }
  // The share of rows that a feature lets through, after a split and before it.
  double passing(std::size_t split, int side) const { return passing_[2 * split + static_cast<std::size_t>(side)]; }
  double passing_before(std::size_t split) const {
    return earlier_[split] < 0 ? 1.0 : passing_[static_cast<std::size_t>(earlier_[split])];
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

// The steps and tables of a tree for one output.
class Program {
 public:
  Program(const CoveredTree& tree, const Quadrature& quadrature, const std::vector<double>& values)
      : tree_(&tree), quadrature_(&quadrature), values_(&values) {
    const auto& splits = tree.view().splits;
    has_value_.resize(splits.size());
    for (std::size_t n = splits.size(); n-- > 0;) has_value_[n] = counts(splits[n].left) || counts(splits[n].right);
    if (!splits.empty() && has_value_[0]) lay_out();
  }

  const std::vector<ContributionStep>& steps() const { return steps_; }
  const std::vector<double>& tables() const { return tables_; }
  std::int32_t n_levels() const { return n_levels_; }

 private:
  bool counts(std::int32_t child) const {
    return child < 0 ? (*values_)[static_cast<std::size_t>(~child)] != 0 : has_value_[static_cast<std::size_t>(child)];
  }

  void lay_out() {
    struct Pending {
      ContributionStep step;
      bool enters;  // a split; else the step is taken
    };
    std::vector<Pending> pending{{{ContributionStep::leaves, 0, 0, 0, 0, 0}, true}};
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      if (!next.enters) {
        steps_.push_back(next.step);
        continue;
      }
      const auto n = static_cast<std::size_t>(next.step.split);
      const Split& split = tree_->view().splits[n];
      const std::array children{split.left, split.right};
      const std::int32_t level = next.step.level;
      n_levels_ = std::max(n_levels_, level + 2);
      const auto is_inner = [&](std::int32_t child) { return child >= 0 && counts(child); };
      const bool has_leaf = std::ranges::any_of(children, [&](auto child) { return child < 0 && counts(child); });
      const auto n_points = static_cast<std::int32_t>(quadrature_->points.size());
      const auto n_inner = static_cast<std::int32_t>(std::ranges::count_if(children, is_inner));
      const std::int32_t stride = 2 * n_points * (n_inner + has_leaf);
      auto table = static_cast<std::int64_t>(tables_.size());
      add_tables(n, has_leaf, children, is_inner);
      const auto make = [&](ContributionStep::Kind kind, std::int64_t at) {
        return ContributionStep{kind, next.step.split, tree_->slots().of_split[n], level, stride, at};
      };
      std::vector<Pending> added;
      if (has_leaf) {
        added.push_back({make(ContributionStep::leaves, table), false});
        table += 2 * n_points;
      }
      bool is_first = !has_leaf;
      for (const std::int32_t child : children) {
        if (!is_inner(child)) continue;
        added.push_back({make(ContributionStep::down, table), false});
        added.push_back({{ContributionStep::leaves, child, 0, level + 1, 0, 0}, true});
        added.push_back({make(is_first ? ContributionStep::first_up : ContributionStep::up, table + n_points), false});
        is_first = false;
        table += 2 * n_points;
      }
      pending.insert(pending.end(), added.rbegin(), added.rend());
    }
  }

  // For each state: of both leaves together, their sum and what they contribute; then of each child that is a split,
  // the factor of its weights and the factor of its sums.
  template <class IsInner>
  void add_tables(std::size_t n, bool has_leaf, const std::array<std::int32_t, 2>& children, IsInner is_inner) {
    const std::size_t n_points = quadrature_->points.size();
    for (int state = 0; state < n_states; ++state) {
      if (has_leaf) {
        std::vector<double> sums(n_points), contributions(n_points);
        for (const int side : {0, 1}) {
          const std::int32_t child = children[static_cast<std::size_t>(side)];
          if (child >= 0) continue;
          const double value = (*values_)[static_cast<std::size_t>(~child)];
          for (std::size_t k = 0; k < n_points; ++k) {
            const double sum = value * weight_factor(n, state, side, k);
            sums[k] += sum;
            contributions[k] += sum * sum_factor(n, state, side, k);
          }
        }
        tables_.insert(tables_.end(), sums.begin(), sums.end());
        tables_.insert(tables_.end(), contributions.begin(), contributions.end());
      }
      for (const int side : {0, 1}) {
        if (!is_inner(children[static_cast<std::size_t>(side)])) continue;
        for (std::size_t k = 0; k < n_points; ++k) tables_.push_back(weight_factor(n, state, side, k));
        for (std::size_t k = 0; k < n_points; ++k) tables_.push_back(sum_factor(n, state, side, k));
      }
    }
  }

  double weight_factor(std::size_t n, int state, int side, std::size_t k) const {
    if (state == 0) return tree_->share(n, side);
    const double t = quadrature_->points[k], z = tree_->passing(n, side);
    const double after = (state == 1 + side ? t : 0.0) + z * (1 - t);
    return after / (t + tree_->passing_before(n) * (1 - t));
  }

  double sum_factor(std::size_t n, int state, int side, std::size_t k) const {
    if (state == 0) return 0.0;
    const double t = quadrature_->points[k], z = tree_->passing(n, side), before = tree_->passing_before(n);
    const double after = state == 1 + side ? (1 - z) / (t + z * (1 - t)) : -1 / (1 - t);
    return quadrature_->weights[k] * (after - (1 - before) / (t + before * (1 - t)));
  }

  const CoveredTree* tree_;
  const Quadrature* quadrature_;
  const std::vector<double>* values_;
  std::vector<std::uint8_t> has_value_;  // whether a leaf below a split has a value other than 0
  std::vector<ContributionStep> steps_;
  std::vector<double> tables_;
  std::int32_t n_levels_ = 0;
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

// The mean value of a tree's leaves, by their covers.
double compute_mean(const CoveredTree& tree, const std::vector<double>& values) {
  const auto& splits = tree.view().splits;
  if (splits.empty()) return values.front();
  std::vector<double> means(splits.size());
  for (std::size_t n = splits.size(); n-- > 0;) {
    const auto mean_of = [&](std::int32_t child) {
      return child < 0 ? values[static_cast<std::size_t>(~child)] : means[static_cast<std::size_t>(child)];
    };
    means[n] = tree.share(n, 0) * mean_of(splits[n].left) + tree.share(n, 1) * mean_of(splits[n].right);
  }
  return means.front();
}

// Computes contributions of some rows; keeps its memory from tree to tree.
class Contributor {
 public:
  Contributor(const BinnedColumns& columns, const Explained& explained, double* out)
      : columns_(&columns), explained_(explained), out_(out) {}

  void add(TreeView view, std::int64_t index, std::int64_t begin, std::int64_t end) {
    const CoveredTree tree(view);
    const Quadrature& quadrature = quadratures_.of(tree.n_features());
    // Signs have one value, which several outputs may share.
    const bool is_shared = explained_.kind == LeafKind::signs;
    values_.resize(view.n_leaves());
    for (std::int64_t output = 0; output < (is_shared ? 1 : explained_.n_outputs); ++output) {
      for (std::size_t leaf = 0; leaf < values_.size(); ++leaf)
        values_[leaf] = value_of(view, explained_, leaf, output);
      if (std::ranges::all_of(values_, [](double value) { return value == 0; })) continue;
      const double mean = compute_mean(tree, values_);
      const Program program(tree, quadrature, values_);
      const std::int64_t last = is_shared ? explained_.n_outputs : output + 1;
      for (std::int64_t row = begin; row < end; row += contribution_rows)
        add_rows(tree, program, quadrature, mean, index, row, std::min<std::int64_t>(contribution_rows, end - row),
                 output, last);
    }
  }

 private:
  void add_rows(const CoveredTree& tree, const Program& program, const Quadrature& quadrature, double mean,
                std::int64_t index, std::int64_t row, std::int64_t n_rows, std::int64_t first_output,
                std::int64_t last_output) {
    const std::size_t n_points = quadrature.points.size(), size = contribution_rows * n_points;
    const std::size_t n_slots = tree.slots().features.size();
    states_.resize(tree.view().splits.size() * contribution_rows);
    weights_.resize(std::max(weights_.size(), static_cast<std::size_t>(program.n_levels()) * size));
    sums_.resize(weights_.size());
    contributions_.assign(n_slots * size, 0.0);
    if (!program.steps().empty()) {
      tree.find_states(*columns_, row, n_rows, states_.data());
      std::fill_n(weights_.begin(), size, 1.0);
      kernels().walk_contributions({.steps = program.steps().data(),
                                    .n_steps = std::ssize(program.steps()),
                                    .tables = program.tables().data(),
                                    .n_points = static_cast<int>(n_points),
                                    .states = states_.data(),
                                    .weights = weights_.data(),
                                    .sums = sums_.data(),
                                    .contributions = contributions_.data()});
    }
    const std::int64_t width = columns_->n_columns() + 1;
    for (std::int64_t output = first_output; output < last_output; ++output) {
      const double factor = explained_.factors ? explained_.factors[index * explained_.n_outputs + output] : 1.0;
      for (std::int64_t i = 0; i < n_rows; ++i) {
        double* to = out_ + ((row + i) * explained_.n_outputs + output) * width;
        for (std::size_t slot = 0; slot < n_slots; ++slot)
          to[tree.slots().features[slot]] +=
              factor * add_points(&contributions_[slot * size + static_cast<std::size_t>(i) * n_points], n_points);
        to[width - 1] += factor * mean;
      }
    }
  }

  static double add_points(const double* values, std::size_t n_points) {
    double lanes[quadrature_lanes]{};
    for (std::size_t k = 0; k < n_points; ++k) lanes[k % quadrature_lanes] += values[k];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }

  const BinnedColumns* columns_;
  Explained explained_;
  double* out_;
  Quadratures quadratures_;
  std::vector<double> values_;
  std::vector<std::uint8_t> states_;
  std::vector<double> weights_, sums_, contributions_;
};

}  // namespace

void add_contributions(const Forest& forest, const BinnedColumns& columns, const Explained& explained, double* out,
                       Threads& threads) {
  if (!forest.has_covers()) throw std::invalid_argument("the covers of leaves are unknown");
  // The tables of a tree serve so many rows, whose contributions should stay in the cache.
  constexpr std::int64_t grain = 4 * contribution_rows, most_rows = 1024;
  threads.for_ranges(columns.n_rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    Contributor contributor(columns, explained, out);
    for (std::int64_t row = begin; row < end; row += most_rows)
      for (std::int64_t t = 0; t < forest.size(); ++t)
        contributor.add(forest.tree(t), t, row, std::min(end, row + most_rows));
  });
}

}  // namespace mpboost
