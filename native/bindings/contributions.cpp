#include "mpboost/contributions.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <string_view>

#include "trees.hpp"

#include <nanobind/stl/string_view.h>

namespace mpboost::bindings {
namespace {

template <int n_axes>
using Out = nb::ndarray<double, nb::numpy, nb::ndim<n_axes>, nb::c_contig, nb::device::cpu>;

Explained as_explained(const Forest& forest, std::string_view kind, std::int64_t n_outputs,
                       const std::optional<Matrix<const double>>& factors) {
  Explained explained{LeafKind::values, n_outputs, nullptr};
  if (kind == "classes") {
    explained.kind = LeafKind::classes;
    for (std::int64_t t = 0; t < forest.size(); ++t) check_classes(forest.tree(t), n_outputs);
  } else if (kind == "signs") {
    explained.kind = LeafKind::signs;
    check_single(forest.n_outputs());
    check(factors || n_outputs == 1, "several outputs need factors");
  } else {
    check(kind == "values", "leaves are values, signs or classes");
    check(n_outputs == forest.n_outputs(), "the output must have a row per output of the trees");
  }
  if (factors) {
    check(kind == "signs", "only signs have factors");
    check_shape(*factors, forest.size(), n_outputs, "factors must have a row per tree and a column per output");
    explained.factors = factors->data();
  }
  return explained;
}

void check_columns_of(const Forest& forest, const BinnedColumns& columns) {
  for (std::int64_t t = 0; t < forest.size(); ++t)
    check(forest.n_needed_columns(t) <= columns.n_columns(), "the tree uses a column that does not exist");
}

}  // namespace

void bind_contributions(nb::module_& module) {
  module.def(
      "add_contributions",
      [](const Forest& forest, const BinnedColumns& columns, const BinnedColumns* background, std::string_view kind,
         Out<3> out, Threads& threads, const std::optional<Matrix<const double>>& factors) {
        check_columns_of(forest, columns);
        check(static_cast<std::int64_t>(out.shape(0)) == columns.n_rows() &&
                  static_cast<std::int64_t>(out.shape(2)) == columns.n_columns() + 1,
              "the output must have the shape (n_rows, n_outputs, n_columns + 1)");
        const Explained explained = as_explained(forest, kind, static_cast<std::int64_t>(out.shape(1)), factors);
        if (background) {
          check(background->n_rows() > 0, "a background needs a row");
          check_columns_of(forest, *background);
        }
        nb::gil_scoped_release release;
        if (background)
          add_background_contributions(forest, columns, *background, explained, out.data(), threads);
        else
          add_contributions(forest, columns, explained, out.data(), threads);
      },
      nb::arg("forest"), nb::arg("columns"), nb::arg("background").none(), nb::arg("kind"), nb::arg("out").noconvert(),
      nb::arg("threads"), nb::arg("factors") = nb::none(),
      "Add contributions of the columns, and behind them the expected output, to `out`: (n_rows, n_outputs, n_columns "
      "+ "
      "1). Leaves are values, signs or classes; signs may count for several outputs, by factors of the trees.");
  module.def(
      "add_interactions",
      [](const Forest& forest, const BinnedColumns& columns, std::string_view kind, Out<4> out, Threads& threads,
         const std::optional<Matrix<const double>>& factors) {
        check_columns_of(forest, columns);
        const auto width = static_cast<std::size_t>(columns.n_columns() + 1);
        check(static_cast<std::int64_t>(out.shape(0)) == columns.n_rows() && out.shape(2) == width &&
                  out.shape(3) == width,
              "the output must have the shape (n_rows, n_outputs, n_columns + 1, n_columns + 1)");
        const Explained explained = as_explained(forest, kind, static_cast<std::int64_t>(out.shape(1)), factors);
        nb::gil_scoped_release release;
        add_interactions(forest, columns, explained, out.data(), threads);
      },
      nb::arg("forest"), nb::arg("columns"), nb::arg("kind"), nb::arg("out").noconvert(), nb::arg("threads"),
      nb::arg("factors") = nb::none(),
      "Add interactions of pairs of columns to `out`: (n_rows, n_outputs, n_columns + 1, n_columns + 1). The diagonal "
      "and the last row and column stay as they are.");
}

}  // namespace mpboost::bindings
