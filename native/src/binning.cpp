#include "mpboost/binning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "mpboost/random.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t max_sample = 200'000;

template <class T>
struct Table {
  const std::byte* data;
  std::int64_t row_stride, column_stride;

  T at(std::int64_t i, std::int64_t j) const {
    T value;  // memcpy: rows of a strided table need not be aligned
    std::memcpy(&value, data + i * row_stride + j * column_stride, sizeof(T));
    return value;
  }
};

// Call work(Table<T>) for the table's type.
template <class Work>
auto with_type(const TableView& view, Work&& work) {
  const auto as = [&]<class T>(T) {
    return work(Table<T>{static_cast<const std::byte*>(view.data), view.row_stride, view.column_stride});
  };
  switch (view.dtype) {
    case Dtype::boolean: return as(std::uint8_t{});
    case Dtype::int8: return as(std::int8_t{});
    case Dtype::int16: return as(std::int16_t{});
    case Dtype::int32: return as(std::int32_t{});
    case Dtype::int64: return as(std::int64_t{});
    case Dtype::uint8: return as(std::uint8_t{});
    case Dtype::uint16: return as(std::uint16_t{});
    case Dtype::uint32: return as(std::uint32_t{});
    case Dtype::uint64: return as(std::uint64_t{});
    case Dtype::float32: return as(float{});
    case Dtype::float64: break;
  }
  return as(double{});
}

template <class T>
bool is_missing(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// A number in [low, high), half-way where it can be; needs low < high.
double midpoint(double low, double high) {
  const double middle = low * 0.5 + high * 0.5;
  return low <= middle && middle < high ? middle : low;
}

// One row out of each of max_sample equal stretches, or all rows.
std::vector<std::int64_t> sample_rows(std::int64_t n_rows, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(n_rows, max_sample)));
  const Stream stream(seed, 0, Purpose::bin_sample);
  const double stretch = static_cast<double>(n_rows) / static_cast<double>(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double u = n_rows > max_sample ? uniform(stream.bits(k)) : 0.5;
    rows[k] = std::min(n_rows - 1, static_cast<std::int64_t>((static_cast<double>(k) + u) * stretch));
  }
  return rows;
}

// The edges between the bins of sorted values, none of them missing.
template <class T>
std::vector<double> find_edges(const std::vector<T>& sorted, int max_bins) {
  std::vector<double> edges;
  const auto between = [&](std::size_t k) {  // values k-1 and k differ
    return midpoint(static_cast<double>(sorted[k - 1]), static_cast<double>(sorted[k]));
  };
  const auto add = [&](double edge) {
    if (edges.empty() || edges.back() < edge) edges.push_back(edge);
  };
  const auto limit = static_cast<std::size_t>(max_bins);
  std::size_t n_distinct = sorted.empty() ? 0 : 1;
  for (std::size_t k = 1; k < sorted.size() && n_distinct <= limit; ++k) n_distinct += sorted[k - 1] < sorted[k];

  if (n_distinct <= limit) {
    for (std::size_t k = 1; k < sorted.size(); ++k)
      if (sorted[k - 1] < sorted[k]) add(between(k));
    return edges;
  }
  for (std::size_t b = 1; b < limit; ++b) {
    const std::size_t target = b * sorted.size() / limit;
    // The nearest place at or after the target where the value changes.
    const auto k = static_cast<std::size_t>(
        target > 0 && sorted[target - 1] < sorted[target]
            ? static_cast<std::ptrdiff_t>(target)
            : std::upper_bound(sorted.begin() + static_cast<std::ptrdiff_t>(target), sorted.end(), sorted[target]) -
                  sorted.begin());
    if (k < sorted.size()) add(between(k));
  }
  return edges;
}

// Codes of up to a block of values at once: eight rounds of halving, each over all values, so that the
// processor works on many searches at a time.
class Search {
 public:
  Search(const double* edges, std::size_t n_edges) : first_step_(std::bit_floor(n_edges)) {
    std::fill(std::begin(edges_), std::end(edges_), std::numeric_limits<double>::infinity());
    std::copy(edges, edges + n_edges, edges_);
  }

