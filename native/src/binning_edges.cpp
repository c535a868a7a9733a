// Computes where bins end.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "mpboost/binning.hpp"
#include "radix_sort.hpp"
#include "typed_table.hpp"

namespace mpboost {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Edges = std::vector<double>;

// Equal values of a column.
struct Run {
  double value;
  std::int64_t count;
};

template <class T>
bool is_missing(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// A number in [low, high), half-way if there is one; needs low < high. An infinity is told from all finite numbers.
double midpoint(double low, double high) {
  if (high == infinity) return low == -infinity ? 0.0 : std::numeric_limits<double>::max();
  const double middle = low * 0.5 + high * 0.5;
  return low <= middle && middle < high ? middle : low;
}

void check_rows(const BinMapper::Rows& rows, std::int64_t n_rows) {
  std::int64_t last = -1;
  for (const std::int64_t row : rows.value_or(std::span<const std::int64_t>())) {
    if (row <= last || row >= n_rows) throw std::invalid_argument("rows must ascend and be rows of the table");
    last = row;
  }
}

// Sort values, none of them missing, and put equal ones together; integers are equal if they are so as doubles.
template <class T>
void collect_runs(std::span<T> values, std::vector<T>& spare, std::vector<Run>& runs) {
  radix_sort(values, spare);
  runs.clear();
  runs.reserve(values.size());  // at once: memory that a thread outgrows is not given back
  for (const T original : values) {
    const double value = static_cast<double>(original) + 0.0;  // -0.0 becomes 0.0
    if (runs.empty() || runs.back().value < value) runs.push_back({value, 0});
    ++runs.back().count;
  }
}

void add_zeros(std::vector<Run>& runs, std::int64_t n_zeros) {
  if (n_zeros == 0) return;
  auto place = std::ranges::lower_bound(runs, 0.0, {}, &Run::value);
  if (place == runs.end() || place->value > 0.0) place = runs.insert(place, {0.0, 0});
  place->count += n_zeros;
}

// The values of some columns that lie side by side, so that each cache line of a row-major table is read once. Zeros,
// of which there may be many, are only counted.
template <class T>
class ColumnValues {
 public:
  static constexpr std::int64_t max_columns = 16;

  explicit ColumnValues(std::int64_t n_rows) : stride_(static_cast<std::size_t>(n_rows)) {}

  // Read some rows, or all, of columns [first, last).
  void read(const Table<T> table, const BinMapper::Rows& rows, std::int64_t first, std::int64_t last) {
    const auto n = static_cast<std::size_t>(last - first);
    values_.resize(std::max(values_.size(), n * stride_));
    for (std::size_t k = 0; k < n; ++k) columns_[k] = {values_.data() + k * stride_, 0, 0};
    for (std::size_t begin = 0; begin < stride_; begin += block_rows) {
      const std::size_t end = std::min(stride_, begin + block_rows);
      std::int64_t some[block_rows];  // the rows that are not zero in all columns: in sparse tables few
      std::size_t n_some = 0;
      for (std::size_t i = begin; i < end; ++i) {
        some[n_some] = rows ? (*rows)[i] : static_cast<std::int64_t>(i);
        n_some += !is_zero(table, some[n_some], first, n);
      }
      for (std::size_t k = 0; k < n; ++k) {
        columns_[k].read(table, {some, n_some}, first + static_cast<std::int64_t>(k));
        columns_[k].n_zeros += static_cast<std::int64_t>(end - begin - n_some);
      }
    }
  }

  // The values of a column that are neither missing nor zero.
  std::span<T> others(std::int64_t column) {
    const Column& of_column = columns_[static_cast<std::size_t>(column)];
    return {of_column.others, of_column.n_others};
  }

  std::int64_t n_zeros(std::int64_t column) const { return columns_[static_cast<std::size_t>(column)].n_zeros; }

 private:
  struct Column {
    T* others;
    std::size_t n_others;
    std::int64_t n_zeros;

    void read(const Table<T> table, std::span<const std::int64_t> rows, std::int64_t j) {
      Column now = *this;
      for (const std::int64_t row : rows) {
        const T value = table.at(row, j);
        now.others[now.n_others] = value;  // the next one is written over it if it is missing or zero
        now.n_others += !is_missing(value) && value != 0;
        now.n_zeros += value == 0;
      }
      *this = now;
    }
  };

  // Whether all values of a row in n columns are 0, as far as that is soon told: columns lie side by side, not -0.0.
  static bool is_zero(const Table<T> table, std::int64_t row, std::int64_t first, std::size_t n) {
    if (table.column_stride != sizeof(T) || n != max_columns) return false;
    const auto* values = table.data + row * table.row_stride + first * table.column_stride;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < max_columns * sizeof(T); i += sizeof bits) {
      std::uint64_t word;
      std::memcpy(&word, values + i, sizeof word);
      bits |= word;
    }
    return bits == 0;
  }

  std::size_t stride_;
  std::vector<T> values_;
  std::array<Column, max_columns> columns_;
};

// The edges between the bins of ascending runs.
Edges compute_edges(const std::vector<Run>& runs, int max_bins) {
  Edges edges;
  const auto add_edge_before = [&](std::size_t r) { edges.push_back(midpoint(runs[r - 1].value, runs[r].value)); };
  if (runs.size() <= static_cast<std::size_t>(max_bins)) {
    for (std::size_t r = 1; r < runs.size(); ++r) add_edge_before(r);
    return edges;
  }
  std::int64_t total = 0, n_before = 0;
  for (const Run& run : runs) total += run.count;
  std::size_t r = 0, last = 0;
  for (int bin = 1; bin < max_bins; ++bin, last = r) {
    // Go to the first place at or after an equal share where the value changes.
    while (n_before < bin * total / max_bins) n_before += runs[r++].count;
    if (r == runs.size()) break;
    if (r != last) add_edge_before(r);
  }
  return edges;
}

// Edges with which bytes up to a maximum are their own codes, except 255, which means missing.
Edges make_byte_edges(std::uint8_t maximum) {
  Edges edges;
  for (int b = 0; b < std::min<int>(maximum, max_value_bins - 1); ++b) edges.push_back(b + 0.5);
  return edges;
}

bool are_bytes_kept(const TableView& table, int max_bins) {
  return table.dtype == Dtype::uint8 && max_bins == max_value_bins;
}

// The largest value of each column, computed row by row: tables are mostly row-major.
std::vector<std::uint8_t> compute_maxima(const TableView& view, Threads& threads) {
  std::vector<std::uint8_t> maxima(static_cast<std::size_t>(view.n_columns));
  threads.for_ranges(view.n_columns, 1024, [&](std::int64_t begin, std::int64_t end) {
    std::uint8_t* most = maxima.data();
    for (std::int64_t i = 0; i < view.n_rows; ++i) {
      const auto* row = static_cast<const std::uint8_t*>(view.data) + i * view.row_stride;
      if (view.column_stride == 1)  // a loop that can be vectorised
        for (std::int64_t j = begin; j < end; ++j) most[j] = std::max(most[j], row[j]);
      else
        for (std::int64_t j = begin; j < end; ++j) most[j] = std::max(most[j], row[j * view.column_stride]);
    }
  });
  return maxima;
}

BinMapper join(const std::vector<Edges>& columns) {
  std::vector<std::int64_t> offsets{0};
  for (const Edges& column : columns) offsets.push_back(offsets.back() + static_cast<std::int64_t>(column.size()));
  Edges edges;
  edges.reserve(static_cast<std::size_t>(offsets.back()));
  for (const Edges& column : columns) edges.insert(edges.end(), column.begin(), column.end());
  return {std::move(edges), std::move(offsets)};
}

}  // namespace

