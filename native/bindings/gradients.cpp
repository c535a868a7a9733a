#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "mpboost/gradient_draw.hpp"
#include "mpboost/leaf_sums.hpp"
#include "mpboost/losses.hpp"
#include "mpboost/value_losses.hpp"

namespace mpboost::bindings {
namespace {

constexpr const char* one_per_row = "all arrays must have one entry per row";

// Of shape (n_rows,) or (n_rows, n_outputs).
template <class T>
using Rows = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>;

template <class T>
using Optional = std::optional<Vector<const T>>;

template <class T>
std::int64_t count_outputs(const Rows<T>& rows, std::int64_t n_rows) {
  check(rows.ndim() == 1 || rows.ndim() == 2, "gradients, hessians and outputs have one dimension or two");
  check(static_cast<std::int64_t>(rows.shape(0)) == n_rows, one_per_row);
  const std::int64_t n_outputs = rows.ndim() == 2 ? static_cast<std::int64_t>(rows.shape(1)) : 1;
  check(n_outputs >= 1, "there must be an output");
  return n_outputs;
}

template <class T>
const T* data_of(const Optional<T>& optional, std::int64_t size) {
  if (optional) check_size(*optional, size, one_per_row);
  return optional ? optional->data() : nullptr;
}

void check_below(const Vector<const std::uint16_t>& numbers, std::int64_t limit, const char* message) {
  std::uint16_t most = 0;
  for (const std::uint16_t number : as_span(numbers)) most = std::max(most, number);
  check(numbers.size() == 0 || most < limit, message);
}

template <class Label>
LossRows<Label> as_rows(const Rows<float>& raw, const Optional<std::uint16_t>& leaves,
                        const std::optional<Rows<const float>>& values, const Vector<const Label>& labels,
                        const Optional<float>& weights, const Rows<float>& gradients, const Rows<float>& hessians) {
  const auto n_rows = static_cast<std::int64_t>(labels.size());
  const std::int64_t n_outputs = count_outputs(raw, n_rows);
  for (const Rows<float>* rows : {&gradients, &hessians})
    check(count_outputs(*rows, n_rows) == n_outputs, "gradients and hessians must have the shape of the outputs");
  check(leaves.has_value() == values.has_value(), "leaves and values come together");
  if (leaves && values) {
    check(values->ndim() >= 1, "values must have one entry per leaf");
    const auto n_leaves = static_cast<std::int64_t>(values->shape(0));
    check(count_outputs(*values, n_leaves) == n_outputs, "values must have one entry per leaf and output");
    check_size(*leaves, n_rows, one_per_row);
  }
  return {n_rows,
          n_outputs,
          raw.data(),
          leaves ? leaves->data() : nullptr,
          values ? values->data() : nullptr,
          values ? static_cast<std::int64_t>(values->shape(0)) : 0,
          labels.data(),
          data_of(weights, n_rows),
          gradients.data(),
          hessians.data()};
}

ValueLoss as_value_loss(const std::string& name, double parameter) {
  static const std::map<std::string, ValueLoss> losses{
      {"squared", ValueLoss::squared}, {"absolute", ValueLoss::absolute}, {"quantile", ValueLoss::quantile},
      {"huber", ValueLoss::huber},     {"poisson", ValueLoss::poisson},   {"gamma", ValueLoss::gamma}};
  const auto found = losses.find(name);
  check(found != losses.end(), "there is no such loss");
  const ValueLoss loss = found->second;
  if (loss == ValueLoss::quantile) check(0 <= parameter && parameter <= 1, "the quantile must be between 0 and 1");
  if (loss == ValueLoss::huber)
    check(parameter > 0 && std::isfinite(parameter), "the parameter of huber must be positive");
  return loss;
}

// A step: its labels, what it needs besides, and how it is called.
template <class Label, class... More, class Step, class... Names>
void bind_step(nb::module_& module, const char* name, const char* doc, Step step, Names... names) {
  module.def(
      name,
      [step](More... more, Rows<float> raw, Optional<std::uint16_t> leaves, std::optional<Rows<const float>> values,
             Vector<const Label> labels, Optional<float> weights, Rows<float> gradients, Rows<float> hessians,
             Threads& threads, RowSums* sums) {
        auto rows = as_rows(raw, leaves, values, labels, weights, gradients, hessians);
        return with_sums(sums, [&](RowSums& all) { return step(more..., labels, rows, all, threads); });
      },
      names..., nb::arg("raw").noconvert(), nb::arg("leaves").noconvert().none(), nb::arg("values").noconvert().none(),
      nb::arg("labels").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("gradients").noconvert(),
      nb::arg("hessians").noconvert(), nb::arg("threads"), nb::arg("sums").none() = nb::none(), doc);
}

void bind_steps(nb::module_& module) {
  bind_step<std::int8_t>(module, "step_log_loss",
                         "Add values[leaves], where given, to the outputs, and write the derivatives of the log-loss "
                         "for labels of -1 and +1; return the weight of the rows whose output has the right sign: 0 "
                         "stands for +1.",
                         [](const auto&, const LossRows<std::int8_t>& rows, RowSums& sums, Threads& threads) {
                           check(rows.n_outputs == 1, "there must be one output per row");
                           nb::gil_scoped_release release;
                           return step_log_loss(rows, sums, threads);
                         });

  bind_step<std::uint16_t>(
      module, "step_softmax",
      "As step_log_loss, with one output per class and labels that are classes; of equal outputs the first wins.",
      [](const auto& labels, const LossRows<std::uint16_t>& rows, RowSums& sums, Threads& threads) {
        check_below(labels, rows.n_outputs, "there is a class that does not exist");
        nb::gil_scoped_release release;
        return step_softmax(rows, sums, threads);
      });

  bind_step<float, const std::string&, double>(
      module, "step_values",
      "As step_log_loss, for labels that are numbers; returns the weighted sum of squared errors. The loss is "
      "'squared', 'absolute', 'quantile', 'huber', or, with F for the logarithm of the mean, 'poisson' or 'gamma'.",
      [](const std::string& name, double parameter, const auto&, LossRows<float> rows, RowSums& sums,
         Threads& threads) {
        const ValueLoss loss = as_value_loss(name, parameter);
        check(rows.n_outputs == 1, "there must be one output per row");
        rows.parameter = static_cast<float>(parameter);
        nb::gil_scoped_release release;
        return step_values(loss, rows, sums, threads);
      },
      nb::arg("loss"), nb::arg("parameter"));
}

// Rows that a model does not learn from.
void bind_reserved(nb::module_& module) {
  module.def(
      "to_users_units",
      [](const Rows<const float>& raw, const Vector<const std::int64_t>& rows, const Vector<const double>& offset,
         double scale, const Rows<double>& out) {
        check(raw.ndim() >= 1, "gradients, hessians and outputs have one dimension or two");
        const auto n_rows = static_cast<std::int64_t>(raw.shape(0));
        const std::int64_t n_outputs = count_outputs(raw, n_rows);
        check(count_outputs(out, static_cast<std::int64_t>(rows.size())) == n_outputs, one_per_row);
        check_size(offset, n_outputs, "there must be one offset per output");
        check_indices(rows, n_rows, "there is no such row");
        nb::gil_scoped_release release;
        double* __restrict to = out.data();
        const double* __restrict start = offset.data();
        for (const std::int64_t row : as_span(rows)) {
          const float* __restrict from = raw.data() + row * n_outputs;
          for (std::int64_t k = 0; k < n_outputs; ++k) *to++ = start[k] + scale * static_cast<double>(from[k]);
        }
      },
      nb::arg("raw").noconvert(), nb::arg("rows"), nb::arg("offset"), nb::arg("scale"), nb::arg("out").noconvert(),
      "Write the outputs of some rows in the users' units: offset + scale * raw[rows].");

  module.def(
      "sum_value_losses",
      [](const std::string& name, double parameter, double unit, Vector<const double> raw, Vector<const double> labels,
         const Optional<double>& weights, Threads* threads) {
        const ValueLoss loss = as_value_loss(name, parameter);
        const auto n_rows = static_cast<std::int64_t>(raw.size());
        check_size(labels, n_rows, one_per_row);
        const ValueRows rows{n_rows, raw.data(), labels.data(), data_of(weights, n_rows), parameter, unit};
        nb::gil_scoped_release release;
        const auto [sum, squares] =
            with_threads(threads, [&](Threads& some) { return sum_value_losses(loss, rows, some); });
        return std::pair(sum, squares);
      },
      nb::arg("loss"), nb::arg("parameter"), nb::arg("unit"), nb::arg("raw"), nb::arg("labels"),
      nb::arg("weights").none(), nb::arg("threads") = nb::none(),
      "The sums of the losses of rows, and of squared errors, times weights, given outputs and labels in the users' "
      "units; losses are those of step_values, in a unit of their own.");
}

// A tree, columns, gradients, hessians, leaves to write.
using TreeTuple =
    std::tuple<const Tree*, const BinnedColumns*, Rows<const float>, Rows<const float>, Vector<std::uint16_t>>;

TreeRows as_tree_rows(const TreeTuple& given) {
  const auto& [tree, columns, gradients, hessians, leaves] = given;
  check(tree && columns, "there must be a tree and columns");
  check(tree->n_leaves() <= max_numbered_leaves, "the tree has more than 65536 leaves");
  for (const Split& split : tree->splits)
    check(split.feature < columns->n_columns(), "the tree uses a column that does not exist");
  const std::int64_t n_outputs = count_outputs(gradients, columns->n_rows());
  check(count_outputs(hessians, columns->n_rows()) == n_outputs, "gradients and hessians must have one shape");
  check_size(leaves, columns->n_rows(), one_per_row);
  return {*tree, columns, gradients.data(), hessians.data(), n_outputs, leaves.data()};
}

// A tree, values of its leaves, learning rate.
using StepTuple = std::tuple<const Tree*, Matrix<const double>, double>;

nb::object make_steps(const std::vector<StepTuple>& given, double max_step, double unit) {
  nb::list steps;
  for (const auto& [tree, values, learning_rate] : given) {
    const auto n_outputs = static_cast<std::int64_t>(values.shape(1));
    check(tree && values.shape(0) == tree->n_leaves() && n_outputs > 0,
          "values must have a row for each leaf and at least one output");
    std::vector<float> step(values.size());
    Tree moved{tree->splits, std::vector<double>(values.size()), tree->category_sets, n_outputs, tree->leaf_covers};
    for (std::size_t i = 0; i < step.size(); ++i) {
      const double value = learning_rate * values.data()[i];
      if (!(std::abs(value) <= max_step)) return nb::none();
      step[i] = static_cast<float>(value);
      moved.leaf_values[i] = static_cast<double>(step[i]) * unit;
    }
    const std::array shape{values.shape(0), values.shape(1)};
    float* data = step.data();  // stays where it is when the vector moves
    steps.append(
        nb::make_tuple(nb::ndarray<nb::numpy, float>(data, n_outputs == 1 ? 1 : 2, shape.data(), own(std::move(step))),
                       std::move(moved)));
  }
  return steps;
}

void bind_leaves(nb::module_& module) {
  module.def(
      "sum_leaves",
      [](const std::vector<TreeTuple>& trees, Threads& threads, const std::vector<RowSums*>& sums) {
        check(sums.empty() || sums.size() == trees.size(), "every tree needs sums of its own");
        std::vector<TreeRows> rows;
        std::vector<RowSums> own(trees.size());
        std::vector<RowSums*> all = sums;
        for (const TreeTuple& tree : trees) rows.push_back(as_tree_rows(tree));
        for (RowSums& one : own)
          if (sums.empty()) all.push_back(&one);
        check(std::ranges::find(all, nullptr) == all.end(), "every tree needs sums of its own");
        std::vector<std::vector<double>> totals;
        {
          nb::gil_scoped_release release;
          sum_leaves(rows, all, threads);
          for (const RowSums* one : all) totals.push_back(one->total());
        }
        nb::list arrays;
        for (std::size_t k = 0; k < rows.size(); ++k)
          arrays.append(to_numpy(std::move(totals[k]),
                                 {rows[k].tree.n_leaves(), static_cast<std::size_t>(rows[k].n_outputs), 2}));
        return arrays;
      },
      nb::arg("trees").noconvert(), nb::arg("threads"), nb::arg("sums") = std::vector<RowSums*>(),
      nb::sig("def sum_leaves(trees: collections.abc.Sequence[tuple[Tree, BinnedColumns, "
              "numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], "
              "numpy.typing.NDArray[numpy.uint16]]], threads: Threads, sums: collections.abc.Sequence[RowSums] = ()) "
              "-> list[numpy.typing.NDArray[numpy.float64]]"),
      "For each tree, its columns, gradients and hessians: write the leaf of each row, and return the sums of "
      "gradients "
      "and hessians, (n_leaves, n_outputs, 2). All trees share the threads.");

  module.def(
      "fit_newton",
      [](const std::vector<nb::ndarray<const double, nb::numpy, nb::ndim<3>, nb::c_contig>>& trees, double l2,
         double factor) {
        nb::list values;
        for (const auto& sums : trees) {
          check(sums.shape(2) == 2, "sums must have the shape (n_leaves, n_outputs, 2)");
          values.append(to_numpy(fit_newton({sums.data(), sums.size()}, l2, factor), {sums.shape(0), sums.shape(1)}));
        }
        return values;
      },
      nb::arg("sums"), nb::arg("l2"), nb::arg("factor"),
      nb::sig("def fit_newton(sums: collections.abc.Sequence[numpy.typing.NDArray[numpy.float64]], l2: float, factor: "
              "float) -> list[numpy.typing.NDArray[numpy.float64]]"),
      "For each tree, Newton steps, (n_leaves, n_outputs), by sums of gradients and hessians, times a factor; 0 "
      "without hessians.");

  module.def(
      "make_steps", make_steps, nb::arg("trees").noconvert(), nb::arg("max_step"), nb::arg("unit"),
      nb::sig(
          "def make_steps(trees: collections.abc.Sequence[tuple[Tree, numpy.typing.NDArray[numpy.float64], float]], "
          "max_step: float, unit: float) -> list[tuple[numpy.typing.NDArray[numpy.float32], Tree]] | None"),
      "For each tree, values of its leaves, (n_leaves, n_outputs), and learning rate: the values times the learning "
      "rate, in single precision; and the tree with these as values, times a unit. None if one is larger than "
      "max_step, or is no number.");

  module.def(
      "sum_rows",
      [](Vector<const std::int64_t> rows, std::optional<Vector<const double>> weights,
         Vector<const std::uint16_t> leaves, Rows<const float> gradients, Rows<const float> hessians,
         std::int64_t n_leaves) {
        const auto n_rows = static_cast<std::int64_t>(leaves.size());
        const std::int64_t n_outputs = count_outputs(gradients, n_rows);
        check(count_outputs(hessians, n_rows) == n_outputs, "gradients and hessians must have one shape");
        check_indices(rows, n_rows, "there is no such row");
        check(n_leaves >= 0, "there is a leaf that does not exist");
        const double* weight = data_of(weights, static_cast<std::int64_t>(rows.size()));
        std::vector<double> sums;
        {
          nb::gil_scoped_release release;
          sums = sum_rows(as_span(rows), weight, leaves.data(), gradients.data(), hessians.data(), n_outputs, n_leaves);
        }
        return to_numpy(std::move(sums), {static_cast<std::size_t>(n_leaves), static_cast<std::size_t>(n_outputs), 2});
      },
      nb::arg("rows"), nb::arg("weights").noconvert().none(), nb::arg("leaves").noconvert(),
      nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("n_leaves"),
      "The sums of gradients and hessians, times weights, of some rows: (n_leaves, n_outputs, 2).");

  module.def(
      "leaf_quantiles",
      [](Vector<const std::uint16_t> leaves, Vector<const float> residuals, Optional<float> weights, double alpha,
         std::int64_t n_leaves, Threads& threads) {
        const auto n_rows = static_cast<std::int64_t>(leaves.size());
        check_size(residuals, n_rows, one_per_row);
        check(0 <= n_leaves && n_leaves <= std::int64_t{max_numbered_leaves}, "there can be 65536 leaves at most");
        check(0 <= alpha && alpha <= 1, "alpha must be between 0 and 1");
        check_below(leaves, n_leaves, "there is a leaf that does not exist");
        const float* weight = data_of(weights, n_rows);
        std::vector<double> quantiles;
        {
          nb::gil_scoped_release release;
          quantiles = leaf_quantiles(leaves.data(), residuals.data(), weight, n_rows, alpha, n_leaves, threads);
        }
        return to_numpy(std::move(quantiles));
      },
      nb::arg("leaves").noconvert(), nb::arg("residuals").noconvert(), nb::arg("weights").noconvert().none(),
      nb::arg("alpha"), nb::arg("n_leaves"), nb::arg("threads"),
      "The lower weighted quantile of the residuals of each leaf; 0 for leaves without weight.");
}

GradientLine as_line(const Rows<const float>& gradients, const Rows<const float>& hessians,
                     const Optional<float>& weights, double smoothing, double exploration) {
  check(gradients.ndim() >= 1, "gradients, hessians and outputs have one dimension or two");
  const auto n_rows = static_cast<std::int64_t>(gradients.shape(0));
  const std::int64_t n_outputs = count_outputs(gradients, n_rows);
  check(count_outputs(hessians, n_rows) == n_outputs, "gradients and hessians must have one shape");
  check(smoothing >= 0 && std::isfinite(smoothing), "smoothing must not be negative");
  check(0 <= exploration && exploration <= 1, "exploration must be between 0 and 1");
  return {{n_rows, n_outputs, gradients.data(), hessians.data(), static_cast<float>(smoothing)},
          data_of(weights, n_rows),
          exploration};
}

// Gradients, hessians, weights, iterations, the chunks of all rows.
using LineTuple = std::tuple<Rows<const float>, Rows<const float>, Optional<float>, std::vector<std::uint64_t>,
                             std::optional<Matrix<const double>>>;

LineDraws as_line_draws(const LineTuple& given, double smoothing, double exploration, std::uint64_t seed,
                        std::int64_t first_row) {
  const auto& [gradients, hessians, weights, iterations, chunks] = given;
  check(chunks.has_value() || (gradients.ndim() > 0 && gradients.shape(0) > 0), "there must be a row to draw");
  LineDraws draws{as_line(gradients, hessians, weights, smoothing, exploration), {}, {}};
  if (chunks) {
    const std::int64_t n_chunks = first_row / chunk_rows + (draws.line.rows.n_rows + chunk_rows - 1) / chunk_rows;
    check(chunks->shape(1) == 2 && static_cast<std::int64_t>(chunks->shape(0)) >= n_chunks,
          "all chunks must have a size and a weight");
    for (std::size_t i = 0; i < chunks->shape(0); ++i)
      draws.chunks.push_back({chunks->data()[2 * i], chunks->data()[2 * i + 1]});
  } else {
    check(first_row == 0, "a part of the rows needs the chunks of all rows");
  }
  for (const std::uint64_t iteration : iterations) draws.streams.emplace_back(seed, iteration, Purpose::observations);
  return draws;
}

void bind_draw(nb::module_& module) {
  module.def(
      "measure_chunks",
      [](Rows<const float> gradients, Rows<const float> hessians, const Optional<float>& weights, double smoothing,
         double exploration, Threads& threads) {
        const GradientLine line = as_line(gradients, hessians, weights, smoothing, exploration);
        std::vector<double> sizes;
        {
          nb::gil_scoped_release release;
          for (const auto& [size, weight] : measure_chunks(line, threads)) sizes.insert(sizes.end(), {size, weight});
        }
        const std::size_t n_chunks = sizes.size() / 2;
        return to_numpy(std::move(sizes), {n_chunks, 2});
      },
      nb::arg("gradients").noconvert(), nb::arg("hessians").noconvert(), nb::arg("weights").noconvert().none(),
      nb::arg("smoothing"), nb::arg("exploration"), nb::arg("threads"),
      "The sums of sizes of gradients and of weights for each chunk of a part of the rows: what draw_by_gradient needs "
      "of the other parts.");

  module.def(
      "draw_by_gradient",
      [](const std::vector<LineTuple>& given, double smoothing, double exploration, std::int64_t n_drawn,
         std::uint64_t seed, Threads& threads, std::int64_t first_row) {
        check(1 <= n_drawn && n_drawn < (std::int64_t{1} << 31), "n_drawn must be at least 1, and below 2^31");
        check(first_row >= 0 && first_row % chunk_rows == 0, "parts of the rows must begin at whole chunks");
        std::vector<LineDraws> lines;
        for (const LineTuple& one : given) {
          lines.push_back(as_line_draws(one, smoothing, exploration, seed, first_row));
          check(lines.back().line.rows.n_rows == lines.front().line.rows.n_rows, "lines must have equally many rows");
        }
        std::vector<std::vector<GradientDraw>> draws;
        {
          nb::gil_scoped_release release;
          draws = draw_by_gradient(lines, first_row / chunk_rows, n_drawn, threads);
        }
        nb::list all;
        for (std::vector<GradientDraw>& of_line : draws) {
          nb::list arrays;
          for (GradientDraw& draw : of_line)
            arrays.append(nb::make_tuple(to_numpy(std::move(draw.rows)), to_numpy(std::move(draw.weights))));
          all.append(arrays);
        }
        return all;
      },
      nb::sig("def draw_by_gradient(lines: collections.abc.Sequence[tuple[numpy.typing.NDArray[numpy.float32], "
              "numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32] | None, "
              "collections.abc.Sequence[int], numpy.typing.NDArray[numpy.float64] | None]], smoothing: float, "
              "exploration: float, n_drawn: int, seed: int, threads: Threads, first_row: int = 0) -> "
              "list[list[tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float64]]]]"),
      nb::arg("lines").noconvert(), nb::arg("smoothing"), nb::arg("exploration"), nb::arg("n_drawn"), nb::arg("seed"),
      nb::arg("threads"), nb::arg("first_row") = 0,
      "For each line (gradients, hessians, weights, iterations, chunks) and each of its iterations, draw rows by the "
      "sizes of their gradients, one for each of n_drawn equal parts of their sum; return them, ascending, with the "
      "weights that make sums over them unbiased. A part of the rows, from first_row on, needs as its chunks what "
      "measure_chunks returns for all rows; its rows are numbered from 0.");
}

}  // namespace

void bind_gradients(nb::module_& module) {
  bind_reserved(module);
  bind_leaves(module);
  bind_steps(module);
  bind_draw(module);
}

}  // namespace mpboost::bindings
