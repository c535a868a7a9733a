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
#include <stdexcept>

#include "covered_tree.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

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
    return tree_->weight_factor(n, state, side, quadrature_->points[k]);
  }

  double sum_factor(std::size_t n, int state, int side, std::size_t k) const {
    return quadrature_->weights[k] * tree_->gain_change(n, state, side, quadrature_->points[k]);
  }

  const CoveredTree* tree_;
  const Quadrature* quadrature_;
  const std::vector<double>* values_;
  std::vector<std::uint8_t> has_value_;  // whether a leaf below a split has a value other than 0
  std::vector<ContributionStep> steps_;
  std::vector<double> tables_;
  std::int32_t n_levels_ = 0;
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
