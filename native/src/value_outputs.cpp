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
double sum_rows(std::int64_t n_rows, const double* weights, Threads& threads, Compute compute) {
  RowSums sums;
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

// A mean to divide by; 1 if it is 0, or rounded to 0.
double to_divisor(double mean) { return mean == 0.0 ? 1.0 : mean; }

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
                         std::int64_t n_learners, double unseen, Threads& threads) {
  RowSums errors;
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

void weigh_residuals(const double* labels, const double* sums, std::int64_t n_rows, std::int64_t n_learners,
                     const MedianRows& median, const ResidualWeights& weights, Threads& threads) {
  if (n_rows == 0) return;
  const auto residual = [=, n = static_cast<double>(n_learners)](std::int64_t i) {
    return std::abs(labels[i] - sums[i] / n);
  };
  std::vector<std::uint64_t> keys(median.rows.size());
  std::ranges::transform(median.rows, keys.begin(), [&](std::int64_t i) { return to_key(residual(i)); });
  double scale = median.weights ? compute_weighted_median(keys, median.weights) : compute_median(std::move(keys));
  if (scale == 0.0) {
    const double sum =
        sum_rows(n_rows, weights.sample_weights, threads, [&](std::int64_t first, std::int64_t n, double* residuals) {
          for (std::int64_t i = 0; i < n; ++i) residuals[i] = residual(first + i);
        });
    scale = to_divisor(sum / weights.total_weight);
  }
  double* log_weights = weights.log_weights;
  const double sum =
      sum_rows(n_rows, weights.sample_weights, threads, [&](std::int64_t first, std::int64_t n, double* numbers) {
        for (std::int64_t i = 0; i < n; ++i) numbers[i] = residual(first + i) / scale;
        weigh(weights.weighting, numbers, n);
        std::copy(numbers, numbers + n, log_weights + first);
      });
  const double mean = to_divisor(sum / weights.total_weight);
  const double floor = std::max(weights.exploration, std::numeric_limits<double>::min());
  threads.for_ranges(n_rows, grain * batch_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += batch_rows) {
      const std::int64_t last = std::min(end, first + batch_rows);
      for (std::int64_t i = first; i < last; ++i)
        log_weights[i] = (1.0 - weights.exploration) * log_weights[i] / mean + floor;
      kernels().log_of(log_weights + first, last - first);
      if (weights.log_sample_weights)
        for (std::int64_t i = first; i < last; ++i) log_weights[i] += weights.log_sample_weights[i];
    }
  });
}

}  // namespace mpboost
