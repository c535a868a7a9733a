// Tables of numbers in the caller's memory.
#pragma once

#include <cstdint>
#include <vector>

namespace mpboost {

enum class Dtype { boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

// A table in row-major, column-major or any other strided order; strides count bytes.
struct TableView {
  const void* data;
  Dtype dtype;
  std::int64_t n_rows, n_columns;
  std::int64_t row_stride, column_stride;
};

// A sparse table, column by column (CSC): column j stores entries [offsets[j], offsets[j + 1]).
//
//   rows    0 2 5 | 1 | 0 1     ascending in a column; checked at each reading, since the caller may write to them
//   values  3 1 8 | 4 | 2 2     explicit zeros are allowed
class SparseView {
 public:
  // Rows (int32 or int64) and values are tables of one column.
  SparseView(std::int64_t n_rows, std::vector<std::int64_t> offsets, const TableView& rows, const TableView& values);

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  const TableView& rows() const { return rows_; }
  const TableView& values() const { return values_; }

 private:
  std::int64_t n_rows_;
  std::vector<std::int64_t> offsets_;  // a copy, so that what was checked stays as it is
  TableView rows_, values_;
};

}  // namespace mpboost
