#include "mpboost/table.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace mpboost {

SparseView::SparseView(std::int64_t n_rows, std::vector<std::int64_t> offsets, const TableView& rows,
                       const TableView& values)
    : n_rows_(n_rows), offsets_(std::move(offsets)), rows_(rows), values_(values) {
  if (n_rows < 0 || n_rows > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument("sparse tables have at most 2^31 - 1 rows; split the table or make it dense");
  if (offsets_.empty() || offsets_.front() != 0 || !std::ranges::is_sorted(offsets_) ||
      offsets_.back() != rows.n_rows || offsets_.back() != values.n_rows)
    throw std::invalid_argument("indptr, indices and data of the sparse table do not fit together");
}

}  // namespace mpboost
