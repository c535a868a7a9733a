#include "mpboost/value_outputs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t batch_rows = 1024, grain = 16;  // batches that a thread takes at least

// Call compute(first, n, numbers) for batches of rows, which writes a number for each; return their sum, times weights.
template <class Compute>
double sum_rows(std::int64_t n_rows, const double* weights, RowSums& sums, Threads& threads, Compute compute) {
  sums.add_rows(n_rows, 1, batch_rows, grain, threads, [&] {
    return [&](std::int64_t first, std::int64_t n, double* sum) {
      double numbers[batch_rows];
      compute(first, n, numbers);
      if (weights)
        for (std::int64_t i = 0; i < n; ++i) numbers[i] *= weights[first + i];
      *sum = sum_numbers(numbers, n);
    };
  });
  return sums.total()[0];
}

// Add predictions of up to batch_rows rows, given those of them that are in the patch. These keep what they have out of
// patch: adding and subtracting again would leave rounding errors.
void add_rows(const double* values, std::span<const std::int64_t> patch, const ValueOutputs& outputs,
              std::int64_t begin, std::int64_t end) {
  double *sums = outputs.sums, *oop_sums = outputs.oop_sums, kept[batch_rows];
  for (std::size_t k = 0; k < patch.size(); ++k) kept[k] = oop_sums[patch[k]];
  for (std::int64_t i = begin; i < end; ++i) sums[i] += values[i];
  for (std::int64_t i = begin; i < end; ++i) oop_sums[i] += values[i];
  for (std::int64_t i = begin; i < end; ++i) ++outputs.oop_counts[i];
  for (std::size_t k = 0; k < patch.size(); ++k) {
    oop_sums[patch[k]] = kept[k];
    --outputs.oop_counts[patch[k]];
  }
}

// Numbers that are not negative, as integers in the same order; NaN is the largest.
std::uint64_t to_key(double residual) { return std::bit_cast<std::uint64_t>(residual); }
double to_residual(std::uint64_t key) { return std::bit_cast<double>(key); }

double compute_median(std::vector<std::uint64_t> keys) {
  const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
  std::nth_element(keys.begin(), middle, keys.end());
  if (keys.size() % 2) return to_residual(*middle);
  return 0.5 * (to_residual(*std::max_element(keys.begin(), middle)) + to_residual(*middle));
}

double compute_weighted_median(const std::vector<std::uint64_t>& keys, const std::int64_t* weights) {
  struct Item {
    std::uint64_t key;
    std::int64_t weight;
    bool operator<(const Item& other) const { return key < other.key; }
  };
  std::vector<Item> items;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    items.push_back({keys[i], weights[i]});
    total += weights[i];
  }
  // The median is between begin and end; items before begin have less than half of the weight.
  auto begin = items.begin(), end = items.end();
  std::int64_t before = 0;
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    std::int64_t lower = 0;
    for (auto item = begin; item != middle; ++item) lower += item->weight;
    if (2 * (before + lower) >= total) {
      end = middle;
    } else {
      before += lower;
      begin = middle;
    }
  }
  return to_residual(begin->key);
}

void weigh(ResidualWeighting weighting, double* multiples, std::int64_t n) {
  if (weighting == ResidualWeighting::threshold) {
    for (std::int64_t i = 0; i < n; ++i) multiples[i] = multiples[i] > 1.0 ? 1.0 : 0.0;
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) multiples[i] = multiples[i] > max_residual ? max_residual : multiples[i];
  if (weighting == ResidualWeighting::square) {
    for (std::int64_t i = 0; i < n; ++i) multiples[i] *= multiples[i];
  } else if (weighting == ResidualWeighting::exponential) {
    for (std::int64_t i = 0; i < n; ++i) multiples[i] = -multiples[i];
    kernels().expm1_of(multiples, n);
    for (std::int64_t i = 0; i < n; ++i) multiples[i] = -multiples[i];
  }
}

}  // namespace

SquaredErrors add_values(const double* values, std::span<const std::int64_t> patch, const ValueOutputs& outputs,
                         std::int64_t n_learners, double unseen, RowSums& errors, Threads& threads) {
  const double n_all = static_cast<double>(n_learners);
  errors.add_rows(outputs.n_rows, 2, batch_rows, grain, threads, [&] {
    return [&](std::int64_t first, std::int64_t n, double* sum) {
      const auto start = std::ranges::lower_bound(patch, first);
      const auto end = std::find_if(start, patch.end(), [=](std::int64_t i) { return i >= first + n; });
      add_rows(values, {start, end}, outputs, first, first + n);
      const auto sum_squares = [&, labels = outputs.labels + first](auto predict) {
        double squares[batch_rows];
        for (std::int64_t i = 0; i < n; ++i) {
          const double error = labels[i] - predict(i);
          squares[i] = error * error;
        }
        if (outputs.weights)
          for (std::int64_t i = 0; i < n; ++i) squares[i] *= outputs.weights[first + i];
        return sum_numbers(squares, n);
      };
      sum[0] = sum_squares([=, sums = outputs.sums + first](std::int64_t i) { return sums[i] / n_all; });
      sum[1] = sum_squares([=, sums = outputs.oop_sums + first, counts = outputs.oop_counts + first](std::int64_t i) {
        return counts[i] > 0 ? sums[i] / counts[i] : unseen;
      });
    };
  });
  const std::vector<double> total = errors.total();
  return {total[0], total[1]};
}

std::vector<double> find_residuals(const ValueMeans& means, std::span<const std::int64_t> rows) {
  std::vector<double> residuals(rows.size());
  std::ranges::transform(rows, residuals.begin(), [&](std::int64_t i) { return means.residual(i); });
  return residuals;
}

double median_residual(std::span<const double> residuals, const std::int64_t* weights) {
  if (residuals.empty()) return 0.0;
  std::vector<std::uint64_t> keys(residuals.size());
  std::ranges::transform(residuals, keys.begin(), to_key);
  return weights ? compute_weighted_median(keys, weights) : compute_median(std::move(keys));
}

double sum_residuals(const ValueMeans& means, const double* sample_weights, RowSums& all, Threads& threads) {
  return sum_rows(means.n_rows, sample_weights, all, threads,
                  [&](std::int64_t first, std::int64_t n, double* residuals) {
                    for (std::int64_t i = 0; i < n; ++i) residuals[i] = means.residual(first + i);
                  });
}

double weigh_residuals(const ValueMeans& means, ResidualWeighting weighting, double scale, const double* sample_weights,
                       double* weights, RowSums& all, Threads& threads) {
  return sum_rows(means.n_rows, sample_weights, all, threads, [&](std::int64_t first, std::int64_t n, double* numbers) {
    for (std::int64_t i = 0; i < n; ++i) numbers[i] = means.residual(first + i) / scale;
    weigh(weighting, numbers, n);
    std::copy(numbers, numbers + n, weights + first);
  });
}

void to_log_weights(double* weights, std::int64_t n_rows, double mean, double exploration,
                    const double* log_sample_weights, Threads& threads) {
  const double floor = std::max(exploration, std::numeric_limits<double>::min());
  threads.for_ranges(n_rows, grain * batch_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += batch_rows) {
      const std::int64_t last = std::min(end, first + batch_rows);
      for (std::int64_t i = first; i < last; ++i) weights[i] = (1.0 - exploration) * weights[i] / mean + floor;
      kernels().log_of(weights + first, last - first);
      if (log_sample_weights)
        for (std::int64_t i = first; i < last; ++i) weights[i] += log_sample_weights[i];
    }
  });
}

}  // namespace mpboost
