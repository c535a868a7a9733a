// What has no threads but must have the same bits on every processor: elementary functions, the distribution over
// features, losses in double precision, samples of rows.
#include <bit>
#include <cmath>
#include <limits>

#include "mpboost/elementary.hpp"
#include "mpboost/log_odds.hpp"
#include "mpboost/minipatch_slopes.hpp"
#include "mpboost/probabilities.hpp"
#include "mpboost/row_sample.hpp"
#include "mpboost/strata.hpp"
#include "mpboost/value_losses.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

// Numbers of all sizes, both signs, and those that are special.
std::vector<double> make_numbers() {
  const Stream stream(5, 1, Purpose::features);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> numbers{0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, infinity, -infinity, 709.7, -745.1, 1e308, -1e308};
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    numbers.push_back(1600.0 * uniform(stream.bits(i)) - 800.0);
    numbers.push_back(4.0 * uniform(stream.bits(~i)) - 2.0);
    const double any = std::bit_cast<double>(stream.bits(i));
    if (std::isfinite(any)) numbers.push_back(any);
  }
  return numbers;
}

template <double (*function)(double)>
void compute(const Data&, Threads&, Digest& digest) {
  for (const double x : make_numbers()) {
    const double y = function(x);
    digest.add(std::isnan(y) ? 0.25 : y);  // the sign of NaN is the processor's
  }
}

double compute_log(double x) { return log_of(x); }
double compute_log1p(double x) { return log1p_of(x); }
double compute_exp(double x) { return exp_of(x); }
double compute_expm1(double x) { return expm1_of(x); }
double compute_logistic(double x) { return logistic_of(x); }
double compute_softplus(double x) { return softplus_of(x, exp_of(-std::fabs(x))); }
double compute_exp_single(double x) { return std::fabs(x) < 87.0 ? exp_single(static_cast<float>(x)) : 0.0; }

void move_feature_probabilities(const Data& data, Threads&, Digest& digest) {
  std::vector<double> probabilities(n_columns, 1.0 / n_columns), log_weights(n_columns), sums(n_columns);
  std::vector<std::int64_t> counts(n_columns);
  const Stream stream(5, 2, Purpose::features);
  for (std::uint64_t t = 0; t < 1000; ++t) {
    std::vector<std::int64_t> items;
    std::vector<double> importances;
    for (const std::int64_t j : data.features) {
      const double u = uniform(stream.bits(t * n_columns + static_cast<std::uint64_t>(j)));
      if (u > 0.3) continue;
      items.push_back(j);
      importances.push_back(u / static_cast<double>(j + 1) - 0.01);
    }
    const std::vector<double> shares = remember_importances(items, importances.data(), sums.data(), counts.data());
    move_probabilities(probabilities, log_weights.data(), items, shares.data(), 0.3, 0.1);
  }
  digest.add(probabilities);
  digest.add(log_weights);
}

void sum_losses_of_classes(const Data& data, Threads& threads, Digest& digest) {
  const std::vector<double> raw(data.gradients.begin(), data.gradients.end());
  std::vector<double> shares(raw.size());
  compute_shares(raw.data(), n_rows, n_outputs, shares.data());
  digest.add(shares);
  std::vector<std::uint16_t> labels = data.classes;
  for (std::uint16_t& label : labels) label = label % n_outputs;
  for (const double* weights : {static_cast<const double*>(nullptr), data.weights.data()}) {
    const LossSums of_two =
        sum_log_losses(LogOdds<std::int8_t>{n_rows, 2, raw.data(), data.signs.data(), weights}, threads);
    const LossSums of_many =
        sum_log_losses(LogOdds<std::uint16_t>{n_rows, n_outputs, raw.data(), labels.data(), weights}, threads);
    digest.add(std::vector{of_two.loss, of_two.quality, of_many.loss, of_many.quality});
  }
}

void sum_losses_of_numbers(const Data& data, Threads& threads, Digest& digest) {
  const std::vector<double> raw(data.gradients.begin(), data.gradients.begin() + n_rows);
  for (const ValueLoss loss : {ValueLoss::squared, ValueLoss::absolute, ValueLoss::quantile, ValueLoss::huber,
                               ValueLoss::poisson, ValueLoss::gamma}) {
    const LossSums sums =
        sum_value_losses(loss, {n_rows, raw.data(), data.numbers.data(), data.weights.data(), 0.4, 1.5}, threads);
    digest.add(std::vector{sums.loss, sums.quality});
  }
}

void gather_all_slopes(const Data& data, Threads&, Digest& digest) {
  const double direction[n_outputs]{1, -1, 1};
  for (const double* combination : {static_cast<const double*>(nullptr), &direction[0]}) {
    const Slopes slopes{.gradients = data.gradients.data(),
                        .hessians = data.hessians.data(),
                        .n_outputs = combination ? n_outputs : 1,
                        .direction = combination,
                        .weights = data.small_weights.data()};
    const MinipatchSlopes gathered = gather_slopes(slopes, data.rows, data.patch_weights);
    digest.add(gathered.gradients);
    digest.add(gathered.hessians);
  }
}

void sample_from_rows(const Data& data, Threads&, Digest& digest) {
  digest.add(sample_rows(0, n_rows, n_rows, 10'000));
  const std::vector<std::int64_t> counts{100, 2000, 5, 0, n_rows, 1, 40};
  digest.add(draw_strata(data.classes.data(), n_rows, counts, Stream(5, 3, Purpose::observations)));
}

constexpr Case cases[] = {
    {"log", false, compute<compute_log>},
    {"log1p", false, compute<compute_log1p>},
    {"exp", false, compute<compute_exp>},
    {"expm1", false, compute<compute_expm1>},
    {"logistic", false, compute<compute_logistic>},
    {"softplus", false, compute<compute_softplus>},
    {"exp, single precision", false, compute<compute_exp_single>},
    {"probabilities of features", false, move_feature_probabilities},
    {"log losses", true, sum_losses_of_classes},
    {"losses of numbers", true, sum_losses_of_numbers},
    {"slopes of a minipatch", false, gather_all_slopes},
    {"samples of rows", false, sample_from_rows},
};

}  // namespace

std::span<const Case> list_number_cases() { return cases; }

}  // namespace stress