  // Returns whether any value is missing.
  bool codes(const double* values, int n, std::uint8_t* out) const {
    std::uint32_t position[block_rows] = {};
    for (auto step = static_cast<std::uint32_t>(first_step_); step > 0; step /= 2)
      for (int i = 0; i < n; ++i) position[i] += step * (edges_[position[i] + step - 1] < values[i]);  // no branch
    bool has_missing = false;
    for (int i = 0; i < n; ++i) {
      const bool is_missing = values[i] != values[i];
      has_missing |= is_missing;
      out[i] = is_missing ? missing_code : static_cast<std::uint8_t>(position[i]);
    }
    return has_missing;
  }

 private:
  double edges_[256];
  std::size_t first_step_;
};

// Whether codes are the values themselves up to the last edge: the edges are 0.5, 1.5, 2.5, ...
bool keeps_bytes(const double* edges, std::int64_t n_edges) {
  for (std::int64_t b = 0; b < n_edges; ++b)
    if (edges[b] != static_cast<double>(b) + 0.5) return false;
  return true;
}

// Columns are coded a few at a time so that each cache line of a row-major table is fetched once.
constexpr std::int64_t tile_columns = 16;

template <class T>
void encode(const Table<T>& table, const BinMapper& mapper, std::int64_t begin, std::int64_t end, BinnedColumns& out) {
  std::vector<Search> searches;
  searches.reserve(tile_columns);
  for (std::int64_t first = 0; first < mapper.n_features(); first += tile_columns) {
    const std::int64_t last = std::min(mapper.n_features(), first + tile_columns);
    searches.clear();
    for (std::int64_t j = first; j < last; ++j) {
      const auto offset = mapper.offsets()[static_cast<std::size_t>(j)];
      const auto n_edges = mapper.offsets()[static_cast<std::size_t>(j) + 1] - offset;
      searches.emplace_back(mapper.edges().data() + offset, static_cast<std::size_t>(n_edges));
    }
    for (std::int64_t row = begin; row < end; row += block_rows) {
      const int n = static_cast<int>(std::min(block_rows, end - row));
      for (std::int64_t j = first; j < last; ++j) {
        double values[block_rows];
        for (int i = 0; i < n; ++i) values[i] = static_cast<double>(table.at(row + i, j));
        if (searches[static_cast<std::size_t>(j - first)].codes(values, n, out.column(j) + row)) out.set_has_missing(j);
      }
    }
  }
}

// Eight rows of eight bytes, each row a number, become eight columns: blocks of four, two and one change places.
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

// Bytes are their own codes, up to the last one of their column. The columns of a block of rows are filled by tiles of
// eight by eight where rows are contiguous.
void copy_bytes(const Table<std::uint8_t>& table, std::int64_t begin, std::int64_t end, BinnedColumns& out) {
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t n = std::min(block_rows, end - row);
    std::int64_t j = 0;
    for (; table.column_stride == 1 && n % 8 == 0 && j + 8 <= out.n_columns(); j += 8) {
      for (std::int64_t i = 0; i < n; i += 8) {
        std::uint64_t tile[8];
        for (int k = 0; k < 8; ++k) std::memcpy(&tile[k], table.data + (row + i + k) * table.row_stride + j, 8);
        transpose(tile);
        for (int k = 0; k < 8; ++k) std::memcpy(out.column(j + k) + row + i, &tile[k], 8);
      }
    }
    for (; j < out.n_columns(); ++j)
      for (std::int64_t i = 0; i < n; ++i) out.column(j)[row + i] = table.at(row + i, j);
  }
  for (std::int64_t j = 0; j < out.n_columns(); ++j) {
    const auto last = static_cast<std::uint8_t>(out.n_bins(j) - 1);
    std::uint8_t* codes = out.column(j);
    for (std::int64_t i = begin; i < end; ++i) codes[i] = std::min(codes[i], last);
  }
}

