// Samples of rows that do not depend on how rows are cut into parts.
#pragma once

#include <cstdint>
#include <vector>

namespace mpboost {

inline constexpr std::int64_t max_bin_rows = 200'000;  // that bins are computed from

// List the rows of [first_row, first_row + n_rows), ascending, that are in the sample of a table of n_total rows: all
// rows or, of more than max_rows, about so many. Each row draws a number, always the same, and is in if that is low
// enough for n_total. So whoever reads a stream of unknown length keeps the sample of the rows so far: it has all rows
// that the sample of a longer table takes from them.
std::vector<std::int64_t> sample_rows(std::int64_t first_row, std::int64_t n_rows, std::int64_t n_total,
                                      std::int64_t max_rows = max_bin_rows);

}  // namespace mpboost
