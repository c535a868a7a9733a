// Interactions of pairs of features: how much of what two features contribute comes from knowing both of them.
//
// With the terms of contributions.cpp, the interaction of features i and j at a leaf is
//
//   v (o_i - z_i) (o_j - z_j) / 2  integral of  product over k != i, j of  F_k(t)  =  1/2 integral of  v P g_i g_j,
//
// where P is the product of all F and g = (o - z) / F. Both sides of the pair get this half. A split by feature i
// changes g_i; the sum of v P over the leaves below, times this change, counts for the pairs of i with all other
// features above the split, times their g there. Of several splits by i or j on the path of a leaf, all but the last
// cancel. So the work for a row grows with splits times the features on a path.
#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "covered_tree.hpp"
#include "mpboost/contributions.hpp"

namespace mpboost {
namespace {

// The tables of one tree, which serve all rows and outputs.
class PairedTree {
 public:
  PairedTree(const CoveredTree& tree, const Quadrature& quadrature)
      : n_points_(quadrature.points.size()), above_(tree.view().splits.size()) {
    const std::size_t n_splits = above_.size();
    for (const auto factors : {&factors_, &changes_, &gains_}) factors->reserve(n_splits * n_states * 2 * n_points_);
    for (std::size_t n = 0; n < n_splits; ++n) {
      for (int state = 0; state < n_states; ++state)
        for (const int side : {0, 1})
          for (std::size_t k = 0; k < n_points_; ++k) {
            const double t = quadrature.points[k];
            factors_.push_back(tree.weight_factor(n, state, side, t));
            changes_.push_back(0.5 * quadrature.weights[k] * tree.gain_change(n, state, side, t));
            gains_.push_back(tree.gain(n, state, side, t));
          }
      list_above(tree, n);
    }
  }

  // A split whose g counts: the last one by its feature on the path, and the side of the path.
  struct Last {
    std::int32_t split, slot;
    int side;
  };

  std::size_t n_points() const { return n_points_; }
  const std::vector<Last>& above(std::size_t split) const { return above_[split]; }
  // For all points: the factor of weights, the change of g, with the weight of the point, and g itself.
  const double* factors(std::size_t split, int state, int side) const { return &factors_[at(split, state, side)]; }
  const double* changes(std::size_t split, int state, int side) const { return &changes_[at(split, state, side)]; }
  const double* gains(std::size_t split, int state, int side) const { return &gains_[at(split, state, side)]; }

 private:
  std::size_t at(std::size_t split, int state, int side) const {
    return ((split * n_states + static_cast<std::size_t>(state)) * 2 + static_cast<std::size_t>(side)) * n_points_;
  }

  // List the last splits by all other features above a split.
  void list_above(const CoveredTree& tree, std::size_t n) {
    const auto& slots = tree.slots().of_split;
    const Parents& parents = tree.parents();
    for (std::size_t m = n; parents.of_split[m] >= 0;) {
      const int side = !parents.is_left[m];
      m = static_cast<std::size_t>(parents.of_split[m]);
      const bool is_known = std::ranges::find(above_[n], slots[m], &Last::slot) != above_[n].end();
      if (slots[m] != slots[n] && !is_known) above_[n].push_back({static_cast<std::int32_t>(m), slots[m], side});
    }
  }

  std::size_t n_points_;
  std::vector<std::vector<Last>> above_;
  std::vector<double> factors_, changes_, gains_;  // [split][state][side][point]
};

// Computes interactions of some rows; keeps its memory from tree to tree.
class Interactor {
 public:
  Interactor(const BinnedColumns& columns, const Explained& explained, double* out)
      : columns_(&columns), explained_(explained), out_(out) {}

  void add(TreeView view, std::int64_t index, std::int64_t begin, std::int64_t end) {
    if (view.splits.empty()) return;
    const CoveredTree tree(view);
    const PairedTree tables(tree, quadratures_.of(tree.n_features()));
    const std::size_t size = view.splits.size() * tables.n_points();
    states_.resize(view.splits.size() * contribution_rows);
    weights_.resize(std::max(weights_.size(), size));
    sums_.resize(weights_.size());
    for (std::int64_t row = begin; row < end; row += contribution_rows) {
      const auto n_rows = std::min<std::int64_t>(contribution_rows, end - row);
      tree.find_states(*columns_, row, n_rows, states_.data());
      for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::uint8_t* states = states_.data() + i;
        weigh(tree, tables, states);
        // Signs have one value, which several outputs may share.
        const bool is_shared = explained_.kind == LeafKind::signs;
        for (std::int64_t output = 0; output < (is_shared ? 1 : explained_.n_outputs); ++output)
          add_row(tree, tables, states, index, row + i, output, is_shared ? explained_.n_outputs : output + 1);
      }
    }
  }

