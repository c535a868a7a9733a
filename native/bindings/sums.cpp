#include "mpboost/chunk_sums.hpp"

#include <nanobind/stl/pair.h>

#include "bindings.hpp"
#include "mpboost/row_totals.hpp"

namespace mpboost::bindings {
namespace {

template <class T>
void bind_sum_values(nb::module_& module) {
  module.def(
      "sum_values",
      [](Vector<const T> values, Threads& threads, RowSums* sums) {
        nb::gil_scoped_release release;
        const auto n_rows = static_cast<std::int64_t>(values.size());
        return with_sums(sums, [&](RowSums& all) { return sum_values(values.data(), n_rows, all, threads); });
      },
      nb::arg("values").noconvert(), nb::arg("threads"), nb::arg("sums").none() = nb::none(),
      "The sum of numbers, one per row.");
}

}  // namespace

void bind_sums(nb::module_& module) {
  nb::class_<RowSums>(
      module, "RowSums",
      "Sums over rows that may come in parts, each beginning at a multiple of CHUNK_ROWS. A function that is given one "
      "as `sums` takes its rows for those that follow, and returns the sums of all: the same bits for any parts.")
      .def(nb::init<std::int64_t>(), nb::arg("first_row") = 0)
      .def_prop_ro("first_row", &RowSums::first_row)
      .def_prop_ro("end_row", &RowSums::end_row)
      .def("append", &RowSums::append, nb::arg("next"), "Add the sums of the rows that follow.")
      .def(
          "total", [](const RowSums& sums) { return to_numpy(sums.total()); }, "The sums of all rows.")
      .def("__getstate__",
           [](const RowSums& sums) {
             RowSums::State state = sums.state();
             return nb::make_tuple(to_numpy(std::move(state.integers)), to_numpy(std::move(state.sums)));
           })
      .def("__setstate__", [](RowSums& sums, std::pair<Vector<const std::int64_t>, Vector<const double>> state) {
        const auto& [integers, numbers] = state;
        new (&sums) RowSums(RowSums::from_state(
            {{integers.data(), integers.data() + integers.size()}, {numbers.data(), numbers.data() + numbers.size()}}));
      });
  module.attr("CHUNK_ROWS") = chunk_rows;

  bind_sum_values<double>(module);
  bind_sum_values<float>(module);

  module.def(
      "sum_by_class",
      [](Vector<const double> values, Vector<const std::uint16_t> classes, std::int64_t n_classes, Threads& threads,
         RowSums* sums) {
        const auto n_rows = static_cast<std::int64_t>(values.size());
        check_size(classes, n_rows, "all arrays must have one entry per row");
        check(1 <= n_classes && n_classes <= 65'536, "there must be 1 to 65536 classes");
        for (const std::uint16_t k : as_span(classes)) check(k < n_classes, "there is a class that does not exist");
        std::vector<double> totals;
        {
          nb::gil_scoped_release release;
          totals = with_sums(sums, [&](RowSums& all) {
            return sum_by_class(values.data(), classes.data(), n_rows, n_classes, all, threads);
          });
        }
        return to_numpy(std::move(totals));
      },
      nb::arg("values"), nb::arg("classes").noconvert(), nb::arg("n_classes"), nb::arg("threads"),
      nb::arg("sums").none() = nb::none(), "The sums of numbers over the rows of each class.");
}

}  // namespace mpboost::bindings