// The largest value of each column, found row by row as row-major tables lie.
std::vector<std::uint8_t> column_maxima(const TableView& view, Threads& threads) {
  const Table<std::uint8_t> table{static_cast<const std::byte*>(view.data), view.row_stride, view.column_stride};
  std::vector<std::uint8_t> maxima(static_cast<std::size_t>(view.n_columns));
  threads.for_ranges(view.n_columns, 1024, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* most = maxima.data();
    for (std::int64_t i = 0; i < view.n_rows; ++i) {
      const auto* row = reinterpret_cast<const std::uint8_t*>(table.data) + i * table.row_stride;
      if (table.column_stride == 1)  // a loop that can be vectorised
        for (std::int64_t j = begin; j < end; ++j) most[j] = std::max(most[j], row[j]);
      else
        for (std::int64_t j = begin; j < end; ++j) most[j] = std::max(most[j], row[j * table.column_stride]);
    }
  });
  return maxima;
}

}  // namespace

BinMapper::BinMapper(std::vector<double> edges, std::vector<std::int64_t> offsets)
    : edges_(std::move(edges)), offsets_(std::move(offsets)) {
  if (offsets_.empty() || offsets_.front() != 0 || !std::ranges::is_sorted(offsets_) ||
      offsets_.back() != static_cast<std::int64_t>(edges_.size()))
    throw std::invalid_argument("bin offsets do not span the edges");
  for (std::size_t j = 1; j < offsets_.size(); ++j) {
    if (offsets_[j] - offsets_[j - 1] >= max_value_bins) throw std::invalid_argument("a feature has too many bin edges");
    for (auto k = offsets_[j - 1] + 1; k <= offsets_[j]; ++k) {
      const double last = edges_[static_cast<std::size_t>(k - 1)];
      const bool ascends = k == offsets_[j] ? last == last : last < edges_[static_cast<std::size_t>(k)];
      if (!ascends) throw std::invalid_argument("bin edges must ascend");
    }
  }
}

BinMapper BinMapper::fit(const TableView& view, int max_bins, std::uint64_t seed, Threads& threads) {
  std::vector<std::vector<double>> edges(static_cast<std::size_t>(view.n_columns));
  if (view.dtype == Dtype::uint8 && max_bins == max_value_bins) {
    const auto maxima = column_maxima(view, threads);
    for (std::size_t j = 0; j < edges.size(); ++j)
      for (int b = 0; b < std::min<int>(maxima[j], max_value_bins - 1); ++b) edges[j].push_back(b + 0.5);
  } else {
    const auto rows = sample_rows(view.n_rows, seed);
    with_type(view, [&]<class T>(const Table<T>& table) {
      threads.for_ranges(view.n_columns, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> values;
        values.reserve(rows.size());
        for (std::int64_t j = begin; j < end; ++j) {
          values.clear();
          for (const std::int64_t i : rows)
            if (const T value = table.at(i, j); !is_missing(value)) values.push_back(value);
          std::sort(values.begin(), values.end());
          edges[static_cast<std::size_t>(j)] = find_edges(values, max_bins);
        }
      });
    });
  }
  std::vector<double> flat;
  std::vector<std::int64_t> offsets{0};
  for (const auto& column : edges) {
    flat.insert(flat.end(), column.begin(), column.end());
    offsets.push_back(static_cast<std::int64_t>(flat.size()));
  }
  return {std::move(flat), std::move(offsets)};
}

BinnedColumns BinMapper::transform(const TableView& view, Threads& threads) const {
  if (view.n_columns != n_features()) throw std::invalid_argument("the table has another number of columns");
  BinnedColumns out(view.n_rows, view.n_columns);
  bool all_bytes = view.dtype == Dtype::uint8;
  for (std::int64_t j = 0; j < n_features(); ++j) {
    const auto offset = offsets_[static_cast<std::size_t>(j)];
    const auto n_edges = offsets_[static_cast<std::size_t>(j) + 1] - offset;
    out.set_n_bins(j, static_cast<int>(n_edges) + 1);
    all_bytes = all_bytes && keeps_bytes(edges_.data() + offset, n_edges);
    std::fill(out.column(j) + view.n_rows, out.column(j) + out.stride(), std::uint8_t{0});
  }
  with_type(view, [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_rows, 16 * block_rows, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        if (all_bytes) return copy_bytes(table, begin, end, out);
      }
      encode(table, *this, begin, end, out);
    });
  });
  return out;
}

}  // namespace mpboost