BinMapper BinMapper::fit(const TableView& view, int max_bins, Threads& threads, Rows rows) {
  check_rows(rows, view.n_rows);
  std::vector<Edges> edges(static_cast<std::size_t>(view.n_columns));
  if (are_bytes_kept(view, max_bins)) {
    std::ranges::transform(compute_maxima(view, threads), edges.begin(), make_byte_edges);
    return join(edges);
  }
  with_type(view, [&]<class T>(const Table<T>& table) {
    // As many columns side by side as each thread can have: a cache line of a row has several.
    const std::int64_t per_thread = (view.n_columns + threads.size() - 1) / threads.size();
    const std::int64_t grain = std::clamp<std::int64_t>(per_thread, 1, ColumnValues<T>::max_columns);
    threads.for_ranges(view.n_columns, grain, [&](std::int64_t begin, std::int64_t end) {
      ColumnValues<T> values(rows ? std::ssize(*rows) : view.n_rows);
      std::vector<T> spare;
      std::vector<Run> runs;
      for (std::int64_t first = begin; first < end; first += values.max_columns) {
        const std::int64_t last = std::min(end, first + values.max_columns);
        values.read(table, rows, first, last);
        for (std::int64_t j = first; j < last; ++j) {
          collect_runs(values.others(j - first), spare, runs);
          add_zeros(runs, values.n_zeros(j - first));
          edges[static_cast<std::size_t>(j)] = compute_edges(runs, max_bins);
        }
      }
    });
  });
  return join(edges);
}

BinMapper BinMapper::fit(const SparseView& view, int max_bins, Threads& threads, Rows rows) {
  check_rows(rows, view.n_rows());
  const std::int64_t n_rows = rows ? std::ssize(*rows) : view.n_rows();
  std::vector<Edges> edges(static_cast<std::size_t>(view.n_columns()));
  with_type(view.values(), [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> values, spare;
      std::vector<Run> runs;
      for (std::int64_t j = begin; j < end; ++j) {
        T maximum = 0;
        std::int64_t n_zeros = n_rows;
        std::span<const std::int64_t> later = rows.value_or(std::span<const std::int64_t>());  // that may be stored
        values.clear();
        for_entries(view, j, [&](std::int64_t entry, std::int64_t row) {
          const T value = table.at(entry, 0);
          maximum = std::max(maximum, value);
          if (rows) {
            later = {std::ranges::lower_bound(later, row), later.end()};
            if (later.empty() || later.front() != row) return;
          }
          --n_zeros;
          if (!is_missing(value)) values.push_back(value);
        });
        if constexpr (std::is_same_v<T, std::uint8_t>) {
          if (are_bytes_kept(view.values(), max_bins)) {
            edges[static_cast<std::size_t>(j)] = make_byte_edges(maximum);
            continue;
          }
        }
        collect_runs(std::span(values), spare, runs);
        add_zeros(runs, n_zeros);
        edges[static_cast<std::size_t>(j)] = compute_edges(runs, max_bins);
      }
    });
  });
  return join(edges);
}

}  // namespace mpboost
