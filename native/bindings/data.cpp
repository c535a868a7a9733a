#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "bindings.hpp"
#include "mpboost/binning.hpp"
#include "mpboost/row_sample.hpp"

namespace mpboost::bindings {
namespace {

using Array1d = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Array2d = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

Dtype look_up_dtype(nb::dlpack::dtype dtype) {
  const std::pair<nb::dlpack::dtype, Dtype> known[] = {
      {nb::dtype<bool>(), Dtype::boolean},         {nb::dtype<std::int8_t>(), Dtype::int8},
      {nb::dtype<std::int16_t>(), Dtype::int16},   {nb::dtype<std::int32_t>(), Dtype::int32},
      {nb::dtype<std::int64_t>(), Dtype::int64},   {nb::dtype<std::uint8_t>(), Dtype::uint8},
      {nb::dtype<std::uint16_t>(), Dtype::uint16}, {nb::dtype<std::uint32_t>(), Dtype::uint32},
      {nb::dtype<std::uint64_t>(), Dtype::uint64}, {nb::dtype<float>(), Dtype::float32},
      {nb::dtype<double>(), Dtype::float64},
  };
  for (const auto& [candidate, ours] : known)
    if (candidate == dtype) return ours;
  throw nb::type_error("tables must hold bool, integers, float32 or float64");
}

TableView as_table(const Array2d& array) {
  const auto item = static_cast<std::int64_t>(array.itemsize());
  return {array.data(),
          look_up_dtype(array.dtype()),
          static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1)),
          array.stride(0) * item,
          array.stride(1) * item};
}

TableView as_column(const Array1d& array) {
  const auto item = static_cast<std::int64_t>(array.itemsize());
  const auto n = static_cast<std::int64_t>(array.shape(0));
  return {array.data(), look_up_dtype(array.dtype()), n, 1, array.stride(0) * item, 0};
}

SparseView as_sparse(const Vector<const std::int64_t>& indptr, const Array1d& indices, const Array1d& data,
                     std::int64_t n_rows) {
  const auto offsets = as_span(indptr);
  const TableView rows = as_column(indices);
  if (rows.dtype != Dtype::int32 && rows.dtype != Dtype::int64) throw nb::type_error("indices must be int32 or int64");
  return {n_rows, {offsets.begin(), offsets.end()}, rows, as_column(data)};
}

using OptionalRows = std::optional<Vector<const std::int64_t>>;

// Others may write to the array while the interpreter is released.
std::optional<std::vector<std::int64_t>> copy(const OptionalRows& rows) {
  if (!rows) return std::nullopt;
  const auto given = as_span(*rows);
  return std::vector<std::int64_t>(given.begin(), given.end());
}

void check_max_bins(int max_bins) {
  check(2 <= max_bins && max_bins <= max_value_bins, "max_bins must be in [2, 255]");
}

// A view of a vector that lives as long as the object that the property belongs to.
template <class T>
auto view(const std::vector<T>& values) {
  return nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()});
}

BinnedColumns make_view(const Matrix<const std::uint8_t>& codes, std::int64_t n_rows,
                        const Vector<const std::int64_t>& n_bins, const Vector<const bool>& has_missing,
                        bool is_checked) {
  const auto n_columns = static_cast<std::int64_t>(codes.shape(0));
  check_size(n_bins, n_columns, "there must be a number of bins for each column");
  check_size(has_missing, n_columns, "it must be said of each column whether values are missing");
  BinnedColumns columns(n_rows, n_columns, codes.data());
  check(static_cast<std::int64_t>(codes.shape(1)) == columns.stride(),
        "columns must be padded to the next multiple of 128 rows");
  for (std::int64_t j = 0; j < n_columns; ++j) {
    check(1 <= n_bins.data()[j] && n_bins.data()[j] <= max_value_bins, "numbers of bins must be in [1, 255]");
    columns.set_n_bins(j, static_cast<int>(n_bins.data()[j]));
    columns.set_has_missing(j, has_missing.data()[j]);
  }
  nb::gil_scoped_release release;
  for (std::int64_t j = 0; is_checked && j < n_columns; ++j)
    check(columns.keeps_promises(j), "a column has codes beyond its bins");
  return columns;
}

