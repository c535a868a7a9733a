#include "mpboost/row_sample.hpp"

#include <numeric>
#include <stdexcept>

#include "mpboost/random.hpp"

namespace mpboost {

std::vector<std::int64_t> sample_rows(std::int64_t first_row, std::int64_t n_rows, std::int64_t n_total,
                                      std::int64_t max_rows) {
  if (first_row < 0 || n_rows < 0 || first_row > n_total - n_rows)
    throw std::invalid_argument("rows to sample from must be rows of the table");
  if (max_rows < 1) throw std::invalid_argument("a sample has at least one row");
  std::vector<std::int64_t> rows;
  if (n_total <= max_rows) {
    rows.resize(static_cast<std::size_t>(n_rows));
    std::iota(rows.begin(), rows.end(), first_row);
    return rows;
  }
  // A draw of 53 bits is in if draw * n_total < max_rows * 2^53: exact in 128 bits, and the same as draw < limit.
  __extension__ using Wide = unsigned __int128;
  const Wide n = static_cast<std::uint64_t>(n_total);
  const auto limit = static_cast<std::uint64_t>(((Wide{static_cast<std::uint64_t>(max_rows)} << 53) + n - 1) / n);
  const Stream stream(0, 0, Purpose::row_sample);
  for (std::int64_t row = first_row; row < first_row + n_rows; ++row)
    if (stream.bits(static_cast<std::uint64_t>(row)) >> 11 < limit) rows.push_back(row);
  return rows;
}

}  // namespace mpboost
