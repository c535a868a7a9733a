#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bindings.hpp"
#include "mpboost/gradient_credit.hpp"
#include "mpboost/gradient_grower.hpp"

namespace mpboost::bindings {
namespace {

template <class T>
using Optional = std::optional<Vector<const T>>;

GradientPatch as_patch(const BinnedColumns& columns, const Vector<const std::int64_t>& rows,
                       const Vector<const std::int64_t>& features, const Vector<const double>& gradients,
                       const Vector<const double>& hessians, const Optional<bool>& is_categorical,
                       const Optional<std::int8_t>& monotonic, const Optional<std::int64_t>& interaction_offsets,
                       const Optional<std::int64_t>& interaction_members) {
  const auto n_rows = static_cast<std::int64_t>(rows.size());
  check(n_rows > 0 && n_rows <= GradientGrower::max_rows,
        "a minipatch can have 1 to 4194304 rows: choose a smaller max_samples");
  check(features.size() > 0, "a minipatch needs a feature");
  check_indices(rows, columns.n_rows(), "the patch names a row that does not exist");
  check_indices(features, columns.n_columns(), "the patch names a column that does not exist");
  check_size(gradients, n_rows, "gradients must have one entry per row of the patch");
  check_size(hessians, n_rows, "hessians must have one entry per row of the patch");
  double total = 0;
  for (const double g : as_span(gradients)) total += std::abs(g);
  for (const double h : as_span(hessians)) check(h >= 0, "hessians must not be negative"), total += h;
  check(std::isfinite(total), "gradients and hessians must be finite");
  if (is_categorical) check_size(*is_categorical, columns.n_columns(), "is_categorical must have one entry per column");
  if (monotonic) {
    check_size(*monotonic, columns.n_columns(), "monotonic must have one entry per column");
    for (const std::int8_t direction : as_span(*monotonic))
      check(-1 <= direction && direction <= 1, "monotonic has entries -1, 0 and 1");
  }
  GradientPatch patch{.rows = as_span(rows),
                      .features = as_span(features),
                      .gradients = as_span(gradients),
                      .hessians = as_span(hessians)};
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
  return patch;
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
          nb::arg("hessian_sums"), "The size that credits have by chance, given sums of hessians leaf by leaf.");

  nb::class_<GradientGrower>(module, "GradientGrower",
                             "Grows trees for gradient boosting; not to be shared by concurrent calls.")
      .def(
          "__init__",
          [](GradientGrower* self, std::int32_t max_leaf_nodes, std::int32_t max_depth, std::int32_t min_samples_leaf,
             double l2_regularization, int max_bins) {
            check(max_leaf_nodes >= 2 && max_depth >= 0 && min_samples_leaf >= 1,
                  "max_leaf_nodes must be >= 2, max_depth >= 0 and min_samples_leaf >= 1");
            check(l2_regularization >= 0 && std::isfinite(l2_regularization),
                  "l2_regularization must be finite and not negative");
            check(2 <= max_bins && max_bins <= 255, "max_bins must be between 2 and 255");
            new (self) GradientGrower({max_leaf_nodes, max_depth, min_samples_leaf, l2_regularization, max_bins});
          },
          nb::arg("max_leaf_nodes"), nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("l2_regularization"),
          nb::arg("max_bins"), "max_depth 0 means no limit.")
      .def(
          "grow",
          [](GradientGrower& grower, const BinnedColumns& columns, Vector<const std::int64_t> rows,
             Vector<const std::int64_t> features, Vector<const double> gradients, Vector<const double> hessians,
             std::uint64_t seed, std::uint64_t iteration, const Optional<bool>& is_categorical,
             const Optional<std::int8_t>& monotonic, const Optional<std::int64_t>& interaction_offsets,
             const Optional<std::int64_t>& interaction_members, Threads* threads) {
            const GradientPatch patch = as_patch(columns, rows, features, gradients, hessians, is_categorical,
                                                 monotonic, interaction_offsets, interaction_members);
            nb::gil_scoped_release release;
            return grower.grow(columns, patch, Stream(seed, iteration, Purpose::thresholds), threads, [] {
              nb::gil_scoped_acquire acquire;
              if (PyErr_CheckSignals() != 0) throw nb::python_error();
            });
          },
          nb::arg("columns"), nb::arg("rows"), nb::arg("features"), nb::arg("gradients"), nb::arg("hessians"),
          nb::arg("seed"), nb::arg("iteration"), nb::arg("is_categorical") = nb::none(),
          nb::arg("monotonic") = nb::none(), nb::arg("interaction_offsets") = nb::none(),
          nb::arg("interaction_members") = nb::none(), nb::arg("threads") = nb::none(),
          "Grow a tree on some rows, given their derivatives, and features; columns may be categorical, monotonic, or "
          "bound to interact within sets.");
}

}  // namespace mpboost::bindings
