#include "bindings.hpp"
#include "mpboost/probabilities.hpp"
#include "mpboost/race.hpp"

namespace mpboost::bindings {

void bind_sampling(nb::module_& module) {
  nb::enum_<Purpose>(module, "Purpose", "What a draw is for: distinct purposes draw independently.")
      .value("OBSERVATIONS", Purpose::observations)
      .value("FEATURES", Purpose::features)
      .value("COMPLETION", Purpose::completion)
      .value("COLOURS", Purpose::colours);

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
