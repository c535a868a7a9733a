#include <utility>

#include "bindings.hpp"
#include "mpboost/binning.hpp"

namespace mpboost::bindings {
namespace {

using Array2d = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

Dtype find_dtype(nb::dlpack::dtype dtype) {
  const std::pair<nb::dlpack::dtype, Dtype> known[] = {
      {nb::dtype<bool>(), Dtype::boolean},          {nb::dtype<std::int8_t>(), Dtype::int8},
      {nb::dtype<std::int16_t>(), Dtype::int16},    {nb::dtype<std::int32_t>(), Dtype::int32},
      {nb::dtype<std::int64_t>(), Dtype::int64},    {nb::dtype<std::uint8_t>(), Dtype::uint8},
      {nb::dtype<std::uint16_t>(), Dtype::uint16},  {nb::dtype<std::uint32_t>(), Dtype::uint32},
      {nb::dtype<std::uint64_t>(), Dtype::uint64},  {nb::dtype<float>(), Dtype::float32},
      {nb::dtype<double>(), Dtype::float64},
  };
  for (const auto& [candidate, ours] : known)
    if (candidate == dtype) return ours;
  throw nb::type_error("tables must hold bool, integers, float32 or float64");
}

TableView as_table(const Array2d& array) {
  const auto item = static_cast<std::int64_t>(array.itemsize());
  return {array.data(),
          find_dtype(array.dtype()),
          static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1)),
          array.stride(0) * item,
          array.stride(1) * item};
}

}  // namespace

void bind_data(nb::module_& module) {
  nb::class_<BinnedColumns>(module, "BinnedColumns", "A table as columns of 8-bit codes; 255 is missing.")
      .def_prop_ro("n_rows", &BinnedColumns::n_rows)
      .def_prop_ro("n_columns", &BinnedColumns::n_columns)
      .def_prop_ro(
          "codes",
          [](BinnedColumns& columns) {
            return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<2>>(
                columns.column(0),
                {static_cast<std::size_t>(columns.n_columns()), static_cast<std::size_t>(columns.n_rows())},
                nb::handle(), {columns.stride(), 1});
          },
          nb::rv_policy::reference_internal, "The codes as an array of shape (n_columns, n_rows), not copied.");

  nb::class_<BinMapper>(module, "BinMapper", "Where the bins of each feature end: code <= b means value <= edges[b].")
      .def_static(
          "fit",
          [](const Array2d& table, int max_bins, std::uint64_t seed, Threads& threads) {
            check(2 <= max_bins && max_bins <= max_value_bins, "max_bins must be in [2, 255]");
            const TableView view = as_table(table);
            nb::gil_scoped_release release;
            return BinMapper::fit(view, max_bins, seed, threads);
          },
          nb::arg("table"), nb::arg("max_bins"), nb::arg("seed"), nb::arg("threads"))
      .def("__init__",
           [](BinMapper* self, Vector<const double> edges, Vector<const std::int64_t> offsets) {
             const auto e = as_span(edges);
             const auto o = as_span(offsets);
             new (self) BinMapper({e.begin(), e.end()}, {o.begin(), o.end()});
           },
           nb::arg("edges"), nb::arg("offsets"))
      .def_prop_ro("n_features", &BinMapper::n_features)
      .def_prop_ro("edges", [](const BinMapper& mapper) { return to_numpy(std::vector<double>(mapper.edges())); }, nb::rv_policy::automatic)
      .def_prop_ro("offsets",
                   [](const BinMapper& mapper) { return to_numpy(std::vector<std::int64_t>(mapper.offsets())); }, nb::rv_policy::automatic)
      .def(
          "transform",
          [](const BinMapper& mapper, const Array2d& table, Threads& threads) {
            const TableView view = as_table(table);
            nb::gil_scoped_release release;
            return mapper.transform(view, threads);
          },
          nb::arg("table"), nb::arg("threads"));
}

}  // namespace mpboost::bindings