void bind_columns(nb::module_& module) {
  nb::class_<BinnedColumns>(module, "BinnedColumns", "A table as columns of 8-bit codes; 255 is missing.")
      .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("n_rows"), nb::arg("n_columns"), "All codes are 0.")
      .def_static("view", make_view, nb::arg("codes").noconvert(), nb::arg("n_rows"), nb::arg("n_bins"),
                  nb::arg("has_missing"), nb::arg("is_checked") = true, nb::keep_alive<0, 1>(),
                  "Columns over an array that is not copied and must not change: of shape (n_columns, n_rows up to the "
                  "next multiple of 128). Without the check, wrong codes give wrong results, but do no other harm.")
      .def("slice", &BinnedColumns::slice, nb::arg("first_row"), nb::arg("n_rows"), nb::keep_alive<0, 1>(),
           "Columns over some rows of these, from a multiple of 128 on: no copy. Their bins are those of all rows.")
      .def(
          "put",
          [](BinnedColumns& columns, std::int64_t column, std::int64_t first_row,
             const Vector<const std::uint8_t>& codes, int n_bins) {
            const auto given = as_span(codes);
            nb::gil_scoped_release release;
            columns.put(column, first_row, given, n_bins);
          },
          nb::arg("column"), nb::arg("first_row"), nb::arg("codes").noconvert(), nb::arg("n_bins"),
          "Store codes, say of categories, in a column from a row on. Codes from n_bins on, but for 255, go to the "
          "last "
          "bin.")
      .def_prop_ro("n_rows", &BinnedColumns::n_rows)
      .def_prop_ro("n_columns", &BinnedColumns::n_columns)
      .def_prop_ro(
          "codes",
          [](const BinnedColumns& columns) {
            return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<2>>(
                columns.column(0),
                {static_cast<std::size_t>(columns.n_columns()), static_cast<std::size_t>(columns.n_rows())},
                nb::handle(), {columns.stride(), 1});
          },
          nb::rv_policy::reference_internal, "The codes as an array of shape (n_columns, n_rows), not copied.")
      .def(
          "n_bins",
          [](const BinnedColumns& columns, std::int64_t column) {
            check(0 <= column && column < columns.n_columns(), "no such column");
            return columns.n_bins(column);
          },
          nb::arg("column"), "Codes of values in a column are below this.")
      .def(
          "has_missing",
          [](const BinnedColumns& columns, std::int64_t column) {
            check(0 <= column && column < columns.n_columns(), "no such column");
            return columns.has_missing(column);
          },
          nb::arg("column"), "False only where no value of a column is missing.");

  nb::class_<SparseColumns>(module, "SparseColumns", "A table as columns of 8-bit codes, most of them that of zero.")
      .def_prop_ro("n_rows", &SparseColumns::n_rows)
      .def_prop_ro("n_columns", &SparseColumns::n_columns)
      .def_prop_ro("n_stored", [](const SparseColumns& columns) { return columns.codes().size(); })
      .def_prop_ro(
          "indptr", [](const SparseColumns& columns) { return view(columns.offsets()); },
          nb::rv_policy::reference_internal, "Entries of column j are at [indptr[j], indptr[j + 1]).")
      .def_prop_ro(
          "rows", [](const SparseColumns& columns) { return view(columns.rows()); }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "codes", [](const SparseColumns& columns) { return view(columns.codes()); },
          nb::rv_policy::reference_internal)
      .def(
          "equals",
          [](const SparseColumns& columns, const SparseColumns& other) {
            nb::gil_scoped_release release;
            return columns == other;
          },
          nb::arg("other"), "Whether another table stores the same entries and has the same bins.")
      .def("append", &SparseColumns::append, nb::arg("other"), "Add the columns of another table with the same rows.")
      .def(
          "expand",
          [](const SparseColumns& columns, Vector<const std::int64_t> features, BinnedColumns& out, Threads& threads) {
            const auto named = as_span(features);
            const std::vector<std::int64_t> kept(named.begin(), named.end());  // others may write to the array
            nb::gil_scoped_release release;
            columns.expand(kept, out, threads);
          },
          nb::arg("features"), nb::arg("out"), nb::arg("threads"),
          "Write the columns of some features to the first columns of `out`, whatever it held.");
}

}  // namespace

