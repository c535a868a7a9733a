// Floating-point sums over rows, in an order that depends neither on threads nor on how rows are cut into parts: sums
// of chunks of rows are joined by a binary tree over the numbers of the chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpboost {

inline constexpr std::int64_t rows_per_chunk = 16'384;

inline std::size_t count_chunks(std::int64_t n_rows) {
  return static_cast<std::size_t>((n_rows + rows_per_chunk - 1) / rows_per_chunk);
}

// Eight sums side by side, so that vectors of any length give the same bits.
inline double sum_numbers(const double* numbers, std::int64_t n) {
  double sums[8]{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) sums[lane] += numbers[i + lane];
  for (; i < n; ++i) sums[i % 8] += numbers[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// The sum of the sums of chunks; of two neighbours, then of two such pairs, and so on.
inline double join_chunks(std::vector<double> sums) {
  if (sums.empty()) return 0.0;
  for (std::size_t step = 1; step < sums.size(); step *= 2)
    for (std::size_t k = 0; k + step < sums.size(); k += 2 * step) sums[k] += sums[k + step];
  return sums[0];
}

}  // namespace mpboost
