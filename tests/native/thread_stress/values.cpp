// Predictions of numbers: their sums, errors and residuals.
#include "mpboost/row_sample.hpp"
#include "mpboost/value_outputs.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

constexpr std::int64_t n_learners = 3;

template <bool has_weights>
void add_predictions(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> sums(n_rows), oop_sums(n_rows), values(n_rows);
  std::vector<std::int32_t> oop_counts(n_rows);
  const double* weights = has_weights ? data.weights.data() : nullptr;
  const ValueOutputs outputs{n_rows, data.numbers.data(), weights, sums.data(), oop_sums.data(), oop_counts.data()};
  for (std::int64_t t = 1; t <= n_learners; ++t) {
    for (std::size_t i = 0; i < n_rows; ++i) values[i] = data.numbers[i] + data.weights[i] * static_cast<double>(t - 2);
    RowSums all;
    const SquaredErrors errors = add_values(values.data(), data.rows, outputs, t, 0.5, all, threads);
    digest.add(errors.train);
    digest.add(errors.out_of_patch);
  }
  digest.add(sums);
  digest.add(oop_sums);
  digest.add(oop_counts);
}

template <ResidualWeighting weighting, bool has_weights>
void weigh(const Data& data, Threads& threads, Digest& digest) {
  const std::vector<std::int64_t> rows = sample_rows(0, n_rows, n_rows, 10'000), weights_of_rows(rows.size(), 2);
  const double* weights = has_weights ? data.weights.data() : nullptr;
  std::vector<double> log_weights(n_rows);
  const ValueMeans means{n_rows, data.numbers.data(), data.weights.data(), 1.0};
  const double median = median_residual(find_residuals(means, rows), has_weights ? weights_of_rows.data() : nullptr);
  RowSums residuals, weighed;
  digest.add(median);
  digest.add(sum_residuals(means, weights, residuals, threads));
  const double sum = weigh_residuals(means, weighting, median, weights, log_weights.data(), weighed, threads);
  digest.add(sum);
  to_log_weights(log_weights.data(), n_rows, sum / n_rows, 0.1, has_weights ? data.log_weights.data() : nullptr,
                 threads);
  digest.add(log_weights);
}

constexpr Case cases[] = {
    {"add values", true, add_predictions<false>},
    {"add values, weights", true, add_predictions<true>},
    {"weigh residuals, linear", true, weigh<ResidualWeighting::linear, false>},
    {"weigh residuals, square, weights", true, weigh<ResidualWeighting::square, true>},
    {"weigh residuals, exponential", true, weigh<ResidualWeighting::exponential, false>},
    {"weigh residuals, threshold, weights", true, weigh<ResidualWeighting::threshold, true>},
};

}  // namespace

std::span<const Case> list_value_cases() { return cases; }

}  // namespace stress