void bind_data(nb::module_& module) {
  bind_columns(module);
  module.def(
      "sample_rows",
      [](std::int64_t first_row, std::int64_t n_rows, std::int64_t n_total, std::int64_t max_rows) {
        std::vector<std::int64_t> rows;
        {
          nb::gil_scoped_release release;
          rows = sample_rows(first_row, n_rows, n_total, max_rows);
        }
        return to_numpy(std::move(rows));
      },
      nb::arg("first_row"), nb::arg("n_rows"), nb::arg("n_total"), nb::arg("max_rows") = max_bin_rows,
      "List the rows of a range, ascending, that are in the sample of a table of n_total rows: all or, of more than "
      "max_rows, about so many. The sample of a longer table takes no other rows from the range.");
  nb::class_<BinMapper>(module, "BinMapper", "Where the bins of each feature end: code <= b means value <= edges[b].")
      .def_static(
          "fit",
          [](const Array2d& table, int max_bins, Threads& threads, const OptionalRows& rows) {
            check_max_bins(max_bins);
            const TableView view = as_table(table);
            const auto kept = copy(rows);
            nb::gil_scoped_release release;
            return BinMapper::fit(view, max_bins, threads, kept);
          },
          nb::arg("table"), nb::arg("max_bins"), nb::arg("threads"), nb::arg("rows") = nb::none(),
          "Compute the bins of each column from some rows, ascending, or from all.")
      .def_static(
          "fit_sparse",
          [](Vector<const std::int64_t> indptr, const Array1d& indices, const Array1d& data, std::int64_t n_rows,
             int max_bins, Threads& threads, const OptionalRows& rows) {
            check_max_bins(max_bins);
            const SparseView table = as_sparse(indptr, indices, data, n_rows);
            const auto kept = copy(rows);
            nb::gil_scoped_release release;
            return BinMapper::fit(table, max_bins, threads, kept);
          },
          nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("n_rows"), nb::arg("max_bins"),
          nb::arg("threads"), nb::arg("rows") = nb::none(), "The same bins as from the dense table.")
      .def(
          "__init__",
          [](BinMapper* self, Vector<const double> edges, Vector<const std::int64_t> offsets) {
            const auto e = as_span(edges);
            const auto o = as_span(offsets);
            new (self) BinMapper({e.begin(), e.end()}, {o.begin(), o.end()});
          },
          nb::arg("edges"), nb::arg("offsets"))
      .def_prop_ro("n_features", &BinMapper::n_features)
      .def_prop_ro(
          "edges", [](const BinMapper& mapper) { return to_numpy(std::vector<double>(mapper.edges())); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "offsets", [](const BinMapper& mapper) { return to_numpy(std::vector<std::int64_t>(mapper.offsets())); },
          nb::rv_policy::automatic)
      .def(
          "transform",
          [](const BinMapper& mapper, const Array2d& table, Threads& threads) {
            const TableView view = as_table(table);
            nb::gil_scoped_release release;
            return mapper.transform(view, threads);
          },
          nb::arg("table"), nb::arg("threads"))
      .def(
          "encode",
          [](const BinMapper& mapper, const Array2d& table, BinnedColumns& columns, std::int64_t first_row,
             std::int64_t first_column, Threads& threads) {
            const TableView piece = as_table(table);
            nb::gil_scoped_release release;
            mapper.encode(piece, columns, first_row, first_column, threads);
          },
          nb::arg("table"), nb::arg("columns"), nb::arg("first_row"), nb::arg("first_column"), nb::arg("threads"),
          "Code a piece of a table, whose first cell belongs to (first_row, first_column) of the columns.")
      .def(
          "transform_sparse",
          [](const BinMapper& mapper, Vector<const std::int64_t> indptr, const Array1d& indices, const Array1d& data,
             std::int64_t n_rows, Threads& threads, std::int64_t first_feature) {
            const SparseView table = as_sparse(indptr, indices, data, n_rows);
            nb::gil_scoped_release release;
            return SparseColumns(table, mapper, first_feature, threads);
          },
          nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("n_rows"), nb::arg("threads"),
          nb::arg("first_feature") = 0, "Code a sparse table whose columns are the features from `first_feature` on.")
      .def("append", &BinMapper::append, nb::arg("other"), "Add the features of another mapper.");
}

}  // namespace mpboost::bindings
