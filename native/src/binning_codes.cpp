// Computes the codes of a table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

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

template <class V>
struct Tile {
  alignas(64) V values[tile_columns][block_rows];
};

// Read a block of values of a few columns: where rows are one behind the other, whole cache lines of them, which are
// asked for some rows ahead, since many processors do not foresee long strides.
template <class T, class V>
void read_tile(Table<T> table, std::int64_t row, std::int64_t column, int n_rows, int n_columns, Tile<V>& tile) {
  if (table.column_stride != sizeof(T)) {
    for (int j = 0; j < n_columns; ++j) read_values(table, row, column + j, n_rows, tile.values[j]);
    return;
  }
  const std::byte* ahead = table.data + (row + 16) * table.row_stride + column * table.column_stride;
  for (int i = 0; i < n_rows; ++i, ahead += table.row_stride) {
    for (std::size_t k = 0; k < tile_columns * sizeof(T); k += 64) __builtin_prefetch(ahead + k);
    for (int j = 0; j < n_columns; ++j) tile.values[j][i] = static_cast<V>(table.at(row + i, column + j));
  }
  for (int j = 0; j < n_columns; ++j) std::fill(tile.values[j] + n_rows, std::end(tile.values[j]), V{0});
}

// To lay out the edges of a column takes as long as to code some rows.
constexpr std::int64_t min_table_rows = 256;

// Code rows [begin, end) of a piece.
template <class T>
void encode_rows(Table<T> table, const BinMapper& mapper, std::int64_t begin, std::int64_t end, Place out) {
  using V = Compared<T>;
  EdgeTable<V> tables[tile_columns];
  Tile<V> tile;
  for (std::int64_t first = 0; first < out.n_columns; first += tile_columns) {
    const int n_columns = static_cast<int>(std::min(tile_columns, out.n_columns - first));
    for (int j = 0; j < n_columns; ++j) fill(tables[j], mapper.edges_of(out.first_column + first + j));
    for (std::int64_t row = begin; row < end; row += block_rows) {
      const int n = static_cast<int>(std::min(block_rows, end - row));
      read_tile(table, row, first, n, n_columns, tile);
      for (int j = 0; j < n_columns; ++j)
        if (find_codes(tables[j], tile.values[j], n, out.column(first + j) + row))
          out.columns->set_has_missing(out.first_column + first + j, true);
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

// Copy bytes of a column, which are their own codes up to the last one.
void copy_column(const std::byte* bytes, std::int64_t stride, std::int64_t n, std::uint8_t last, std::uint8_t* codes) {
  const auto copy = [=](std::int64_t distance) {
    for (std::int64_t i = 0; i < n; ++i) codes[i] = std::min(static_cast<std::uint8_t>(bytes[i * distance]), last);
  };
  stride == 1 ? copy(1) : copy(stride);  // a loop that can be vectorised
}

// The same of all columns, given the last code of each.
void copy_columns(Table<std::uint8_t> table, std::int64_t begin, std::int64_t end, const std::uint8_t* last,
                  Place out) {
  const std::byte* bytes = table.data + begin * table.row_stride;
  const std::int64_t n_rows = end - begin;
  if (table.column_stride == 1 && n_rows >= tile_rows && out.n_columns >= tile_rows) {
    const ByteRows rows{reinterpret_cast<const std::uint8_t*>(bytes), table.row_stride, last};
    return kernels().copy_bytes(rows, n_rows, out.n_columns, out.codes + begin, out.stride);
  }
  for (std::int64_t row = 0; row < n_rows; row += block_rows)
    for (std::int64_t j = 0; j < out.n_columns; ++j)
      copy_column(bytes + row * table.row_stride + j * table.column_stride, table.row_stride,
                  std::min(block_rows, n_rows - row), last[j], out.column(j) + begin + row);
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
  std::vector<std::uint8_t> last_codes;
  for (std::int64_t j = first_column; j < first_column + view.n_columns; ++j) {
    const auto edges = edges_of(j);
    columns.set_n_bins(j, static_cast<int>(edges.size()) + 1);
    if (is_whole) columns.set_has_missing(j, false);
    all_bytes = all_bytes && keeps_bytes(edges);
    last_codes.push_back(static_cast<std::uint8_t>(edges.size()));
  }
  const Place out{&columns, first_column, view.n_columns, columns.stride(),
                  columns.writable_column(first_column) + first_row};
  with_type(view, [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_rows, 16 * block_rows, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        if (all_bytes) return copy_columns(table, begin, end, last_codes.data(), out);
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
