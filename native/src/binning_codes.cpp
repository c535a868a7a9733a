// Computes the codes of a table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "code_lookup.hpp"
#include "mpboost/binning.hpp"
#include "mpboost/kernels.hpp"
#include "typed_table.hpp"

namespace mpboost {
namespace {

// The part of the columns that a piece is coded to. It and tables are passed by value: for all the compiler knows,
// bytes that are written could be part of what a reference points to, which it would read anew each time.
struct Place {
  BinnedColumns* columns;
  std::int64_t first_column, n_columns, stride;
  std::uint8_t* codes;

  std::uint8_t* column(std::int64_t j) const { return codes + j * stride; }
};

// What values of a type are compared as: single precision where it holds all of them.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float> || sizeof(T) <= 2, float, double>;

// The largest number up to an edge.
template <class V>
V round_down(double edge) {
  const auto nearest = static_cast<V>(edge);
  if (!(static_cast<double>(nearest) > edge)) return nearest;
  return std::nextafter(nearest, -std::numeric_limits<V>::infinity());
}

template <class V>
void fill(EdgeTable<V>& table, std::span<const double> edges) {
  std::ranges::fill(std::ranges::transform(edges, table.edges, round_down<V>).out, std::end(table.edges),
                    std::numeric_limits<V>::infinity());
  for (std::size_t k = 0; k < std::size(table.last_of_block); ++k)
    table.last_of_block[k] = table.edges[(k + 1) * edge_block - 1];
  table.n_edges = static_cast<int>(edges.size());
}

bool find_codes(const EdgeTable<float>& table, const float* values, int n, std::uint8_t* codes) {
  return kernels().find_codes_of_floats(table, values, n, codes);
}
bool find_codes(const EdgeTable<double>& table, const double* values, int n, std::uint8_t* codes) {
  return kernels().find_codes_of_doubles(table, values, n, codes);
}

// Convert up to a block of values of a column, and add zeros up to a whole block.
template <class T, class V>
void read_values(Table<T> table, std::int64_t row, std::int64_t column, int n, V (&values)[block_rows]) {
  if (table.row_stride == sizeof(T) && n == block_rows) {  // a loop that can be vectorised
    T numbers[block_rows];
    std::memcpy(numbers, table.data + row * table.row_stride + column * table.column_stride, sizeof(numbers));
    for (int i = 0; i < block_rows; ++i) values[i] = static_cast<V>(numbers[i]);
    return;
  }
  for (int i = 0; i < n; ++i) values[i] = static_cast<V>(table.at(row + i, column));
  std::fill(values + n, std::end(values), V{0});
}

// Columns are coded a few at a time so that each cache line of a row-major table, 16 numbers of 4 bytes, is fetched
// once.
constexpr std::int64_t tile_columns = 16;

// To lay out the edges of a column takes as long as to code some rows.
constexpr std::int64_t min_table_rows = 256;

// Code rows [begin, end) of a piece.
template <class T>
void encode_rows(Table<T> table, const BinMapper& mapper, std::int64_t begin, std::int64_t end, Place out) {
  using V = Compared<T>;
  EdgeTable<V> tables[tile_columns];
  for (std::int64_t first = 0; first < out.n_columns; first += tile_columns) {
    const std::int64_t last = std::min(out.n_columns, first + tile_columns);
    for (std::int64_t j = first; j < last; ++j) fill(tables[j - first], mapper.edges_of(out.first_column + j));
    for (std::int64_t row = begin; row < end; row += block_rows) {
      const int n = static_cast<int>(std::min(block_rows, end - row));
      for (std::int64_t j = first; j < last; ++j) {
        alignas(64) V values[block_rows];
        read_values(table, row, j, n, values);
        if (find_codes(tables[j - first], values, n, out.column(j) + row))
          out.columns->set_has_missing(out.first_column + j, true);
      }
    }
  }
}

// The same for a few rows.
template <class T>
void encode_few_rows(Table<T> table, const BinMapper& mapper, std::int64_t begin, std::int64_t end, Place out) {
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const int n = static_cast<int>(std::min(block_rows, end - row));
    for (std::int64_t j = 0; j < out.n_columns; ++j) {
      double values[block_rows];
      for (int i = 0; i < n; ++i) values[i] = static_cast<double>(table.at(row + i, j));
      if (look_up_codes(mapper.edges_of(out.first_column + j), values, n, out.column(j) + row))
        out.columns->set_has_missing(out.first_column + j, true);
    }
  }
}

// Whether the edges are 0.5, 1.5, 2.5, ...: then a byte is its own code, up to the last bin.
bool keeps_bytes(std::span<const double> edges) {
  for (std::size_t b = 0; b < edges.size(); ++b)
    if (edges[b] != static_cast<double>(b) + 0.5) return false;
  return true;
}

// Transpose eight rows of eight bytes, each row one number: blocks of four, two and one bytes change places.
inline void transpose(std::uint64_t (&rows)[8]) {
  const auto swap = [&](int distance, int shift, std::uint64_t low) {
    for (int i = 0; i < 8; ++i) {
      if (i & distance) continue;
      const std::uint64_t differing = ((rows[i] >> shift) ^ rows[i + distance]) & low;
      rows[i] ^= differing << shift;
      rows[i + distance] ^= differing;
    }
  };
  swap(4, 32, 0x00000000FFFFFFFFULL);
  swap(2, 16, 0x0000FFFF0000FFFFULL);
  swap(1, 8, 0x00FF00FF00FF00FFULL);
}

// Copy bytes, which are their own codes up to the last bin of their column: by tiles of eight by eight where rows are
// contiguous.
void copy_bytes(Table<std::uint8_t> table, std::int64_t begin, std::int64_t end, Place out) {
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t n = std::min(block_rows, end - row);
    std::int64_t j = 0;
    for (; table.column_stride == 1 && n % 8 == 0 && j + 8 <= out.n_columns; j += 8) {
      for (std::int64_t i = 0; i < n; i += 8) {
        std::uint64_t tile[8];
        for (int k = 0; k < 8; ++k) std::memcpy(&tile[k], table.data + (row + i + k) * table.row_stride + j, 8);
        transpose(tile);
        for (int k = 0; k < 8; ++k) std::memcpy(out.column(j + k) + row + i, &tile[k], 8);
      }
    }
    for (; j < out.n_columns; ++j)
      for (std::int64_t i = 0; i < n; ++i) out.column(j)[row + i] = table.at(row + i, j);
  }
  for (std::int64_t j = 0; j < out.n_columns; ++j) {
    const auto last = static_cast<std::uint8_t>(out.columns->n_bins(out.first_column + j) - 1);
    std::uint8_t* codes = out.column(j);
    for (std::int64_t i = begin; i < end; ++i) codes[i] = std::min(codes[i], last);
  }
}

}  // namespace

