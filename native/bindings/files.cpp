#include <nanobind/stl/filesystem.h>

#include "bindings.hpp"
#include "mpboost/mapped_file.hpp"

namespace mpboost::bindings {
namespace {

// Raise an OSError, or the kind of it that belongs to the number, as Python's open does.
[[noreturn]] void raise(const FileError& error, const std::filesystem::path& path) {
  const nb::object name = nb::steal(PyUnicode_DecodeFSDefault(path.c_str()));
  const nb::object raised = nb::handle(PyExc_OSError)(error.number(), error.what(), name);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

}  // namespace

void bind_files(nb::module_& module) {
  nb::class_<MappedFile>(module, "MappedFile", nb::is_weak_referenceable(),
                         "A whole file, mapped read-only. Where it is cut short or cannot be read while it is mapped, "
                         "it reads as zeros, and is_intact tells.")
      .def(
          "__init__",
          [](MappedFile* self, const std::filesystem::path& path) {
            try {
              nb::gil_scoped_release release;  // a file may be far away
              new (self) MappedFile(path.string());
            } catch (const FileError& error) {
              raise(error, path);
            }
          },
          nb::arg("path"))
      .def_prop_ro("size", [](const MappedFile& file) { return file.bytes().size(); })
      .def_prop_ro(
          "data",
          [](const MappedFile& file) {
            return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(file.bytes().data(), {file.bytes().size()});
          },
          nb::rv_policy::reference_internal, "The bytes as an array, not copied, which keeps the file mapped.")
      .def_prop_ro("is_intact", &MappedFile::is_intact,
                   "False once the file has another size than when it was mapped, or some of it could not be read.");
}

}  // namespace mpboost::bindings
