#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "mpboost/probabilities.hpp"
#include "mpboost/race.hpp"
#include "mpboost/votes.hpp"

namespace mpboost::bindings {

void bind_sampling(nb::module_& module) {
  nb::enum_<Purpose>(module, "Purpose", "What a draw is for: distinct purposes draw independently.")
      .value("OBSERVATIONS", Purpose::observations)
      .value("FEATURES", Purpose::features)
      .value("COMPLETION", Purpose::completion);

  module.def(
      "race",
      [](Vector<const double> log_weights, std::int64_t n, std::uint64_t seed, std::uint64_t iteration, Purpose purpose,
         Threads& threads) {
        const auto n_items = static_cast<std::int64_t>(log_weights.size());
        check(0 <= n && n <= n_items, "cannot draw more items than there are");
        std::vector<std::int64_t> items;
        {
          nb::gil_scoped_release release;
          items = race(log_weights.data(), n_items, n, Stream(seed, iteration, purpose), threads);
        }
        return to_numpy(std::move(items));
      },
      nb::arg("log_weights"), nb::arg("n"), nb::arg("seed"), nb::arg("iteration"), nb::arg("purpose"),
      nb::arg("threads"),
      "Draw n items without replacement in proportion to their weights; ascending. Weight zero (-inf) is drawn last.");

  module.def(
      "move_probabilities",
      [](Vector<double> probabilities, Vector<double> log_weights, Vector<const std::int64_t> items,
         Vector<const double> targets, double momentum, double exploration) {
        const auto n = static_cast<std::int64_t>(probabilities.size());
        check_size(log_weights, n, "probabilities and log-weights must have one size");
        check_size(targets, static_cast<std::int64_t>(items.size()), "every item needs a target");
        check_indices(items, n, "no such item");
        move_probabilities({probabilities.data(), probabilities.size()}, log_weights.data(), as_span(items),
                           targets.data(), momentum, exploration);
      },
      nb::arg("probabilities").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("items"), nb::arg("targets"),
      nb::arg("momentum"), nb::arg("exploration"),
      "Move the probabilities of some items by `momentum` towards their targets, shares of the mass that they have "
      "together; refresh the log-weights of all of them for draws with a share of uniform ones.");

  module.def(
      "log_of",
      [](Vector<const double> weights) {
        std::vector<double> logs(weights.size());
        std::transform(weights.data(), weights.data() + weights.size(), logs.begin(), log_of);
        return to_numpy(std::move(logs));
      },
      nb::arg("weights"), "Logarithms, with the same bits on any machine; -inf below the smallest normal number.");

  module.def(
      "log_arrivals",
      [](Vector<const double> log_weights, Vector<const std::int64_t> items, std::uint64_t seed,
         std::uint64_t iteration, Purpose purpose) {
        check_indices(items, static_cast<std::int64_t>(log_weights.size()), "no such item");
        return to_numpy(log_arrivals(log_weights.data(), as_span(items), Stream(seed, iteration, purpose)));
      },
      nb::arg("log_weights"), nb::arg("items"), nb::arg("seed"), nb::arg("iteration"), nb::arg("purpose"),
      "The logarithms of the times at which items of a race arrive.");

  bind_votes(module);
}

void bind_votes(nb::module_& module) {
  module.def(
      "add_votes",
      [](Vector<const std::int8_t> votes, Vector<const std::int64_t> patch, Vector<const std::int8_t> labels,
         Vector<std::int32_t> total, Vector<std::int32_t> in_patch, Vector<std::int32_t> in_patch_counts,
         std::int8_t tie_label, Vector<const double> table, std::optional<Vector<double>> log_weights,
         std::optional<Vector<const double>> sample_weights, std::optional<Vector<const double>> log_sample_weights,
         Threads& threads) {
        const auto n_rows = static_cast<std::int64_t>(votes.size());
        constexpr const char* message = "all arrays must have one entry per row";
        check_size(labels, n_rows, message);
        check_size(total, n_rows, message);
        check_size(in_patch, n_rows, message);
        check_size(in_patch_counts, n_rows, message);
        const auto data_of = [&](const auto& optional) {
          if (optional) check_size(*optional, n_rows, message);
          return optional ? optional->data() : nullptr;
        };
        check_indices(patch, n_rows, "the patch names a row that does not exist");
        check(table.size() % 2 == 1, "the table of weights needs a middle");
        const BinaryOutputs outputs{n_rows, labels.data(), total.data(), in_patch.data(), in_patch_counts.data()};
        const RowWeights weights{as_span(table), data_of(log_weights), data_of(sample_weights), data_of(log_sample_weights)};
        nb::gil_scoped_release release;
        const auto correct = add_votes(votes.data(), as_span(patch), outputs, tie_label, weights, threads);
        return std::pair(correct.train, correct.out_of_patch);
      },
      nb::arg("votes"), nb::arg("patch"), nb::arg("labels"), nb::arg("total").noconvert(),
      nb::arg("in_patch").noconvert(), nb::arg("in_patch_counts").noconvert(), nb::arg("tie_label"), nb::arg("table"),
      nb::arg("log_weights").noconvert().none(), nb::arg("sample_weights").none(), nb::arg("log_sample_weights").none(),
      nb::arg("threads"),
      "Add a learner's votes to the totals and set the log-weights to table[middle + label * total], plus those of the "
      "rows; return how many rows (or what weight of them) the totals, and the totals without the rows' own patches, "
      "get right.");
}

}  // namespace mpboost::bindings
