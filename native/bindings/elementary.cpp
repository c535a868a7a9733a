#include "mpboost/elementary.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "bindings.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/log_odds.hpp"

namespace mpboost::bindings {
namespace {

using Numbers = nb::ndarray<const double, nb::numpy, nb::c_contig, nb::device::cpu>;  // of any shape
using NewNumbers = nb::ndarray<nb::numpy, double>;

using Function = void (*Kernels::*)(double*, std::int64_t);

// Bind a function of one number, and of each number of an array.
void bind_function(nb::module_& module, const char* name, Function function, const char* doc) {
  module.def(
      name,
      [function](double x) {
        (kernels().*function)(&x, 1);
        return x;
      },
      nb::arg("x").noconvert(), doc);
  module.def(
      name,
      [function](const Numbers& x) {
        std::vector<double> values(x.data(), x.data() + x.size());
        std::vector<std::size_t> shape(x.shape_ptr(), x.shape_ptr() + x.ndim());
        (kernels().*function)(values.data(), static_cast<std::int64_t>(values.size()));
        double* data = values.data();
        return NewNumbers(data, shape.size(), shape.data(), own(std::move(values)));
      },
      nb::arg("x"), doc);
}

template <class Label, class Raw>
std::pair<double, double> sum_losses(const Raw& raw, const Vector<const Label>& labels,
                                     const std::optional<Vector<const double>>& weights, std::int64_t n_classes,
                                     Threads* threads) {
  const auto n_rows = static_cast<std::int64_t>(raw.shape(0));
  check_size(labels, n_rows, "every row needs a label");
  if (weights) check_size(*weights, n_rows, "every row needs a weight");
  nb::gil_scoped_release release;
  const LogOdds<Label> rows{n_rows, n_classes, raw.data(), labels.data(), weights ? weights->data() : nullptr};
  const auto [loss, n_right] = with_threads(threads, [&](Threads& some) { return sum_log_losses(rows, some); });
  return std::pair(loss, n_right);
}

}  // namespace

void bind_elementary(nb::module_& module) {
  bind_function(module, "log_of", &Kernels::log_of, "The natural logarithm, with the same bits on any processor.");
  bind_function(module, "log1p_of", &Kernels::log1p_of, "log(1 + x), with the same bits on any processor.");
  bind_function(module, "exp_of", &Kernels::exp_of, "exp(x), with the same bits on any processor.");
  bind_function(module, "expm1_of", &Kernels::expm1_of, "exp(x) - 1, with the same bits on any processor.");
  bind_function(module, "logistic_of", &Kernels::logistic_of,
                "1 / (1 + exp(-x)), with the same bits on any processor.");
  bind_function(module, "softplus_of", &Kernels::softplus_of, "log(1 + exp(x)), with the same bits on any processor.");

  module.def(
      "softmax_of",
      [](Matrix<const double> raw) {
        std::vector<double> shares(raw.size());
        check(raw.shape(0) == 0 || raw.shape(1) > 0, "there are no classes");
        compute_shares(raw.data(), static_cast<std::int64_t>(raw.shape(0)), static_cast<std::int64_t>(raw.shape(1)),
                       shares.data());
        return to_numpy(std::move(shares), {raw.shape(0), raw.shape(1)});
      },
      nb::arg("raw"), "exp(raw) as shares of its sum in each row.");

  module.def(
      "sum_log_losses",
      [](Vector<const double> raw, Vector<const std::int8_t> labels, const std::optional<Vector<const double>>& weights,
         Threads* threads) { return sum_losses<std::int8_t>(raw, labels, weights, 2, threads); },
      nb::arg("raw"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("threads") = nb::none(),
      "The sums of the log losses of rows, and of the rows that are right, times weights, given log odds of two "
      "classes, and labels -1 and +1.");
  module.def(
      "sum_log_losses",
      [](Matrix<const double> raw, Vector<const std::uint16_t> labels,
         const std::optional<Vector<const double>>& weights, Threads* threads) {
        const auto n_classes = static_cast<std::int64_t>(raw.shape(1));
        for (const std::uint16_t k : as_span(labels)) check(k < n_classes, "there is a class that does not exist");
        return sum_losses<std::uint16_t>(raw, labels, weights, n_classes, threads);
      },
      nb::arg("raw"), nb::arg("labels"), nb::arg("weights").none(), nb::arg("threads") = nb::none(),
      "The sums of the log losses of rows, and of the rows that are right, times weights, given log odds of each "
      "class, and labels 0, 1, 2, ...");
}

}  // namespace mpboost::bindings
