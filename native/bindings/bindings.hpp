// What the bindings share: array types, and checks that keep a wrong call from touching memory that is not ours.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mpboost/chunk_sums.hpp"

namespace mpboost::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Matrix = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void check(bool is_right, const char* message) {
  if (!is_right) throw std::invalid_argument(message);
}

template <class T>
void check_size(const Vector<T>& vector, std::int64_t size, const char* message) {
  check(static_cast<std::int64_t>(vector.size()) == size, message);
}

template <class T>
void check_shape(const Matrix<T>& matrix, std::int64_t n_rows, std::int64_t n_columns, const char* message) {
  check(static_cast<std::int64_t>(matrix.shape(0)) == n_rows, message);
  check(static_cast<std::int64_t>(matrix.shape(1)) == n_columns, message);
}

template <class T>
std::span<const T> as_span(const Vector<const T>& vector) {
  return {vector.data(), vector.size()};
}

// Without a branch for each: an index out of range, or what is left up to the last one, has its sign bit set.
inline void check_indices(const Vector<const std::int64_t>& indices, std::int64_t limit, const char* message) {
  std::uint64_t bits = 0;
  for (const std::int64_t index : as_span(indices)) {
    const auto i = static_cast<std::uint64_t>(index);
    bits |= i | (static_cast<std::uint64_t>(limit - 1) - i);
  }
  check(bits >> 63 == 0, message);
}

// Python's handle of a vector, which is freed with it.
template <class T>
nb::capsule own(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  nb::capsule owner(owned.get(),
                    [](void* p) noexcept { std::default_delete<std::vector<T>>{}(static_cast<std::vector<T>*>(p)); });
  static_cast<void>(owned.release());  // the capsule has it now
  return owner;
}

// A numpy array that owns what was a vector, of a shape with as many entries.
template <class T, std::size_t n_dimensions>
auto to_numpy(std::vector<T>&& values, const std::size_t (&shape)[n_dimensions]) {
  T* data = values.data();  // stays where it is when the vector moves
  return nb::ndarray<nb::numpy, T, nb::ndim<n_dimensions>>(data, n_dimensions, shape, own(std::move(values)));
}

template <class T>
auto to_numpy(std::vector<T>&& values) {
  return to_numpy(std::move(values), {values.size()});
}

// Lets Ctrl-C interrupt long work outside of the interpreter. Asking the interpreter means to wait for it, so it is
// asked only from time to time.
class SignalPoll {
 public:
  void operator()() {
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < 20ms) return;
    last_ = now;
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Call use(threads) with the threads that are given, or with none but this one.
template <class Use>
auto with_threads(Threads* given, Use use) {
  Threads alone(1);
  return use(given ? *given : alone);
}

// Call sum(sums) with the sums of the rows before, or with none.
template <class Sum>
auto with_sums(RowSums* given, Sum sum) {
  RowSums own;
  return sum(given ? *given : own);
}

void bind_threads(nb::module_& module);
void bind_contributions(nb::module_& module);
void bind_sums(nb::module_& module);
void bind_data(nb::module_& module);
void bind_files(nb::module_& module);
void bind_elementary(nb::module_& module);
void bind_sampling(nb::module_& module);
void bind_trees(nb::module_& module);
void bind_outputs(nb::module_& module);
void bind_forests(nb::module_& module);
void bind_gradient_trees(nb::module_& module);
void bind_gradients(nb::module_& module);

}  // namespace mpboost::bindings
