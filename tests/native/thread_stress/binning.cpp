// Edges of bins and codes of tables: dense ones of each type, and sparse ones.
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "mpboost/binning.hpp"
#include "mpboost/mapped_file.hpp"
#include "mpboost/row_sample.hpp"
#include "mpboost/sparse.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

void fit_edges(const Data& data, Threads& threads, Digest& digest) {
  TableView view = data.view();
  view.n_columns = 4;
  digest.add(BinMapper::fit(view, 255, threads));
}

// Edges that are computed from a sample of the rows.
void fit_edges_of_a_sample(const Data& data, Threads& threads, Digest& digest) {
  const TableView view{data.values.data(), Dtype::float32, n_rows * 2, 2, 8, 4};
  const std::vector<std::int64_t> rows = sample_rows(0, view.n_rows, view.n_rows);
  digest.add(BinMapper::fit(view, 63, threads, rows));
}

void code_table(const Data& data, Threads& threads, Digest& digest) {
  digest.add(data.mapper.transform(data.view(), threads));
}

// Piece by piece, the last one of some columns only.
void code_pieces(const Data& data, Threads& threads, Digest& digest) {
  BinnedColumns columns(n_rows, n_columns);
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 100'000}, {100'000, n_rows}}) {
    TableView piece = data.view();
    piece.data = data.values.data() + begin * n_columns;
    piece.n_rows = end - begin;
    piece.n_columns = begin == 0 ? n_columns : n_columns / 2;
    data.mapper.encode(piece, columns, begin, 0, threads);
  }
  digest.add(columns);
}

// Edges and codes of a table whose columns, rather than rows, are contiguous.
template <class T, Dtype dtype>
void bin_type(const Data& data, Threads& threads, Digest& digest) {
  constexpr std::int64_t n = 10'001, m = 5;
  std::vector<T> table(n * m);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(data.classes[i] * 20 + i % 3);
  const TableView view{table.data(), dtype, n, m, sizeof(T), n * sizeof(T)};
  const BinMapper mapper = BinMapper::fit(view, 100, threads);
  digest.add(mapper);
  digest.add(mapper.transform(view, threads));
}

// Bytes that are their own codes. The work on edges is spread only if there are many columns, that on codes only if
// there are many rows.
template <std::int64_t n, std::int64_t m>
void bin_bytes(const Data&, Threads& threads, Digest& digest) {
  std::vector<std::uint8_t> table(n * m);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i * i >> 7);
  for (const TableView& view : {TableView{table.data(), Dtype::uint8, n, m, m, 1},     // row by row
                                TableView{table.data(), Dtype::uint8, n, m, 1, n}}) {  // column by column
    const BinMapper mapper = BinMapper::fit(view, 255, threads);
    digest.add(mapper);
    digest.add(mapper.transform(view, threads));
  }
}

// Columns that store every third, fourth, fifth, ... row.
template <class Row, Dtype row_type, class T, Dtype dtype>
void bin_sparse(const Data& data, Threads& threads, Digest& digest) {
  constexpr std::int64_t n = 20'001, m = 40;
  std::vector<std::int64_t> offsets{0};
  std::vector<Row> rows;
  std::vector<T> values;
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t row = j; row < n; row += j + 3) {
      rows.push_back(static_cast<Row>(row));
      values.push_back(static_cast<T>(data.numbers[static_cast<std::size_t>(row)] * 60));
      if (std::is_floating_point_v<T> && row % 50 == 0) values.back() = std::numeric_limits<T>::quiet_NaN();
    }
    offsets.push_back(std::ssize(rows));
  }
  const auto n_entries = std::ssize(rows);
  const SparseView view(n, offsets, {rows.data(), row_type, n_entries, 1, sizeof(Row), 0},
                        {values.data(), dtype, n_entries, 1, sizeof(T), 0});
  const BinMapper mapper = BinMapper::fit(view, 255, threads);
  digest.add(mapper);
  const SparseColumns columns(view, mapper, 0, threads);
  digest.add(columns.rows());
  digest.add(columns.codes());
  BinnedColumns expanded(n, m);
  std::vector<std::int64_t> features(m);
  std::iota(features.rbegin(), features.rend(), 0);
  columns.expand(features, expanded, threads);
  digest.add(expanded);
}

// Columns over some rows of others, in memory and in a file that is cut short while it is mapped.
void sum_slices(const Data& data, Threads& threads, Digest& digest) {
  constexpr std::int64_t first_row = 128, n = n_rows - 1000;
  const auto sum_up = [&](const BinnedColumns& columns) {
    std::vector<std::int64_t> sums(static_cast<std::size_t>(columns.n_columns()));
    threads.for_ranges(columns.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t i = 0; i < columns.n_rows(); ++i) sums[static_cast<std::size_t>(j)] += columns.column(j)[i];
    });
    digest.add(sums);
  };
  sum_up(data.columns.slice(first_row, n));
  char path[] = "/tmp/mpboost_stress_XXXXXX";
  const int descriptor = mkstemp(path);
  if (descriptor < 0) throw std::runtime_error("no temporary file");
  const auto size = data.columns.stride() * n_columns;
  const bool is_written = write(descriptor, data.columns.column(0), static_cast<std::size_t>(size)) == size;
  {
    const MappedFile file(path);
    const BinnedColumns view(n_rows, n_columns, file.bytes().data());
    sum_up(view.slice(first_row, n));
    digest.add(file.is_intact());
    if (!is_written || ftruncate(descriptor, size / 3) != 0) throw std::runtime_error("the file cannot be written");
    digest.add(file.bytes().back());  // now zeros are put there: to the sanitizer a write, which others race with
    sum_up(view.slice(first_row, n));
    digest.add(file.is_intact());
  }
  close(descriptor);
  unlink(path);
}

constexpr Case cases[] = {
    {"edges", true, fit_edges},
    {"edges of a sample", true, fit_edges_of_a_sample},
    {"codes", true, code_table},
    {"codes, piece by piece", true, code_pieces},
    {"edges and codes of bool", true, bin_type<std::uint8_t, Dtype::boolean>},
    {"edges and codes of int8", true, bin_type<std::int8_t, Dtype::int8>},
    {"edges and codes of int16", true, bin_type<std::int16_t, Dtype::int16>},
    {"edges and codes of int32", true, bin_type<std::int32_t, Dtype::int32>},
    {"edges and codes of int64", true, bin_type<std::int64_t, Dtype::int64>},
    {"edges and codes of uint8", true, bin_type<std::uint8_t, Dtype::uint8>},
    {"edges and codes of uint16", true, bin_type<std::uint16_t, Dtype::uint16>},
    {"edges and codes of uint32", true, bin_type<std::uint32_t, Dtype::uint32>},
    {"edges and codes of uint64", true, bin_type<std::uint64_t, Dtype::uint64>},
    {"edges and codes of float32", true, bin_type<float, Dtype::float32>},
    {"edges and codes of float64", true, bin_type<double, Dtype::float64>},
    {"edges of bytes", true, bin_bytes<100, 2500>},
    {"codes of bytes", true, bin_bytes<5001, 20>},
    {"slices, mapped files", true, sum_slices},
    {"sparse floats", true, bin_sparse<std::int32_t, Dtype::int32, float, Dtype::float32>},
    {"sparse bytes", true, bin_sparse<std::int64_t, Dtype::int64, std::uint8_t, Dtype::uint8>},
};

}  // namespace

std::span<const Case> list_binning_cases() { return cases; }

}  // namespace stress
