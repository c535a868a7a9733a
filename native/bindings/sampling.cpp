#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "bindings.hpp"
#include "mpboost/probabilities.hpp"
#include "mpboost/race.hpp"
#include "mpboost/strata.hpp"

namespace mpboost::bindings {

void bind_sampling(nb::module_& module) {
  nb::enum_<Purpose>(module, "Purpose", "What a draw is for: distinct purposes draw independently.")
      .value("OBSERVATIONS", Purpose::observations)
      .value("FEATURES", Purpose::features)
      .value("COMPLETION", Purpose::completion)
      .value("COLOURS", Purpose::colours)
      .value("RESERVED", Purpose::reserved);

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
      "draw_strata",
      [](const std::optional<Vector<const std::uint16_t>>& strata, std::int64_t n_rows,
         Vector<const std::int64_t> counts, std::uint64_t seed, std::uint64_t iteration, Purpose purpose) {
        check(n_rows >= 0 && counts.size() > 0, "there must be a stratum");
        for (const std::int64_t count : as_span(counts)) check(count >= 0, "counts must not be negative");
        if (strata) {
          check_size(*strata, n_rows, "strata must have one entry per row");
          for (const std::uint16_t k : as_span(*strata)) check(k < counts.size(), "there is a stratum without count");
        }
        std::vector<std::int64_t> rows;
        {
          nb::gil_scoped_release release;
          rows =
              draw_strata(strata ? strata->data() : nullptr, n_rows, as_span(counts), Stream(seed, iteration, purpose));
        }
        return to_numpy(std::move(rows));
      },
      nb::arg("strata").noconvert().none(), nb::arg("n_rows"), nb::arg("counts"), nb::arg("seed"), nb::arg("iteration"),
      nb::arg("purpose"),
      "Draw so many rows of each stratum, those with the lowest random numbers; in the order of strata, then of these "
      "numbers. Without strata all rows are in one.");

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
}

}  // namespace mpboost::bindings
