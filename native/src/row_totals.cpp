#include "mpboost/row_totals.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t piece_rows = 2048, grain = 8;

template <class T>
double add_up(const T* values, std::int64_t n_rows, RowSums& sums, Threads& threads) {
  sums.add_rows(n_rows, 1, piece_rows, grain, threads, [=] {
    return [=](std::int64_t first, std::int64_t n, double* sum) { *sum = sum_numbers(values + first, n); };
  });
  return sums.total()[0];
}

}  // namespace

double sum_values(const double* values, std::int64_t n_rows, RowSums& sums, Threads& threads) {
  return add_up(values, n_rows, sums, threads);
}

double sum_values(const float* values, std::int64_t n_rows, RowSums& sums, Threads& threads) {
  return add_up(values, n_rows, sums, threads);
}

std::vector<double> sum_by_class(const double* values, const std::uint16_t* classes, std::int64_t n_rows,
                                 std::int64_t n_classes, RowSums& sums, Threads& threads) {
  sums.add_rows(n_rows, static_cast<std::size_t>(n_classes), chunk_rows, 1, threads, [=] {
    return [=](std::int64_t first, std::int64_t n, double* sum) {
      for (std::int64_t i = first; i < first + n; ++i) sum[classes[i]] += values[i];
    };
  });
  return sums.total();
}

}  // namespace mpboost
