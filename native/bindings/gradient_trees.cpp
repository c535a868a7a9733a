#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "mpboost/gradient_credit.hpp"
#include "mpboost/gradient_grower.hpp"
#include "mpboost/leaf_sums.hpp"
#include "mpboost/minipatch_slopes.hpp"
#include "trees.hpp"

namespace mpboost::bindings {
namespace {

template <class T>
using Optional = std::optional<Vector<const T>>;

// A minipatch without derivatives.
GradientPatch as_patch(const BinnedColumns& columns, const Vector<const std::int64_t>& rows,
                       const Vector<const std::int64_t>& features, const Optional<bool>& is_categorical,
                       const Optional<std::int8_t>& monotonic, const Optional<std::int64_t>& interaction_offsets,
                       const Optional<std::int64_t>& interaction_members, const Optional<double>& weights,
                       const Optional<std::int64_t>& numbers) {
  const auto n_rows = static_cast<std::int64_t>(rows.size());
  check(n_rows > 0 && n_rows <= GradientGrower::max_rows,
        "a minipatch can have 1 to 4194304 rows: choose a smaller max_samples");
  check(features.size() > 0, "a minipatch needs a feature");
  check_indices(rows, columns.n_rows(), "the patch names a row that does not exist");
  check_indices(features, columns.n_columns(), "the patch names a column that does not exist");
  if (is_categorical) check_size(*is_categorical, columns.n_columns(), "is_categorical must have one entry per column");
  if (monotonic) {
    check_size(*monotonic, columns.n_columns(), "monotonic must have one entry per column");
    for (const std::int8_t direction : as_span(*monotonic))
      check(-1 <= direction && direction <= 1, "monotonic has entries -1, 0 and 1");
  }
  GradientPatch patch;
  patch.rows = as_span(rows);
  patch.features = as_span(features);
  if (is_categorical) patch.is_categorical = is_categorical->data();
  if (monotonic) patch.monotonic = monotonic->data();
  check(interaction_offsets.has_value() == interaction_members.has_value(),
        "sets of interactions have offsets and members");
  if (interaction_offsets && interaction_members) {
    patch.interaction_offsets = as_span(*interaction_offsets);
    patch.interaction_members = as_span(*interaction_members);
    check(!patch.interaction_offsets.empty() && patch.interaction_offsets.front() == 0 &&
              std::ranges::is_sorted(patch.interaction_offsets),
          "offsets must ascend from 0");
    check(patch.interaction_offsets.back() == std::ssize(patch.interaction_members),
          "offsets must end with the number of members");
    check_indices(*interaction_members, columns.n_columns(),
                  "a set of interactions names a column that does not exist");
  }
  if (weights) {
    check_size(*weights, n_rows, "weights must have one entry per row of the patch");
    std::int64_t n_wrong = 0;  // without a branch for each
    for (const double weight : as_span(*weights)) n_wrong += !(weight >= 0);
    check(n_wrong == 0, "weights must not be negative");
    patch.weights = as_span(*weights);
  }
  if (numbers) {
    check_size(*numbers, static_cast<std::int64_t>(features.size()), "every feature needs a number");
    patch.numbers = as_span(*numbers);
  }
  return patch;
}

// Derivatives of all rows as Python has them: [row], or [row][output] where there are more outputs than one.
using Derivatives = nb::ndarray<const float, nb::numpy, nb::c_contig, nb::device::cpu>;

Slopes as_slopes(const Derivatives& gradients, const Derivatives& hessians, const Optional<double>& direction) {
  check(gradients.ndim() == (direction ? 2 : 1) && hessians.ndim() == gradients.ndim(),
        "gradients and hessians have a column for each output if there is a direction");
  for (std::size_t axis = 0; axis < gradients.ndim(); ++axis)
    check(gradients.shape(axis) == hessians.shape(axis), "gradients and hessians must have one shape");
  const auto n_outputs = direction ? static_cast<std::int64_t>(gradients.shape(1)) : 1;
  if (direction) check_size(*direction, n_outputs, "the direction must have one entry per output");
  return {gradients.data(), hessians.data(), n_outputs, direction ? direction->data() : nullptr};
}

MinipatchSlopes gather(const Derivatives& gradients, const Derivatives& hessians,
                       const Vector<const std::int64_t>& rows, const Vector<const double>& patch_weights,
                       const Optional<double>& direction, const Optional<std::uint16_t>& labels,
                       const Optional<float>& weights) {
  Slopes slopes = as_slopes(gradients, hessians, direction);
  const auto n_rows = static_cast<std::int64_t>(gradients.shape(0));
  check_indices(rows, n_rows, "the patch names a row that does not exist");
  check_size(patch_weights, static_cast<std::int64_t>(rows.size()), "there must be one weight per row of the patch");
  if (labels) {
    check_size(*labels, n_rows, "there must be one label per row");
    for (const std::int64_t row : as_span(rows))
      check(labels->data()[row] < slopes.n_outputs, "a label is not the number of an output");
    slopes.labels = labels->data();
  }
  if (weights) {
    check_size(*weights, n_rows, "there must be one weight per row");
    slopes.weights = weights->data();
  }
  return gather_slopes(slopes, as_span(rows), as_span(patch_weights));
}

// A minipatch of a round: columns, rows, features; derivatives of all rows with direction, labels and weights, as
// gather_slopes takes them; iteration; which columns are categorical or monotonic, sets of interactions, weights of the
// minipatch's rows, numbers of features, as `grow` takes them.
using PatchTuple = std::tuple<const BinnedColumns*, Vector<const std::int64_t>, Vector<const std::int64_t>, Derivatives,
                              Derivatives, Optional<double>, Optional<std::uint16_t>, Optional<float>, std::uint64_t,
                              Optional<bool>, Optional<std::int8_t>, Optional<std::int64_t>, Optional<std::int64_t>,
                              Vector<const double>, Optional<std::int64_t>>;

std::vector<GradientTree> grow_round(Growers<GradientGrower>& growers, const std::vector<PatchTuple>& given,
                                     std::uint64_t seed, Threads& threads) {
  return make_side_by_side(given.size(), threads, [&](std::size_t i, Threads* own_threads) {
    const auto& [columns, rows, features, gradients, hessians, direction, labels, row_weights, iteration,
                 is_categorical, monotonic, interaction_offsets, interaction_members, weights, numbers] = given[i];
    check(columns != nullptr, "a minipatch needs columns");
    GradientPatch patch = as_patch(*columns, rows, features, is_categorical, monotonic, interaction_offsets,
                                   interaction_members, weights, numbers);
    const MinipatchSlopes slopes = gather(gradients, hessians, rows, weights, direction, labels, row_weights);
    patch.gradients = slopes.gradients;
    patch.hessians = slopes.hessians;
    const Stream stream(seed, iteration, Purpose::thresholds);
    return growers.lend([&, &all = *columns](GradientGrower& grower) {
      return grower.grow(all, patch, stream, own_threads, SignalPoll());
    });
  });
}

// A tree, sums of all rows, the rows of the minipatch, the leaf of each row, derivatives, direction, features.
using CreditTuple = std::tuple<const GradientTree*, nb::ndarray<const double, nb::numpy, nb::ndim<3>, nb::c_contig>,
                               Vector<const std::int64_t>, Vector<const std::uint16_t>, Derivatives, Derivatives,
                               Optional<double>, Vector<const std::int64_t>>;

UnseenRows as_unseen_rows(const CreditTuple& given) {
  const auto& [grown, sums, rows, leaves, gradients, hessians, direction, features] = given;
  check(grown != nullptr, "there must be a tree");
  const Slopes slopes = as_slopes(gradients, hessians, direction);
  check(sums.shape(0) == grown->tree.n_leaves() && static_cast<std::int64_t>(sums.shape(1)) == slopes.n_outputs &&
            sums.shape(2) == 2,
        "sums must have the shape (n_leaves, n_outputs, 2)");
  check_size(leaves, static_cast<std::int64_t>(gradients.shape(0)), "there must be one leaf per row");
  for (const Split& split : grown->tree.splits)
    check(std::ranges::binary_search(as_span(features), split.feature), "the tree uses another feature");
  return {*grown, {sums.data(), sums.size()}, as_span(leaves), as_span(rows), slopes, as_span(features)};
}

nb::list credit_by_unseen(const std::vector<CreditTuple>& given, Threads& threads) {
  std::vector<UnseenRows> trees;
  for (const CreditTuple& tree : given) trees.push_back(as_unseen_rows(tree));
  std::vector<GradientCredits> credits;
  {
    nb::gil_scoped_release release;
    credits = credit_unseen(trees, threads);
  }
  nb::list arrays;
  for (auto& [of_tree, importances] : credits)
    arrays.append(nb::make_tuple(to_numpy(std::move(importances)), to_numpy(std::move(of_tree))));
  return arrays;
}

}  // namespace

void bind_gradient_trees(nb::module_& module) {
  nb::class_<GradientTree>(module, "GradientTree", "A tree, and what its splits were worth on the minipatch.")
      .def_prop_ro(
          "tree", [](GradientTree& grown) -> Tree& { return grown.tree; }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "split_values", [](const GradientTree& grown) { return to_numpy(std::vector<double>(grown.split_values)); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "gains", [](const GradientTree& grown) { return to_numpy(std::vector<double>(grown.gains)); },
          nb::rv_policy::automatic)
      .def(
          "credit",
          [](const GradientTree& grown, Vector<const double> gradient_sums, Vector<const std::int64_t> features) {
            check_size(gradient_sums, std::ssize(grown.tree.leaf_values), "there must be one sum per leaf");
            for (const Split& split : grown.tree.splits)
              check(std::ranges::binary_search(as_span(features), split.feature), "the tree uses another feature");
            return to_numpy(gradient_credits(grown, as_span(gradient_sums), as_span(features)));
          },
          nb::arg("gradient_sums"), nb::arg("features"),
          "What the splits move the loss by on rows whose sums of gradients are given leaf by leaf; feature by "
          "feature.")
      .def(
          "chance",
          [](const GradientTree& grown, Vector<const double> hessian_sums) {
            check_size(hessian_sums, std::ssize(grown.tree.leaf_values), "there must be one sum per leaf");
            return chance_of_credits(grown, as_span(hessian_sums));
          },
          nb::arg("hessian_sums"), "The size that credits have by chance, given sums of hessians leaf by leaf.")
      .def(
          "with_features",
          [](const GradientTree& grown, Vector<const std::int64_t> features) {
            GradientTree renamed = grown;
            rename_features(renamed.tree.splits, features);
            return renamed;
          },
          nb::arg("features"), "The same tree with feature k called features[k].")
      .def("__getstate__",
           [](const GradientTree& grown) {
             return nb::make_tuple(state_of(grown.tree), to_numpy(std::vector<double>(grown.split_values)),
                                   to_numpy(std::vector<double>(grown.gains)));
           })
      .def("__setstate__", [](GradientTree& grown, const nb::tuple& state) {
        check(state.size() == 3, "this is not the state of a tree");
        const auto values = nb::cast<Vector<const double>>(state[1]), gains = nb::cast<Vector<const double>>(state[2]);
        GradientTree made;
        made.tree = tree_from_state(nb::cast<nb::tuple>(state[0]));
        made.split_values = {values.data(), values.data() + values.size()};
        made.gains = {gains.data(), gains.data() + gains.size()};
        check(made.split_values.size() == made.tree.splits.size(), "every split needs a value");
        new (&grown) GradientTree(std::move(made));
      });

  module.def(
      "gather_slopes",
      [](const Derivatives& gradients, const Derivatives& hessians, const Vector<const std::int64_t>& rows,
         const Vector<const double>& patch_weights, const Optional<double>& direction,
         const Optional<std::uint16_t>& labels, const Optional<float>& weights) {
        MinipatchSlopes gathered = gather(gradients, hessians, rows, patch_weights, direction, labels, weights);
        return std::pair(to_numpy(std::move(gathered.gradients)), to_numpy(std::move(gathered.hessians)));
      },
      nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("rows"), nb::arg("patch_weights"),
      nb::arg("direction").none(), nb::arg("labels").noconvert().none(), nb::arg("weights").noconvert().none(),
      "Gradients and hessians of the rows of a minipatch, times their weights; several outputs are combined along "
      "a direction.");

  module.def(
      "credit_unseen", credit_by_unseen, nb::arg("trees").noconvert(), nb::arg("threads"),
      nb::sig("def credit_unseen(trees: collections.abc.Sequence[tuple], threads: Threads) -> "
              "list[tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]]"),
      "Credits of the features of trees by the rows outside their minipatches: divided by what chance alone "
      "would give, and as they are. For each tree: the tree, sums of all rows, the rows of the minipatch, the leaf "
      "of each row, gradients, hessians, the direction along which several outputs are combined, features.");

  nb::class_<Growers<GradientGrower>>(module, "GradientGrower", "Grows trees for gradient boosting.")
      .def(
          "__init__",
          [](Growers<GradientGrower>* self, std::int32_t max_leaf_nodes, std::int32_t max_depth,
             std::int32_t min_samples_leaf, double l2_regularization, int max_bins) {
            check(max_leaf_nodes >= 2 && max_depth >= 0 && min_samples_leaf >= 1,
                  "max_leaf_nodes must be >= 2, max_depth >= 0 and min_samples_leaf >= 1");
            check(max_leaf_nodes <= std::int32_t{max_numbered_leaves}, "there can be 65536 leaves at most");
            check(l2_regularization >= 0 && std::isfinite(l2_regularization),
                  "l2_regularization must be finite and not negative");
            check(2 <= max_bins && max_bins <= 255, "max_bins must be between 2 and 255");
            new (self) Growers<GradientGrower>(
                GradientLimits{max_leaf_nodes, max_depth, min_samples_leaf, l2_regularization, max_bins});
          },
          nb::arg("max_leaf_nodes"), nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("l2_regularization"),
          nb::arg("max_bins"), "max_depth 0 means no limit.")
      .def(
          "grow",
          [](Growers<GradientGrower>& growers, const BinnedColumns& columns, Vector<const std::int64_t> rows,
             Vector<const std::int64_t> features, Vector<const double> gradients, Vector<const double> hessians,
             std::uint64_t seed, std::uint64_t iteration, const Optional<bool>& is_categorical,
             const Optional<std::int8_t>& monotonic, const Optional<std::int64_t>& interaction_offsets,
             const Optional<std::int64_t>& interaction_members, const Optional<double>& weights,
             const Optional<std::int64_t>& numbers, Threads* threads) {
            GradientPatch patch = as_patch(columns, rows, features, is_categorical, monotonic, interaction_offsets,
                                           interaction_members, weights, numbers);
            const auto n_rows = static_cast<std::int64_t>(rows.size());
            check_size(gradients, n_rows, "gradients must have one entry per row of the patch");
            check_size(hessians, n_rows, "hessians must have one entry per row of the patch");
            patch.gradients = as_span(gradients);
            patch.hessians = as_span(hessians);
            nb::gil_scoped_release release;
            return growers.lend([&](GradientGrower& grower) {
              return grower.grow(columns, patch, Stream(seed, iteration, Purpose::thresholds), threads, SignalPoll());
            });
          },
          nb::arg("columns"), nb::arg("rows"), nb::arg("features"), nb::arg("gradients"), nb::arg("hessians"),
          nb::arg("seed"), nb::arg("iteration"), nb::arg("is_categorical") = nb::none(),
          nb::arg("monotonic") = nb::none(), nb::arg("interaction_offsets") = nb::none(),
          nb::arg("interaction_members") = nb::none(), nb::arg("weights") = nb::none(), nb::arg("numbers") = nb::none(),
          nb::arg("threads") = nb::none(),
          "Grow a tree on some rows, given their derivatives, and features; columns may be categorical, monotonic, or "
          "bound to interact within sets. The covers of leaves are sums of the weights. The numbers of the features in "
          "the whole table, if these columns are a part of it, determine how bins are merged.")
      .def(
          "grow_round", grow_round, nb::arg("patches").noconvert(), nb::arg("seed"), nb::arg("threads"),
          nb::sig("def grow_round(self, patches: collections.abc.Sequence[tuple], seed: int, threads: Threads) -> "
                  "list[GradientTree]"),
          "Grow a tree on each minipatch, side by side. A minipatch has columns, rows and features; derivatives of all "
          "rows, with direction, labels and weights, as gather_slopes takes them; the iteration; and is_categorical, "
          "monotonic, interaction_offsets, interaction_members, weights and numbers, as grow takes them.");
}

}  // namespace mpboost::bindings
