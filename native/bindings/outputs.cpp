#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mpboost/class_votes.hpp"
#include "mpboost/value_outputs.hpp"
#include "mpboost/votes.hpp"
#include "trees.hpp"

namespace mpboost::bindings {
namespace {

constexpr const char* one_per_row = "all arrays must have one entry per row";
constexpr const char* one_per_class = "there must be one entry per class";

template <class T>
T* data_of(const std::optional<Vector<T>>& optional, std::int64_t size, const char* message) {
  if (optional) check_size(*optional, size, message);
  return optional ? optional->data() : nullptr;
}

void check_codes(const Vector<const std::uint16_t>& classes, std::int64_t n_classes) {
  std::uint16_t largest = 0;
  for (const std::uint16_t k : as_span(classes)) largest = std::max(largest, k);
  check(classes.size() == 0 || largest < n_classes, "there is a class that does not exist");
}

void check_patch(const Vector<const std::int64_t>& patch, std::int64_t n_rows) {
  check_indices(patch, n_rows, "the patch names a row that does not exist");
  check(std::ranges::adjacent_find(as_span(patch), std::ranges::greater_equal{}) == as_span(patch).end(),
        "the rows of the patch must be ascending");
}

// Python keeps tree and columns alive.
struct AppliedTree {
  const Tree* tree;
  const BinnedColumns* columns;
  std::shared_ptr<const VoteBits> bits = nullptr;
};

template <class Vote>
using Votes = std::variant<Vector<const Vote>, const AppliedTree*>;

// The votes of a learner: signs or, of many classes, codes below n_classes.
template <class Vote>
LearnerVotes<Vote> as_learner_votes(const Votes<Vote>& votes, std::int64_t n_rows, std::int64_t n_classes = 0) {
  if (const auto* array = std::get_if<Vector<const Vote>>(&votes)) {
    check_size(*array, n_rows, one_per_row);
    if constexpr (std::is_same_v<Vote, std::uint16_t>) check_codes(*array, n_classes);
    return {array->data()};
  }
  const AppliedTree* applied = std::get<const AppliedTree*>(votes);
  check(applied, "there must be votes");
  check(applied->columns->n_rows() == n_rows, one_per_row);
  check_columns(*applied->tree, *applied->columns);
  if constexpr (std::is_same_v<Vote, std::uint16_t>)
    check_classes(*applied->tree, n_classes);
  else
    check_single(applied->tree->n_outputs);
  return {nullptr, *applied->tree, applied->columns, applied->bits.get()};
}

void bind_applied_tree(nb::module_& module) {
  nb::class_<AppliedTree>(module, "AppliedTree", "A tree and the binned columns whose rows it votes on.")
      .def(
          "__init__",
          [](AppliedTree* self, const Tree& tree, const BinnedColumns& columns) {
            new (self) AppliedTree{&tree, &columns};
          },
          nb::arg("tree"), nb::arg("columns"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());

  module.def(
      "prepare_votes",
      [](const std::vector<AppliedTree*>& applied, Threads& threads) {
        for (const AppliedTree* tree : applied) {
          check(tree, "there must be trees");
          check_columns(*tree->tree, *tree->columns);
          check_single(tree->tree->n_outputs);
        }
        nb::gil_scoped_release release;
        threads.for_ranges(std::ssize(applied), 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t k = begin; k < end; ++k) {
            AppliedTree& tree = *applied[static_cast<std::size_t>(k)];
            tree.bits = prepare_votes(*tree.tree, *tree.columns);
          }
        });
      },
      nb::arg("trees"), nb::arg("threads"),
      "Prepare to find the votes of trees for one of two classes, side by side: add_votes then need not.");
}

template <class Count>
void bind_votes(nb::module_& module) {
  module.def(
      "add_votes",
      [](const Votes<std::int8_t>& votes, Vector<const std::int64_t> patch, Vector<const std::int8_t> labels,
         Vector<Count> total, Vector<Count> in_patch, Vector<Count> in_patch_counts, std::int8_t tie_label,
         std::optional<Vector<const double>> sample_weights, Threads& threads, RowSums* sums) {
        const auto n_rows = static_cast<std::int64_t>(labels.size());
        const LearnerVotes<std::int8_t> learner_votes = as_learner_votes<std::int8_t>(votes, n_rows);
        check_size(total, n_rows, one_per_row);
        check_size(in_patch, n_rows, one_per_row);
        check_size(in_patch_counts, n_rows, one_per_row);
        check_patch(patch, n_rows);
        const BinaryOutputs<Count> outputs{n_rows, labels.data(), total.data(), in_patch.data(),
                                           in_patch_counts.data()};
        const double* weights = data_of(sample_weights, n_rows, one_per_row);
        nb::gil_scoped_release release;
        const auto correct = with_sums(sums, [&](RowSums& all) {
          return add_votes(learner_votes, as_span(patch), outputs, tie_label, weights, all, threads);
        });
        return std::pair(correct.train, correct.out_of_patch);
      },
      nb::arg("votes"), nb::arg("patch"), nb::arg("labels"), nb::arg("total").noconvert(),
      nb::arg("in_patch").noconvert(), nb::arg("in_patch_counts").noconvert(), nb::arg("tie_label"),
      nb::arg("sample_weights").none(), nb::arg("threads"), nb::arg("sums").none() = nb::none(),
      "Add a learner's votes, given as an array or as a tree to apply, to the totals; return how many rows (or what "
      "weight of them) the totals, and the totals without the rows' own patches, get right.");

  module.def(
      "count_margins",
      [](Vector<const std::int8_t> labels, Vector<const Count> votes, std::int64_t n_counts) {
        const auto n_rows = static_cast<std::int64_t>(labels.size());
        check_size(votes, n_rows, one_per_row);
        check(n_counts >= 0 && n_counts % 2 == 1, "counts need a middle");
        std::vector<std::int64_t> counts;
        {
          nb::gil_scoped_release release;
          counts = count_margins(n_rows, labels.data(), votes.data(), n_counts);
        }
        return to_numpy(std::move(counts));
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("n_counts"),
      "Count the rows that have each margin, label * votes: from -(n_counts // 2) to n_counts // 2.");

  module.def(
      "count_sides",
      [](Vector<const std::int64_t> rows, Vector<const std::int8_t> labels, Vector<Count> total,
         Vector<Count> in_patch) {
        const auto n_rows = static_cast<std::int64_t>(labels.size());
        check_size(total, n_rows, one_per_row);
        check_size(in_patch, n_rows, one_per_row);
        check_indices(rows, n_rows, "there is no such row");
        const Sides sides = count_sides(
            BinaryOutputs<Count>{n_rows, labels.data(), total.data(), in_patch.data(), nullptr}, as_span(rows));
        return std::pair(sides.n_wrong, sides.n_right);
      },
      nb::arg("rows"), nb::arg("labels"), nb::arg("total").noconvert(), nb::arg("in_patch").noconvert(),
      "Count the rows that the totals without the rows' own patches get wrong and right; 0 is neither.");
}

template <class Count>
ClassOutputs<Count> as_outputs(const Vector<const std::uint16_t>& labels, const Matrix<Count>& votes,
                               const Matrix<Count>& oop_votes, const Vector<std::int32_t>& rivals,
                               const Vector<std::int32_t>& oop_rivals) {
  const auto n_rows = static_cast<std::int64_t>(votes.shape(0)), n_classes = static_cast<std::int64_t>(votes.shape(1));
  check_size(labels, n_rows, one_per_row);
  check_codes(labels, n_classes);
  check_shape(oop_votes, n_rows, n_classes, "votes and oop_votes must have one shape");
  check_size(rivals, n_rows, one_per_row);
  check_size(oop_rivals, n_rows, one_per_row);
  return {n_rows, n_classes, labels.data(), votes.data(), oop_votes.data(), rivals.data(), oop_rivals.data()};
}

template <class Count>
ClassVotes<Count> as_votes(const Vector<const std::uint16_t>& labels, const Matrix<const Count>& votes) {
  const auto n_rows = static_cast<std::int64_t>(votes.shape(0)), n_classes = static_cast<std::int64_t>(votes.shape(1));
  check_size(labels, n_rows, one_per_row);
  check_codes(labels, n_classes);
  return {n_rows, n_classes, labels.data(), votes.data(), nullptr};
}

using OptionalWeights = std::optional<Vector<const double>>;

ClassWeights as_weights(const Vector<const double>& table, const Vector<double>& log_weights,
                        const OptionalWeights& log_sample_weights, std::int64_t n_rows) {
  check(table.size() % 2 == 1, "the table of weights needs a middle");
  check_size(log_weights, n_rows, one_per_row);
  return {as_span(table), log_weights.data(), data_of(log_sample_weights, n_rows, one_per_row)};
}

template <class Count>
void bind_class_votes(nb::module_& module) {
  module.def(
      "add_class_votes",
      [](const Votes<std::uint16_t>& new_votes, Vector<const std::int64_t> patch, Vector<const std::uint16_t> labels,
         Matrix<Count> votes, Matrix<Count> oop_votes, Vector<std::int32_t> rivals, Vector<std::int32_t> oop_rivals,
         Vector<const std::uint16_t> ranks, const OptionalWeights& sample_weights, Threads& threads, RowSums* sums) {
        const auto outputs = as_outputs(labels, votes, oop_votes, rivals, oop_rivals);
        const auto votes_of_learner = as_learner_votes<std::uint16_t>(new_votes, outputs.n_rows, outputs.n_classes);
        check_patch(patch, outputs.n_rows);
        check_size(ranks, outputs.n_classes, one_per_class);
        const ClassJudge judge{ranks.data(), data_of(sample_weights, outputs.n_rows, one_per_row)};
        nb::gil_scoped_release release;
        const auto correct = with_sums(sums, [&](RowSums& all) {
          return add_class_votes(votes_of_learner, as_span(patch), outputs, judge, all, threads);
        });
        return std::pair(correct.train, correct.out_of_patch);
      },
      nb::arg("new_votes"), nb::arg("patch"), nb::arg("labels"), nb::arg("votes").noconvert(),
      nb::arg("oop_votes").noconvert(), nb::arg("rivals").noconvert(), nb::arg("oop_rivals").noconvert(),
      nb::arg("ranks"), nb::arg("sample_weights").none(), nb::arg("threads"), nb::arg("sums").none() = nb::none(),
      "Count a learner's votes, given as an array or as a tree to apply, in `votes` and, for rows that are not in its "
      "patch, in `oop_votes`; keep the rivals, the most votes of a class other than the row's own. Return how many "
      "rows "
      "(or what weight of them) either gets right: a tie in `votes` goes to the class of higher rank, one in "
      "`oop_votes` is wrong.");

  module.def(
      "add_colour_votes",
      [](const Votes<std::int8_t>& new_votes, Vector<const std::int8_t> colours, Vector<const std::int64_t> patch,
         Vector<const std::uint16_t> labels, Matrix<Count> votes, Matrix<Count> oop_votes, Vector<std::int32_t> rivals,
         Vector<std::int32_t> oop_rivals, Vector<const std::uint16_t> ranks, const OptionalWeights& sample_weights,
         Threads& threads, RowSums* sums) {
        const auto outputs = as_outputs(labels, votes, oop_votes, rivals, oop_rivals);
        const auto votes_of_learner = as_learner_votes<std::int8_t>(new_votes, outputs.n_rows);
        check_size(colours, outputs.n_classes, one_per_class);
        check_patch(patch, outputs.n_rows);
        check_size(ranks, outputs.n_classes, one_per_class);
        const ClassJudge judge{ranks.data(), data_of(sample_weights, outputs.n_rows, one_per_row)};
        nb::gil_scoped_release release;
        const auto correct = with_sums(sums, [&](RowSums& all) {
          return add_colour_votes(votes_of_learner, colours.data(), as_span(patch), outputs, judge, all, threads);
        });
        return std::pair(correct.train, correct.out_of_patch);
      },
      nb::arg("new_votes"), nb::arg("colours"), nb::arg("patch"), nb::arg("labels"), nb::arg("votes").noconvert(),
      nb::arg("oop_votes").noconvert(), nb::arg("rivals").noconvert(), nb::arg("oop_rivals").noconvert(),
      nb::arg("ranks"), nb::arg("sample_weights").none(), nb::arg("threads"), nb::arg("sums").none() = nb::none(),
      "As add_class_votes, for votes of +1 or -1 that count for every class of that colour.");
}

template <class Count>
void bind_class_weights(nb::module_& module) {
  module.def(
      "weigh_margins",
      [](Vector<const std::uint16_t> labels, Matrix<const Count> votes, Vector<const std::int32_t> rivals,
         Vector<const double> table, Vector<double> log_weights, const OptionalWeights& log_sample_weights,
         Threads& threads) {
        auto outputs = as_votes(labels, votes);
        check_size(rivals, outputs.n_rows, one_per_row);
        outputs.rivals = rivals.data();
        const ClassWeights weights = as_weights(table, log_weights, log_sample_weights, outputs.n_rows);
        nb::gil_scoped_release release;
        weigh_margins(outputs, weights, threads);
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("rivals"), nb::arg("table"),
      nb::arg("log_weights").noconvert(), nb::arg("log_sample_weights").none(), nb::arg("threads"),
      "Set the log-weights to table[middle + votes of the row's class - rivals], plus those of the rows.");

  module.def(
      "weigh_confusions",
      [](Vector<const std::uint16_t> labels, Matrix<const Count> votes,
         const std::optional<Vector<const std::int8_t>>& colours, Vector<const double> table,
         Vector<double> log_weights, const OptionalWeights& log_sample_weights, Threads& threads) {
        const auto outputs = as_votes(labels, votes);
        const std::int8_t* colour = data_of(colours, outputs.n_classes, one_per_class);
        const ClassWeights weights = as_weights(table, log_weights, log_sample_weights, outputs.n_rows);
        nb::gil_scoped_release release;
        weigh_confusions(outputs, colour, weights, threads);
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("colours").none(), nb::arg("table"),
      nb::arg("log_weights").noconvert(), nb::arg("log_sample_weights").none(), nb::arg("threads"),
      "Set the log-weights to the logarithm of the sum of exp(table[middle + votes of the row's class - votes of k]) "
      "over the other classes k, or those of the other colour, plus those of the rows. The table must not rise.");

  module.def(
      "weigh_one_against_rest",
      [](Vector<const std::uint16_t> labels, Matrix<const Count> votes, std::int64_t n_learners,
         Vector<const double> table, Vector<double> log_weights, const OptionalWeights& log_sample_weights,
         Threads& threads) {
        const auto outputs = as_votes(labels, votes);
        check(0 <= n_learners && n_learners < (std::int64_t{1} << 31), "n_learners must be a number below 2^31");
        const ClassWeights weights = as_weights(table, log_weights, log_sample_weights, outputs.n_rows);
        nb::gil_scoped_release release;
        weigh_one_against_rest(outputs, n_learners, weights, threads);
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("n_learners"), nb::arg("table"),
      nb::arg("log_weights").noconvert(), nb::arg("log_sample_weights").none(), nb::arg("threads"),
      "As weigh_confusions, over the margins of each class against the rest: 2 votes - n_learners for the row's "
      "class, n_learners - 2 votes for the others.");
}

ResidualWeighting to_weighting(const std::string& name) {
  static const std::map<std::string, ResidualWeighting> weightings{{"linear", ResidualWeighting::linear},
                                                                   {"square", ResidualWeighting::square},
                                                                   {"exponential", ResidualWeighting::exponential},
                                                                   {"threshold", ResidualWeighting::threshold}};
  const auto found = weightings.find(name);
  check(found != weightings.end(), "no such weighting of residuals");
  return found->second;
}

ValueMeans as_means(const Vector<const double>& labels, const Vector<const double>& sums, std::int64_t n_learners) {
  const auto n_rows = static_cast<std::int64_t>(labels.size());
  check_size(sums, n_rows, one_per_row);
  return {n_rows, labels.data(), sums.data(), static_cast<double>(n_learners)};
}

void bind_values(nb::module_& module) {
  module.def(
      "add_values",
      [](Vector<const double> values, Vector<const std::int64_t> patch, Vector<const double> labels,
         const OptionalWeights& sample_weights, Vector<double> sums, Vector<double> oop_sums,
         Vector<std::int32_t> oop_counts, std::int64_t n_learners, double unseen, Threads& threads, RowSums* row_sums) {
        const auto n_rows = static_cast<std::int64_t>(values.size());
        check_size(labels, n_rows, one_per_row);
        check_size(sums, n_rows, one_per_row);
        check_size(oop_sums, n_rows, one_per_row);
        check_size(oop_counts, n_rows, one_per_row);
        check_patch(patch, n_rows);
        const ValueOutputs outputs{n_rows,      labels.data(),   data_of(sample_weights, n_rows, one_per_row),
                                   sums.data(), oop_sums.data(), oop_counts.data()};
        nb::gil_scoped_release release;
        const auto errors = with_sums(row_sums, [&](RowSums& all) {
          return add_values(values.data(), as_span(patch), outputs, n_learners, unseen, all, threads);
        });
        return std::pair(errors.train, errors.out_of_patch);
      },
      nb::arg("values"), nb::arg("patch"), nb::arg("labels"), nb::arg("sample_weights").none(),
      nb::arg("sums").noconvert(), nb::arg("oop_sums").noconvert(), nb::arg("oop_counts").noconvert(),
      nb::arg("n_learners"), nb::arg("unseen"), nb::arg("threads"), nb::arg("row_sums").none() = nb::none(),
      "Add a learner's predictions to the sums and, for rows that are not in its patch, to the out-of-patch sums and "
      "counts. Return the sums of squared errors of the means, times weights: over all n_learners, and over those that "
      "never saw the row (or of `unseen`, if there are none).");

  module.def(
      "find_residuals",
      [](Vector<const double> labels, Vector<const double> sums, std::int64_t n_learners,
         Vector<const std::int64_t> rows) {
        const ValueMeans means = as_means(labels, sums, n_learners);
        check_indices(rows, means.n_rows, "no such row");
        return to_numpy(find_residuals(means, as_span(rows)));
      },
      nb::arg("labels"), nb::arg("sums"), nb::arg("n_learners"), nb::arg("rows"),
      "The residuals of the mean predictions, sums / n_learners, of some rows.");

  module.def(
      "median_residual",
      [](Vector<const double> residuals, const std::optional<Vector<const std::int64_t>>& weights) {
        const auto n = static_cast<std::int64_t>(residuals.size());
        const std::int64_t* weight = data_of(weights, n, "every residual needs a weight");
        nb::gil_scoped_release release;
        return median_residual(as_span(residuals), weight);
      },
      nb::arg("residuals"), nb::arg("weights").none(),
      "The median; with weights, the lowest residual such that those up to it have half of the weight.");

  module.def(
      "sum_residuals",
      [](Vector<const double> labels, Vector<const double> sums, std::int64_t n_learners,
         const OptionalWeights& sample_weights, Threads& threads, RowSums* row_sums) {
        const ValueMeans means = as_means(labels, sums, n_learners);
        const double* weights = data_of(sample_weights, means.n_rows, one_per_row);
        nb::gil_scoped_release release;
        return with_sums(row_sums, [&](RowSums& all) { return sum_residuals(means, weights, all, threads); });
      },
      nb::arg("labels"), nb::arg("sums"), nb::arg("n_learners"), nb::arg("sample_weights").none(), nb::arg("threads"),
      nb::arg("row_sums").none() = nb::none(), "The sum of all residuals, times weights.");

  module.def(
      "weigh_residuals",
      [](const std::string& weighting, double scale, Vector<const double> labels, Vector<const double> sums,
         std::int64_t n_learners, const OptionalWeights& sample_weights, Vector<double> weights, Threads& threads,
         RowSums* row_sums) {
        const ValueMeans means = as_means(labels, sums, n_learners);
        check_size(weights, means.n_rows, one_per_row);
        const double* own = data_of(sample_weights, means.n_rows, one_per_row);
        const ResidualWeighting how = to_weighting(weighting);
        nb::gil_scoped_release release;
        return with_sums(row_sums, [&](RowSums& all) {
          return weigh_residuals(means, how, scale, own, weights.data(), all, threads);
        });
      },
      nb::arg("weighting"), nb::arg("scale"), nb::arg("labels"), nb::arg("sums"), nb::arg("n_learners"),
      nb::arg("sample_weights").none(), nb::arg("weights").noconvert(), nb::arg("threads"),
      nb::arg("row_sums").none() = nb::none(),
      "Write the weights of rows by their residuals, as multiples of a scale; return the sum of the weights, times "
      "those that the rows have already.");

  module.def(
      "to_log_weights",
      [](Vector<double> weights, double mean, double exploration, const OptionalWeights& log_sample_weights,
         Threads& threads) {
        const auto n_rows = static_cast<std::int64_t>(weights.size());
        const double* logs = data_of(log_sample_weights, n_rows, one_per_row);
        nb::gil_scoped_release release;
        to_log_weights(weights.data(), n_rows, mean, exploration, logs, threads);
      },
      nb::arg("weights").noconvert(), nb::arg("mean"), nb::arg("exploration"), nb::arg("log_sample_weights").none(),
      nb::arg("threads"),
      "Replace weights by log((1 - exploration) * weight / mean + exploration), plus the log-weights of the rows.");
}

}  // namespace

void bind_outputs(nb::module_& module) {
  bind_applied_tree(module);
  bind_votes<std::int16_t>(module);
  bind_votes<std::int32_t>(module);
  bind_class_votes<std::uint16_t>(module);
  bind_class_votes<std::int32_t>(module);
  bind_class_weights<std::uint16_t>(module);
  bind_class_weights<std::int32_t>(module);
  bind_values(module);
}

}  // namespace mpboost::bindings
