// From a table of numbers to binned columns.
#pragma once

#include <cstdint>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

enum class Dtype { boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

// A table in the caller's memory, in any order; strides count bytes.
struct TableView {
  const void* data;
  Dtype dtype;
  std::int64_t n_rows, n_columns;
  std::int64_t row_stride, column_stride;
};

// Where the bins of each feature end: a value has code b when edges[b-1] < value <= edges[b], so
// `code <= b` and `value <= edges[b]` are the same test; NaN has missing_code.
class BinMapper {
 public:
  // At most max_bins bins per feature: one per distinct value where these are few, else of about
  // equal counts in a sample of at most 200 000 rows. uint8 tables keep their values as codes
  // when max_bins is 255 (254 and 255 share one, since 255 means missing).
  static BinMapper fit(const TableView& table, int max_bins, std::uint64_t seed, Threads& threads);

  // From the edges of all features end to end, those of feature j at [offsets[j], offsets[j + 1]).
  BinMapper(std::vector<double> edges, std::vector<std::int64_t> offsets);

  std::int64_t n_features() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  const std::vector<double>& edges() const { return edges_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

  BinnedColumns transform(const TableView& table, Threads& threads) const;

 private:
  std::vector<double> edges_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace mpboost
