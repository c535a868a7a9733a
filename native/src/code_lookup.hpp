// Looks up the codes of values among the edges of bins. Header-only.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "mpboost/columns.hpp"

namespace mpboost {

// Count the edges below each value by going over all of them: memory is read in order, which for one or two values is
// faster than halving, as was measured: six times where the edges are not in the cache.
inline void count_edges(std::span<const double> edges, const double* values, int n, std::uint32_t* counts) {
  for (int i = 0; i < n; ++i) {
    std::uint64_t count = 0;
    for (const double edge : edges) count += edge < values[i];
    counts[i] = static_cast<std::uint32_t>(count);
  }
}

// The same by at most eight rounds of halving, each over all values, so that the processor works on many searches at a
// time.
inline void halve_edges(std::span<const double> edges, const double* values, int n, std::uint32_t* counts) {
  const std::size_t half = std::bit_floor(edges.size());
  // The first round leaves half - 1 edges to look at, the first or the last ones; they may overlap, which does no harm.
  const auto rest = static_cast<std::uint32_t>(edges.size() - half + 1);
  for (int i = 0; i < n; ++i) counts[i] = half > 0 ? rest * (edges[half - 1] < values[i]) : 0;
  for (auto step = static_cast<std::uint32_t>(half / 2); step > 0; step /= 2)
    for (int i = 0; i < n; ++i) counts[i] += step * (edges[counts[i] + step - 1] < values[i]);  // no branch
}

// Write the codes of up to a block of values; return whether any is missing.
inline bool look_up_codes(std::span<const double> edges, const double* values, int n, std::uint8_t* out) {
  std::uint32_t counts[block_rows];
  n <= 2 ? count_edges(edges, values, n, counts) : halve_edges(edges, values, n, counts);
  bool has_missing = false;
  for (int i = 0; i < n; ++i) {
    const bool is_missing = values[i] != values[i];
    has_missing |= is_missing;
    out[i] = is_missing ? missing_code : static_cast<std::uint8_t>(counts[i]);
  }
  return has_missing;
}

}  // namespace mpboost
