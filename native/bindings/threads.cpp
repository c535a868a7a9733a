#include "mpboost/threads.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <string>

#include "bindings.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost::bindings {

namespace {

std::string describe_compiler() {
#if defined(__clang__)
  return __VERSION__;  // begins with its name
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#elif defined(_MSC_VER)
  return "MSVC " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

// Only what the function does outside of the interpreter, such as growing a tree, runs side by side.
nb::list map_side_by_side(Threads& threads, const nb::callable& function, const nb::sequence& items) {
  std::vector<nb::object> given, results;
  for (nb::handle item : items) given.push_back(nb::borrow(item));
  results.resize(given.size());
  {
    nb::gil_scoped_release release;
    threads.for_ranges(std::ssize(given), 1, [&](std::int64_t begin, std::int64_t end) {
      nb::gil_scoped_acquire acquire;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
        results[i] = function(given[i]);
    });
  }
  nb::list all;
  for (const nb::object& result : results) all.append(result);
  return all;
}

// Copy an array into another of the same size.
void copy_array(Threads& threads, nb::ndarray<nb::ro, nb::numpy, nb::c_contig, nb::device::cpu> from,
                nb::ndarray<nb::numpy, nb::c_contig, nb::device::cpu> to) {
  check(from.dtype() == to.dtype() && from.nbytes() == to.nbytes(), "arrays must have the same type and size");
  const auto* source = static_cast<const char*>(from.data());
  auto* target = static_cast<char*>(to.data());
  nb::gil_scoped_release release;
  threads.for_ranges(static_cast<std::int64_t>(to.nbytes()), 1 << 17, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

void bind_threads(nb::module_& module) {
  nb::class_<Threads>(
      module, "Threads",
      "Threads that live as long as this object; not to be shared by concurrent calls. Their number, `size`, "
      "is lower than n_threads if the system refused to start more.")
      .def(nb::init<int>(), nb::arg("n_threads"))
      .def_prop_ro("size", &Threads::size)
      .def(
          "map", map_side_by_side, nb::arg("function"), nb::arg("items"),
          "Call a function of Python with each item, in several threads; return the results in the order of the items. "
          "It must not use these threads itself.")
      .def("copy", copy_array, nb::arg("source").noconvert(), nb::arg("target").noconvert(),
           "Copy an array into another of the same type and size.");

  module.def(
      "available_kernels",
      [] {
        std::vector<std::string> names;
        for (const Kernels* candidate : available_kernels()) names.emplace_back(candidate->name);
        return names;
      },
      "Instruction sets that this processor can run, best first.");
  module.def("current_kernels", [] { return std::string(kernels().name); });
  module.def(
      "use_kernels", [](const std::string& name) { check(use_kernels(name), "no such kernels on this processor"); },
      nb::arg("name"), "Choose an instruction set by name, for tests.");
  module.def("describe_compiler", describe_compiler, "Name and version of the compiler that built this engine.");
}

}  // namespace mpboost::bindings
