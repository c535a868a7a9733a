#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings.hpp"
#include "mpboost/probabilities.hpp"
#include "mpboost/race.hpp"
#include "mpboost/strata.hpp"

namespace mpboost::bindings {
namespace {

using Items = decltype(to_numpy(std::vector<std::int64_t>()));
using Times = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

using Iterations = std::vector<std::uint64_t>;

std::vector<Stream> make_streams(std::uint64_t seed, const Iterations& iterations, Purpose purpose) {
  std::vector<Stream> streams;
  for (const std::uint64_t iteration : iterations) streams.emplace_back(seed, iteration, purpose);
  return streams;
}

// Race once for each iteration.
template <class Weights>
std::vector<std::pair<Items, Items>> race_round(const Weights& weights, std::int64_t n_first, std::int64_t n_next,
                                                std::uint64_t seed, const Iterations& iterations, Purpose purpose,
                                                Threads& threads) {
  check(0 <= n_first && n_first <= weights.n_items && 0 <= n_next && n_next <= weights.n_items - n_first,
        "cannot draw more items than there are");
  std::vector<Arrivals> races;
  {
    nb::gil_scoped_release release;
    races = race(weights, n_first, n_next, make_streams(seed, iterations, purpose), threads);
  }
  std::vector<std::pair<Items, Items>> arrivals;
  for (auto& [first, next] : races) arrivals.emplace_back(to_numpy(std::move(first)), to_numpy(std::move(next)));
  return arrivals;
}

// Race the items of a part once for each iteration.
template <class Weights>
std::vector<std::pair<Items, Times>> race_part_round(const Weights& weights, std::int64_t n, std::int64_t first_row,
                                                     std::uint64_t seed, const Iterations& iterations, Purpose purpose,
                                                     Threads& threads) {
  check(0 <= n && n <= weights.n_items, "cannot draw more items than there are");
  check(first_row >= 0 && first_row % chunk_rows == 0, "parts of the rows must begin at whole chunks");
  std::vector<Candidates> races;
  {
    nb::gil_scoped_release release;
    races = race_part(weights, n, first_row, make_streams(seed, iterations, purpose), threads);
  }
  std::vector<std::pair<Items, Times>> candidates;
  for (auto& [items, times] : races) {
    const std::size_t n_items = items.size();
    candidates.emplace_back(to_numpy(std::move(items)), to_numpy(std::move(times), {n_items, 3}));
  }
  return candidates;
}

template <class Count>
VoteWeights<Count> as_vote_weights(const Vector<const std::int8_t>& labels, const Vector<const Count>& votes,
                                   const Vector<const double>& table,
                                   const std::optional<Vector<const double>>& log_sample_weights) {
  const auto n_rows = static_cast<std::int64_t>(votes.size());
  check_size(labels, n_rows, "all arrays must have one entry per row");
  if (log_sample_weights) check_size(*log_sample_weights, n_rows, "all arrays must have one entry per row");
  check(table.size() % 2 == 1, "the table of weights needs a middle");
  return {n_rows, labels.data(), votes.data(), as_span(table),
          log_sample_weights ? log_sample_weights->data() : nullptr};
}

template <class Count>
void bind_race_of_votes(nb::module_& module) {
  module.def(
      "race_votes",
      [](Vector<const std::int8_t> labels, Vector<const Count> votes, Vector<const double> table,
         const std::optional<Vector<const double>>& log_sample_weights, std::int64_t n_first, std::int64_t n_next,
         std::uint64_t seed, const Iterations& iterations, Purpose purpose, Threads& threads) {
        const auto weights = as_vote_weights(labels, votes, table, log_sample_weights);
        return race_round(weights, n_first, n_next, seed, iterations, purpose, threads);
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("table"), nb::arg("log_sample_weights").none(),
      nb::arg("n_first"), nb::arg("n_next"), nb::arg("seed"), nb::arg("iterations"), nb::arg("purpose"),
      nb::arg("threads"), "As race_round, with the log-weights table[middle + label * votes], plus those of the rows.");

  module.def(
      "race_part_of_votes",
      [](Vector<const std::int8_t> labels, Vector<const Count> votes, Vector<const double> table,
         const std::optional<Vector<const double>>& log_sample_weights, std::int64_t n, std::int64_t first_row,
         std::uint64_t seed, const Iterations& iterations, Purpose purpose, Threads& threads) {
        const auto weights = as_vote_weights(labels, votes, table, log_sample_weights);
        return race_part_round(weights, n, first_row, seed, iterations, purpose, threads);
      },
      nb::arg("labels"), nb::arg("votes").noconvert(), nb::arg("table"), nb::arg("log_sample_weights").none(),
      nb::arg("n"), nb::arg("first_row"), nb::arg("seed"), nb::arg("iterations"), nb::arg("purpose"),
      nb::arg("threads"), "As race_part, with the log-weights of race_votes.");
}

}  // namespace

void bind_sampling(nb::module_& module) {
  nb::enum_<Purpose>(module, "Purpose", "What a draw is for: distinct purposes draw independently.")
      .value("OBSERVATIONS", Purpose::observations)
      .value("FEATURES", Purpose::features)
      .value("COMPLETION", Purpose::completion)
      .value("COLOURS", Purpose::colours)
      .value("RESERVED", Purpose::reserved);

  module.def(
      "race",
      [](Vector<const double> log_weights, std::int64_t n, std::uint64_t seed, const Iterations& iterations,
         Purpose purpose, Threads& threads) {
        const auto n_items = static_cast<std::int64_t>(log_weights.size());
        check(0 <= n && n <= n_items, "cannot draw more items than there are");
        std::vector<Arrivals> races;
        {
          nb::gil_scoped_release release;
          const LogWeights weights{n_items, log_weights.data()};
          races = race(weights, n, 0, make_streams(seed, iterations, purpose), threads);
        }
        std::vector<Items> drawn;
        for (auto& [first, next] : races) drawn.push_back(to_numpy(std::move(first)));
        return drawn;
      },
      nb::arg("log_weights"), nb::arg("n"), nb::arg("seed"), nb::arg("iterations"), nb::arg("purpose"),
      nb::arg("threads"),
      "For each iteration, draw n items without replacement in proportion to their weights; ascending. Weight zero "
      "(-inf) is drawn last.");

  module.def(
      "race_round",
      [](Vector<const double> log_weights, std::int64_t n_first, std::int64_t n_next, std::uint64_t seed,
         const Iterations& iterations, Purpose purpose, Threads& threads) {
        const LogWeights weights{static_cast<std::int64_t>(log_weights.size()), log_weights.data()};
        return race_round(weights, n_first, n_next, seed, iterations, purpose, threads);
      },
      nb::arg("log_weights"), nb::arg("n_first"), nb::arg("n_next"), nb::arg("seed"), nb::arg("iterations"),
      nb::arg("purpose"), nb::arg("threads"),
      "As `race`, and also the items that arrive next: pairs of the first n_first items and the n_next items after "
      "them.");
  module.def(
      "race_part",
      [](Vector<const double> log_weights, std::int64_t n, std::int64_t first_row, std::uint64_t seed,
         const Iterations& iterations, Purpose purpose, Threads& threads) {
        const LogWeights weights{static_cast<std::int64_t>(log_weights.size()), log_weights.data()};
        return race_part_round(weights, n, first_row, seed, iterations, purpose, threads);
      },
      nb::arg("log_weights"), nb::arg("n"), nb::arg("first_row"), nb::arg("seed"), nb::arg("iterations"),
      nb::arg("purpose"), nb::arg("threads"),
      "For each iteration, the first n items of a part of all items to arrive, and their times, (n, 3): to be compared "
      "column by column. Items are in ascending order, those of weight zero after all others, and are numbered from "
      "the "
      "beginning of the part.");
  bind_race_of_votes<std::int16_t>(module);
  bind_race_of_votes<std::int32_t>(module);

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
      "together; refresh the log-weights of all of them for draws with a share of uniform ones. Targets of 0 alone "
      "change "
      "nothing.");