void BinMapper::encode(const TableView& view, BinnedColumns& columns, std::int64_t first_row, std::int64_t first_column,
                       Threads& threads) const {
  if (columns.n_columns() != n_features()) throw std::invalid_argument("the bins are of another number of columns");
  if (first_row < 0 || first_row > columns.n_rows() - view.n_rows || first_column < 0 ||
      first_column > columns.n_columns() - view.n_columns)
    throw std::invalid_argument("the piece reaches beyond the columns");
  const bool is_whole = view.n_rows == columns.n_rows();
  bool all_bytes = view.dtype == Dtype::uint8;
  for (std::int64_t j = first_column; j < first_column + view.n_columns; ++j) {
    const auto edges = edges_of(j);
    columns.set_n_bins(j, static_cast<int>(edges.size()) + 1);
    if (is_whole) columns.set_has_missing(j, false);
    all_bytes = all_bytes && keeps_bytes(edges);
  }
  const Place out{&columns, first_column, view.n_columns, columns.stride(),
                  columns.writable_column(first_column) + first_row};
  with_type(view, [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_rows, 16 * block_rows, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        if (all_bytes) return copy_bytes(table, begin, end, out);
      }
      if (end - begin < min_table_rows) return encode_few_rows(table, *this, begin, end, out);
      encode_rows(table, *this, begin, end, out);
    });
  });
}

BinnedColumns BinMapper::transform(const TableView& view, Threads& threads) const {
  if (view.n_columns != n_features()) throw std::invalid_argument("the table has another number of columns");
  BinnedColumns columns(view.n_rows, view.n_columns);
  encode(view, columns, 0, 0, threads);
  return columns;
}

}  // namespace mpboost
