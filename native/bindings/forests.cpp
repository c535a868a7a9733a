#include "mpboost/forest.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "trees.hpp"

namespace mpboost::bindings {
namespace {

void check_trees(const Forest& forest, std::int64_t begin, std::int64_t end, const BinnedColumns& columns) {
  check(0 <= begin && begin <= end && end <= forest.size(), "no such trees");
  for (std::int64_t t = begin; t < end; ++t)
    check(forest.n_needed_columns(t) <= columns.n_columns(), "the tree uses a column that does not exist");
}

}  // namespace

void bind_forests(nb::module_& module) {
  nb::class_<Forest>(module, "Forest", "The trees of an ensemble.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Forest* self, Vector<const std::uint8_t> splits, LeafValues<const double> leaf_values,
             Vector<const std::int64_t> split_offsets, Vector<const std::uint8_t> category_sets,
             std::int64_t n_features, const std::optional<Vector<const float>>& leaf_covers) {
            const auto offsets = as_span(split_offsets);
            const auto covers = leaf_covers ? as_span(*leaf_covers) : std::span<const float>{};
            new (self) Forest(records_from_numpy<Split>(splits), values_from_numpy(leaf_values),
                              {offsets.begin(), offsets.end()}, records_from_numpy<CategorySet>(category_sets),
                              n_features, count_outputs(leaf_values), {covers.begin(), covers.end()});
          },
          nb::arg("splits"), nb::arg("leaf_values"), nb::arg("split_offsets"), nb::arg("category_sets"),
          nb::arg("n_features"), nb::arg("leaf_covers") = nb::none(),
          "Leaf values have a row for each leaf where there are more outputs than one. Covers are of all leaves, or "
          "none.")
      .def("__len__", &Forest::size)
      .def_prop_ro("n_outputs", &Forest::n_outputs)
      .def(
          "append", [](Forest& forest, const Tree& tree) { forest.append(tree); }, nb::arg("tree"))
      .def(
          "first",
          [](const Forest& forest, std::int64_t n_trees) {
            check(0 <= n_trees && n_trees <= forest.size(), "there are fewer trees");
            return forest.first(n_trees);
          },
          nb::arg("n_trees"), "A forest of the first trees.")
      .def(
          "tree",
          [](const Forest& forest, std::int64_t index) {
            check(0 <= index && index < forest.size(), "no such tree");
            const TreeView view = forest.tree(index);
            return Tree{{view.splits.begin(), view.splits.end()},
                        {view.leaf_values.begin(), view.leaf_values.end()},
                        {view.category_sets.begin(), view.category_sets.end()},
                        view.n_outputs,
                        {view.leaf_covers.begin(), view.leaf_covers.end()}};
          },
          nb::arg("index"))
      .def_prop_ro(
          "features", [](const Forest& forest) { return to_numpy(used_features(forest.splits())); },
          nb::rv_policy::automatic, "The features that the trees use, ascending.")
      .def(
          "narrow",
          [](const Forest& forest) {
            const auto n_features = static_cast<std::int64_t>(used_features(forest.splits()).size());
            return Forest(narrow(forest.splits()), forest.leaf_values(), forest.split_offsets(), forest.category_sets(),
                          n_features, forest.n_outputs(), forest.leaf_covers());
          },
          "The same trees over columns that hold just the features that they use.")
      .def_prop_ro(
          "splits", [](const Forest& forest) { return bytes_to_numpy<Split>(forest.splits()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "category_sets", [](const Forest& forest) { return bytes_to_numpy<CategorySet>(forest.category_sets()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "leaf_values", [](const Forest& forest) { return values_to_numpy(forest.leaf_values(), forest.n_outputs()); },
          nb::rv_policy::automatic)
      .def_prop_ro("has_covers", &Forest::has_covers)
      .def_prop_ro(
          "leaf_covers", [](const Forest& forest) { return to_numpy(std::vector<float>(forest.leaf_covers())); },
          nb::rv_policy::automatic, "The weight of training rows in each leaf; empty where it is unknown.")
      .def_prop_ro(
          "split_offsets",
          [](const Forest& forest) { return to_numpy(std::vector<std::int64_t>(forest.split_offsets())); },
          nb::rv_policy::automatic)
      .def(
          "add_votes",
          [](const Forest& forest, const BinnedColumns& columns, std::int64_t begin, std::int64_t end,
             Vector<std::int32_t> total, Threads& threads) {
            check_trees(forest, begin, end, columns);
            check_single(forest.n_outputs());
            check_size(total, columns.n_rows(), "the output must have one entry per row");
            nb::gil_scoped_release release;
            forest.add_votes(columns, begin, end, total.data(), threads);
          },
          nb::arg("columns"), nb::arg("begin"), nb::arg("end"), nb::arg("total").noconvert(), nb::arg("threads"),
          "Add the votes of trees [begin, end) to each row's total.")
      .def(
          "add_class_votes",
          [](const Forest& forest, const BinnedColumns& columns, std::int64_t begin, std::int64_t end,
             Matrix<std::int32_t> total, Threads& threads) {
            const auto n_classes = static_cast<std::int64_t>(total.shape(1));
            check_trees(forest, begin, end, columns);
            check_shape(total, columns.n_rows(), n_classes, "the output must have one entry per row");
            for (std::int64_t t = begin; t < end; ++t) check_classes(forest.tree(t), n_classes);
            nb::gil_scoped_release release;
            forest.add_class_votes(columns, begin, end, n_classes, total.data(), threads);
          },
          nb::arg("columns"), nb::arg("begin"), nb::arg("end"), nb::arg("total").noconvert(), nb::arg("threads"),
          "Count the classes that trees [begin, end) vote for in each row's totals, one per class.")
      .def(
          "add_values",
          [](const Forest& forest, const BinnedColumns& columns, std::int64_t begin, std::int64_t end,
             LeafValues<double> total, Threads& threads) {
            check_trees(forest, begin, end, columns);
            check_output(total, columns.n_rows(), forest.n_outputs());
            nb::gil_scoped_release release;
            forest.add_values(columns, begin, end, total.data(), threads);
          },
          nb::arg("columns"), nb::arg("begin"), nb::arg("end"), nb::arg("total").noconvert(), nb::arg("threads"),
          "Add the leaf values of trees [begin, end), in their order, to each row's total, or row of totals.");
}

}  // namespace mpboost::bindings