  module.def(
      "move_to_means",
      [](Vector<double> probabilities, Vector<double> log_weights, Vector<const std::int64_t> items,
         Vector<const double> importances, Vector<double> sums, Vector<std::int64_t> counts, double momentum,
         double exploration) {
        const auto n = static_cast<std::int64_t>(probabilities.size());
        for (const std::size_t size : {log_weights.size(), sums.size(), counts.size()})
          check(static_cast<std::int64_t>(size) == n, "probabilities, log-weights, sums and counts must have one size");
        check_size(importances, static_cast<std::int64_t>(items.size()), "every item needs an importance");
        check_indices(items, n, "no such item");
        const std::vector<double> targets =
            remember_importances(as_span(items), importances.data(), sums.data(), counts.data());
        move_probabilities({probabilities.data(), probabilities.size()}, log_weights.data(), as_span(items),
                           targets.data(), momentum, exploration);
      },
      nb::arg("probabilities").noconvert(), nb::arg("log_weights").noconvert(), nb::arg("items"),
      nb::arg("importances"), nb::arg("sums").noconvert(), nb::arg("counts").noconvert(), nb::arg("momentum"),
      nb::arg("exploration"),
      "Add the importances of some items to their sums, unless all are 0, and move their probabilities towards the "
      "means so far, of which negative ones count as 0.");

  module.def(
      "add_to",
      [](Vector<double> sums, Vector<const std::int64_t> items, Vector<const double> values) {
        check_size(values, static_cast<std::int64_t>(items.size()), "every item needs a value");
        check_indices(items, static_cast<std::int64_t>(sums.size()), "no such item");
        for (std::size_t k = 0; k < items.size(); ++k) sums.data()[items.data()[k]] += values.data()[k];
      },
      nb::arg("sums").noconvert(), nb::arg("items"), nb::arg("values"), "Add the values of some items to their sums.");

  module.def(
      "log_arrivals",
      [](Vector<const double> log_weights, Vector<const std::int64_t> items, std::uint64_t seed,
         std::uint64_t iteration, Purpose purpose) {
        check_size(log_weights, static_cast<std::int64_t>(items.size()), "every item needs a weight");
        return to_numpy(log_arrivals(log_weights.data(), as_span(items), Stream(seed, iteration, purpose)));
      },
      nb::arg("log_weights"), nb::arg("items"), nb::arg("seed"), nb::arg("iteration"), nb::arg("purpose"),
      "The logarithms of the times at which items of a race arrive, given those of their weights.");
}

}  // namespace mpboost::bindings
