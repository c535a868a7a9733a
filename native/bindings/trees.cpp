#include "trees.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <type_traits>

#include "mpboost/apply.hpp"
#include "mpboost/binary_grower.hpp"
#include "mpboost/importance.hpp"
#include "mpboost/sorted_grower.hpp"

namespace mpboost::bindings {
namespace {

using OptionalWeights = std::optional<Vector<const double>>;
using OptionalFlags = std::optional<Vector<const bool>>;

template <class Label>
Minipatch<Label> as_patch(const BinnedColumns& columns, const Vector<const std::int64_t>& rows,
                          const Vector<const std::int64_t>& features, const Vector<const Label>& labels,
                          const OptionalWeights& weights, const OptionalFlags& is_categorical = {}) {
  check(rows.size() > 0 && rows.size() < (std::size_t{1} << 31), "a minipatch needs between 1 and 2^31 rows");
  check_size(labels, columns.n_rows(), "labels must have one entry per row");
  check_indices(rows, columns.n_rows(), "the patch names a row that does not exist");
  check_indices(features, columns.n_columns(), "the patch names a column that does not exist");
  if (weights) {
    check_size(*weights, static_cast<std::int64_t>(rows.size()), "weights must have one entry per row of the patch");
    double total = 0;
    for (const double weight : as_span(*weights)) check(weight > 0, "weights must be positive"), total += weight;
    check(std::isfinite(total), "weights must be finite");
  }
  if (is_categorical) check_size(*is_categorical, columns.n_columns(), "is_categorical must have one entry per column");
  return {as_span(rows), as_span(features), labels.data(), weights ? as_span(*weights) : std::span<const double>{},
          is_categorical ? is_categorical->data() : nullptr};
}

template <class Out, class Apply>
void apply_to(const Tree& tree, const BinnedColumns& columns, Out& out, Apply apply, Threads& threads,
              std::int64_t n_outputs = 1) {
  check_output(out, columns.n_rows(), n_outputs);
  check_columns(tree, columns);
  nb::gil_scoped_release release;
  apply(tree, columns, out.data(), threads);
}

Tree with_features(const Tree& tree, const Vector<const std::int64_t>& features) {
  Tree renamed = tree;
  rename_features(renamed.splits, features);
  return renamed;
}

Tree with_values(const Tree& tree, const LeafValues<const double>& values) {
  const std::int64_t n_outputs = count_outputs(values);
  check(values_fit(values.size(), tree.n_leaves(), n_outputs),
        "values must have a row for each leaf and at least one output");
  return {tree.splits, values_from_numpy(values), tree.category_sets, n_outputs, tree.leaf_covers};
}

void bind_tree(nb::module_& module) {
  nb::class_<Tree>(module, "Tree", "A decision tree over binned columns.")
      .def_prop_ro(
          "splits", [](const Tree& tree) { return bytes_to_numpy<Split>(tree.splits); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "category_sets", [](const Tree& tree) { return bytes_to_numpy<CategorySet>(tree.category_sets); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "leaf_values", [](const Tree& tree) { return values_to_numpy(tree.leaf_values, tree.n_outputs); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "leaf_covers", [](const Tree& tree) { return to_numpy(std::vector<float>(tree.leaf_covers)); },
          nb::rv_policy::automatic, "The weight of the minipatch's rows in each leaf; empty where it is unknown.")
      .def_ro("n_outputs", &Tree::n_outputs)
      .def(
          "apply_leaves",
          [](const Tree& tree, const BinnedColumns& columns, Vector<std::int32_t> out, Threads& threads) {
            apply_to(tree, columns, out, apply_leaves, threads);
          },
          nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"), "Write the leaf of each row.")
      .def(
          "apply_leaf_numbers",
          [](const Tree& tree, const BinnedColumns& columns, Vector<std::uint16_t> out, Threads& threads) {
            check(tree.n_leaves() <= 65'536, "the tree has more than 65536 leaves");
            apply_to(tree, columns, out, apply_leaf_numbers, threads);
          },
          nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"), "Write the leaf of each row, in 16 bits.")
      .def(
          "apply_votes",
          [](const Tree& tree, const BinnedColumns& columns, Vector<std::int8_t> out, Threads& threads) {
            check_single(tree.n_outputs);
            apply_to(tree, columns, out, apply_votes, threads);
          },
          nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"),
          "Write the sign of each row's leaf value, +1 or -1.")
      .def(
          "apply_classes",
          [](const Tree& tree, const BinnedColumns& columns, Vector<std::uint16_t> out, Threads& threads) {
            check_classes(tree, 65'536);
            apply_to(tree, columns, out, apply_classes, threads);
          },
          nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"),
          "Write the class of each row's leaf: its value, a whole number.")
      .def(
          "apply_values",
          [](const Tree& tree, const BinnedColumns& columns, LeafValues<double> out, Threads& threads) {
            apply_to(tree, columns, out, apply_values, threads, tree.n_outputs);
          },
          nb::arg("columns"), nb::arg("out").noconvert(), nb::arg("threads"),
          "Write the value of each row's leaf; where there are more outputs than one, a row of values.")
      .def_prop_ro(
          "features", [](const Tree& tree) { return to_numpy(used_features(tree.splits)); }, nb::rv_policy::automatic,
          "The features that the tree uses, ascending.")
      .def(
          "narrow",
          [](const Tree& tree) {
            return Tree{narrow(tree.splits), tree.leaf_values, tree.category_sets, tree.n_outputs, tree.leaf_covers};
          },
          "The same tree over columns that hold just the features that it uses.")
      .def("with_features", with_features, nb::arg("features"),
           "The same tree with feature k called features[k]: from columns that were picked back to the table.")
      .def("with_values", with_values, nb::arg("values"),
           "The same tree with other leaf values: one for each leaf, or a row of as many as the tree shall have "
           "outputs.")
      .def("__getstate__", state_of)
      .def("__setstate__", [](Tree& tree, const nb::tuple& state) { new (&tree) Tree(tree_from_state(state)); });
}

void check_limits(std::int32_t max_depth, std::int32_t min_samples_leaf) {
  check(max_depth >= 0 && min_samples_leaf >= 1, "max_depth must be >= 0 and min_samples_leaf >= 1");
}

void check_patch(const BinaryGrower&, const Minipatch<std::int8_t>&) {}

template <class Criterion>
void check_patch(const SortedGrower<Criterion>& grower, const Minipatch<typename Criterion::Label>& patch) {
  check(patch.rows.size() <= (std::size_t{1} << place_bits),
        "a minipatch can have 16777216 rows at most: choose a smaller max_samples");
  check(!patch.features.empty(), "a minipatch needs a feature");
  for (const std::int64_t row : patch.rows)
    check(grower.criterion().accepts(patch.labels[row]), "a label is out of range");
}

// Importances by feature, and what splits gain by the size of nodes, one row for each.
nb::tuple to_arrays(UnseenCredits&& credits) {
  std::vector<double> gains;
  for (const SizeGains& size : credits.gains) gains.insert(gains.end(), {size.promised, size.kept, size.squares});
  return nb::make_tuple(to_numpy(std::move(credits.importances)), values_to_numpy(std::move(gains), 3));
}

// A minipatch of a round: columns, rows, features, labels, weights, which columns are categorical, min_samples_split,
// and rows to measure importances on.
template <class Label>
using PatchTuple =
    std::tuple<const BinnedColumns*, Vector<const std::int64_t>, Vector<const std::int64_t>, Vector<const Label>,
               OptionalWeights, OptionalFlags, std::int32_t, Vector<const std::int64_t>>;

template <class Grower, class Label>
nb::list grow_round(Growers<Grower>& growers, const std::vector<PatchTuple<Label>>& given, Threads& threads) {
  struct Grown {
    GrownTree tree;
    std::optional<UnseenCredits> credits;
  };
  std::vector<Grown> round = make_side_by_side(given.size(), threads, [&](std::size_t i, Threads*) {
    const auto& [columns, rows, features, labels, weights, is_categorical, min_samples_split, unseen] = given[i];
    check(columns != nullptr, "a minipatch needs columns");
    const Minipatch<Label> patch = as_patch(*columns, rows, features, labels, weights, is_categorical);
    check_indices(unseen, columns->n_rows(), "there is no such unseen row");
    return growers.lend([&, &columns = columns, &unseen = unseen, &limit = min_samples_split](Grower& grower) {
      check_patch(grower, patch);
      Grown grown{grower.grow(*columns, patch, limit, SignalPoll()), {}};
      if (unseen.size() > 0)
        grown.credits = unseen_importances(grown.tree.tree, *columns, patch, as_span(unseen), grown.tree.sides);
      return grown;
    });
  });
  nb::list results;
  for (auto& [tree, credits] : round) {
    const nb::object measured = credits ? nb::object(to_arrays(std::move(*credits))) : nb::object(nb::none());
    results.append(nb::make_tuple(std::move(tree), measured));
  }
  return results;
}

template <class Grower, class Label>
void bind_grow(nb::class_<Growers<Grower>>& cls) {
  cls.def(
      "grow",
      [](Growers<Grower>& growers, const BinnedColumns& columns, Vector<const std::int64_t> rows,
         Vector<const std::int64_t> features, Vector<const Label> labels, const OptionalWeights& weights,
         const OptionalFlags& is_categorical, std::int32_t min_samples_split) {
        const Minipatch<Label> patch = as_patch(columns, rows, features, labels, weights, is_categorical);
        nb::gil_scoped_release release;
        return growers.lend([&](Grower& grower) {
          check_patch(grower, patch);
          return grower.grow(columns, patch, min_samples_split, SignalPoll());
        });
      },
      nb::arg("columns"), nb::arg("rows"), nb::arg("features"), nb::arg("labels"), nb::arg("weights") = nb::none(),
      nb::arg("is_categorical") = nb::none(), nb::arg("min_samples_split") = 2,
      "Grow a tree on some rows, whose weights may be given, and features, of which some may be categorical. Split no "
      "node of fewer than min_samples_split rows.");
  cls.def("grow_round", grow_round<Grower, Label>, nb::arg("patches").noconvert(), nb::arg("threads"),
          nb::sig("def grow_round(self, patches: collections.abc.Sequence[tuple], threads: Threads) -> "
                  "list[tuple[GrownTree, tuple[numpy.typing.NDArray[numpy.float64], "
                  "numpy.typing.NDArray[numpy.float64]] | None]]"),
          "Grow a tree on each minipatch, side by side. A minipatch is what `grow` takes, and rows to measure "
          "importances on; if there are any, what unseen_importances returns comes with the tree.");
}

template <class Label>
void bind_importances(nb::module_& module) {
  module.def(
      "permutation_importances",
      [](const Tree& tree, const BinnedColumns& columns, Vector<const std::int64_t> rows,
         Vector<const std::int64_t> features, Vector<const Label> labels, std::uint64_t seed, std::uint64_t iteration,
         const OptionalWeights& weights) {
        const Minipatch<Label> patch = as_patch(columns, rows, features, labels, weights);
        check_columns(tree, columns);
        check_single(tree.n_outputs);
        std::vector<double> losses;
        {
          nb::gil_scoped_release release;
          losses = permutation_importances(tree, columns, patch, Stream(seed, iteration, Purpose::permutation));
        }
        return to_numpy(std::move(losses));
      },
      nb::arg("tree"), nb::arg("columns"), nb::arg("rows"), nb::arg("features"), nb::arg("labels").noconvert(),
      nb::arg("seed"), nb::arg("iteration"), nb::arg("weights") = nb::none(),
      "What a tree loses on some rows when one feature is shuffled among them: accuracy or, with numbers, squared "
      "error.");

  module.def(
      "unseen_importances",
      [](const Tree& tree, const BinnedColumns& columns, Vector<const std::int64_t> rows,
         Vector<const std::int64_t> features, Vector<const Label> labels, Vector<const std::int64_t> unseen_rows,
         const OptionalWeights& weights) {
        const Minipatch<Label> patch = as_patch(columns, rows, features, labels, weights);
        check_columns(tree, columns);
        check_single(tree.n_outputs);
        check_indices(unseen_rows, columns.n_rows(), "there is no such unseen row");
        UnseenCredits credits;
        {
          nb::gil_scoped_release release;
          credits = unseen_importances(tree, columns, patch, as_span(unseen_rows));
        }
        return to_arrays(std::move(credits));
      },
      nb::arg("tree"), nb::arg("columns"), nb::arg("rows"), nb::arg("features"), nb::arg("labels").noconvert(),
      nb::arg("unseen_rows"), nb::arg("weights") = nb::none(),
      "How far the splits of a tree move what it says about rows that it never saw towards their labels: by feature, "
      "and by the size of nodes. Row k of the latter is about nodes of 2^k to 2^(k + 1) - 1 rows: what their splits "
      "promise, what they keep, and the sum of squares of what each of them keeps.");
}

void bind_grower(nb::module_& module) {
  nb::class_<GrownTree>(module, "GrownTree", "A tree and the importances of its minipatch's features.")
      .def_prop_ro(
          "tree", [](GrownTree& grown) -> Tree& { return grown.tree; }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "importances", [](const GrownTree& grown) { return to_numpy(std::vector<double>(grown.importances)); },
          nb::rv_policy::automatic);

  auto binary =
      nb::class_<Growers<BinaryGrower>>(module, "BinaryGrower", "Grows Gini trees for two classes, -1 and +1.")
          .def(
              "__init__",
              [](Growers<BinaryGrower>* self, std::int32_t max_depth, std::int32_t min_samples_leaf, double tie_value) {
                check_limits(max_depth, min_samples_leaf);
                new (self) Growers<BinaryGrower>(BinaryGrowerOptions{max_depth, min_samples_leaf, tie_value});
              },
              nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("tie_value"), "max_depth 0 means no limit.");
  bind_grow<BinaryGrower, std::int8_t>(binary);

  auto classes = nb::class_<Growers<ClassGrower>>(module, "ClassGrower", "Grows Gini trees for many classes.")
                     .def(
                         "__init__",
                         [](Growers<ClassGrower>* self, std::int32_t max_depth, std::int32_t min_samples_leaf,
                            Vector<const std::uint16_t> ranks) {
                           check_limits(max_depth, min_samples_leaf);
                           const auto span = as_span(ranks);
                           new (self) Growers<ClassGrower>(TreeLimits{max_depth, min_samples_leaf},
                                                           ClassCriterion({span.begin(), span.end()}));
                         },
                         nb::arg("max_depth"), nb::arg("min_samples_leaf"), nb::arg("ranks"),
                         "max_depth 0 means no limit; ranks are those of the classes: the highest wins at a tie.");
  bind_grow<ClassGrower, std::uint16_t>(classes);

  auto values = nb::class_<Growers<ValueGrower>>(module, "ValueGrower", "Grows regression trees.")
                    .def(
                        "__init__",
                        [](Growers<ValueGrower>* self, std::int32_t max_depth, std::int32_t min_samples_leaf) {
                          check_limits(max_depth, min_samples_leaf);
                          new (self) Growers<ValueGrower>(TreeLimits{max_depth, min_samples_leaf}, ValueCriterion());
                        },
                        nb::arg("max_depth"), nb::arg("min_samples_leaf"), "max_depth 0 means no limit.");
  bind_grow<ValueGrower, double>(values);

  bind_importances<std::int8_t>(module);
  bind_importances<std::uint16_t>(module);
  bind_importances<double>(module);
}

}  // namespace

void bind_trees(nb::module_& module) {
  bind_tree(module);
  bind_grower(module);
}

}  // namespace mpboost::bindings
