// Reads tables of any type. Header-only.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "mpboost/table.hpp"

namespace mpboost {

template <class T>
struct Table {
  const std::byte* data;
  std::int64_t row_stride, column_stride;

  explicit Table(const TableView& view)
      : data(static_cast<const std::byte*>(view.data)),
        row_stride(view.row_stride),
        column_stride(view.column_stride) {}

  T at(std::int64_t i, std::int64_t j) const {
    T value;  // memcpy: rows of a strided table need not be aligned
    std::memcpy(&value, data + i * row_stride + j * column_stride, sizeof(T));
    return value;
  }
};

// Call work(Table<T>) for the table's type.
template <class Work>
auto with_type(const TableView& view, Work&& work) {
  switch (view.dtype) {
    case Dtype::boolean: return work(Table<std::uint8_t>(view));
    case Dtype::int8: return work(Table<std::int8_t>(view));
    case Dtype::int16: return work(Table<std::int16_t>(view));
    case Dtype::int32: return work(Table<std::int32_t>(view));
    case Dtype::int64: return work(Table<std::int64_t>(view));
    case Dtype::uint8: return work(Table<std::uint8_t>(view));
    case Dtype::uint16: return work(Table<std::uint16_t>(view));
    case Dtype::uint32: return work(Table<std::uint32_t>(view));
    case Dtype::uint64: return work(Table<std::uint64_t>(view));
    case Dtype::float32: return work(Table<float>(view));
    case Dtype::float64: break;
  }
  return work(Table<double>(view));
}

// Call visit(entry, row) for the entries that a column stores.
template <class Visit>
void for_entries(const SparseView& table, std::int64_t column, Visit&& visit) {
  const bool is_narrow = table.rows().dtype == Dtype::int32;
  const Table<std::int32_t> narrow(table.rows());
  const Table<std::int64_t> wide(table.rows());
  const std::int64_t* offset = table.offsets().data() + column;
  std::int64_t last_row = -1;
  for (std::int64_t entry = offset[0]; entry < offset[1]; ++entry) {
    const std::int64_t row = is_narrow ? narrow.at(entry, 0) : wide.at(entry, 0);
    if (row <= last_row || row >= table.n_rows())
      throw std::invalid_argument("rows of a sparse column must ascend from 0 on and be fewer than n_rows");
    visit(entry, row);
    last_row = row;
  }
}

}  // namespace mpboost