 private:
  // Compute the product of all F at each split, from the root down.
  void weigh(const CoveredTree& tree, const PairedTree& tables, const std::uint8_t* states) {
    const std::size_t n_points = tables.n_points();
    std::fill_n(weights_.begin(), n_points, 1.0);
    for (std::size_t n = 1; n < tree.view().splits.size(); ++n) {
      const auto parent = static_cast<std::size_t>(tree.parents().of_split[n]);
      const double* factors = tables.factors(parent, states[parent * contribution_rows], !tree.parents().is_left[n]);
      const double* before = &weights_[parent * n_points];
      double* weights = &weights_[n * n_points];
      for (std::size_t k = 0; k < n_points; ++k) weights[k] = before[k] * factors[k];
    }
  }

  // Add up v P from the leaves up, and add what each split changes to the pairs of its feature.
  void add_row(const CoveredTree& tree, const PairedTree& tables, const std::uint8_t* states, std::int64_t index,
               std::int64_t row, std::int64_t output, std::int64_t last_output) {
    const TreeView& view = tree.view();
    const std::size_t n_points = tables.n_points();
    changed_.resize(n_points);
    for (std::size_t n = view.splits.size(); n-- > 0;) {
      const int state = states[n * contribution_rows];
      const double* weights = &weights_[n * n_points];
      double* sums = &sums_[n * n_points];
      std::fill_n(sums, n_points, 0.0);
      std::ranges::fill(changed_, 0.0);
      for (const int side : {0, 1}) {
        const std::int32_t child = side == 0 ? view.splits[n].left : view.splits[n].right;
        const double* changes = tables.changes(n, state, side);
        if (child >= 0) {
          const double* below = &sums_[static_cast<std::size_t>(child) * n_points];
          for (std::size_t k = 0; k < n_points; ++k) {
            sums[k] += below[k];
            changed_[k] += below[k] * changes[k];
          }
        } else if (const double value = value_of(view, explained_, static_cast<std::size_t>(~child), output);
                   value != 0) {
          const double* factors = tables.factors(n, state, side);
          for (std::size_t k = 0; k < n_points; ++k) {
            const double sum = value * weights[k] * factors[k];
            sums[k] += sum;
            changed_[k] += sum * changes[k];
          }
        }
      }
      if (state == 0) continue;  // the feature turned the row away before: its g stays as it is
      for (const PairedTree::Last& last : tables.above(n)) {
        const auto m = static_cast<std::size_t>(last.split);
        const double* gains = tables.gains(m, states[m * contribution_rows], last.side);
        double lanes[quadrature_lanes]{};
        for (std::size_t k = 0; k < n_points; k += quadrature_lanes)
          for (std::size_t lane = 0; lane < quadrature_lanes; ++lane)
            lanes[lane] += changed_[k + lane] * gains[k + lane];
        add_pair(tree.slots().features[static_cast<std::size_t>(tree.slots().of_split[n])],
                 tree.slots().features[static_cast<std::size_t>(last.slot)],
                 (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), index, row, output, last_output);
      }
    }
  }

  void add_pair(std::int32_t i, std::int32_t j, double value, std::int64_t index, std::int64_t row,
                std::int64_t first_output, std::int64_t last_output) {
    const std::int64_t width = columns_->n_columns() + 1;
    for (std::int64_t output = first_output; output < last_output; ++output) {
      const double factor = explained_.factors ? explained_.factors[index * explained_.n_outputs + output] : 1.0;
      double* to = out_ + (row * explained_.n_outputs + output) * width * width;
      to[i * width + j] += factor * value;
      to[j * width + i] += factor * value;
    }
  }

  const BinnedColumns* columns_;
  Explained explained_;
  double* out_;
  Quadratures quadratures_;
  std::vector<std::uint8_t> states_;    // [split][row]
  std::vector<double> weights_, sums_;  // of a row, [split][point]
  std::vector<double> changed_;         // of a split, [point]
};

}  // namespace

void add_interactions(const Forest& forest, const BinnedColumns& columns, const Explained& explained, double* out,
                      Threads& threads) {
  if (!forest.has_covers()) throw std::invalid_argument("the covers of leaves are unknown");
  constexpr std::int64_t grain = contribution_rows, most_rows = 256;  // the tables of a tree serve so many rows
  threads.for_ranges(columns.n_rows(), grain, [&](std::int64_t begin, std::int64_t end) {
    Interactor interactor(columns, explained, out);
    for (std::int64_t row = begin; row < end; row += most_rows)
      for (std::int64_t t = 0; t < forest.size(); ++t)
        interactor.add(forest.tree(t), t, row, std::min(end, row + most_rows));
  });
}

}  // namespace mpboost
