// Computes where bins end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "mpboost/binning.hpp"
#include "mpboost/random.hpp"
#include "typed_table.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t max_sample = 200'000;
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

// The rows that edges are computed from, ascending: all, or one drawn from each of max_sample equal stretches. A row on
// the border of two stretches may be drawn twice. The sample follows from the number of rows alone: all models of a
// table have the same bins, whatever their seeds.
class Sample {
 public:
  explicit Sample(std::int64_t n_rows)
      : is_whole_(n_rows <= max_sample), rows_(static_cast<std::size_t>(std::min(n_rows, max_sample))) {
    const Stream stream(0, 0, Purpose::bin_sample);
    const double stretch = static_cast<double>(n_rows) / static_cast<double>(rows_.size());
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const double u = is_whole_ ? 0.5 : uniform(stream.bits(k));
      rows_[k] = std::min(n_rows - 1, static_cast<std::int64_t>((static_cast<double>(k) + u) * stretch));
    }
  }

  const std::vector<std::int64_t>& rows() const { return rows_; }

  // How often a row is in the sample.
  std::int64_t count(std::int64_t row) const {
    if (is_whole_) return 1;
    const auto [begin, end] = std::ranges::equal_range(rows_, row);
    return end - begin;
  }

 private:
  bool is_whole_;
  std::vector<std::int64_t> rows_;
};

// Sort values, none of them missing, and put equal ones together; integers are equal if they are so as doubles.
template <class T>
void collect_runs(std::vector<T>& values, std::vector<Run>& runs) {
  std::sort(values.begin(), values.end());
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

BinMapper BinMapper::fit(const TableView& view, int max_bins, Threads& threads) {
  std::vector<Edges> edges(static_cast<std::size_t>(view.n_columns));
  if (are_bytes_kept(view, max_bins)) {
    std::ranges::transform(compute_maxima(view, threads), edges.begin(), make_byte_edges);
    return join(edges);
  }
  const Sample sample(view.n_rows);
  with_type(view, [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_columns, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> values;
      std::vector<Run> runs;
      values.reserve(sample.rows().size());
      for (std::int64_t j = begin; j < end; ++j) {
        values.clear();
        for (const std::int64_t i : sample.rows())
          if (const T value = table.at(i, j); !is_missing(value)) values.push_back(value);
        collect_runs(values, runs);
        edges[static_cast<std::size_t>(j)] = compute_edges(runs, max_bins);
      }
    });
  });
  return join(edges);
}

BinMapper BinMapper::fit(const SparseView& view, int max_bins, Threads& threads) {
  std::vector<Edges> edges(static_cast<std::size_t>(view.n_columns()));
  const Sample sample(view.n_rows());
  with_type(view.values(), [&]<class T>(const Table<T>& table) {
    threads.for_ranges(view.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> values;
      std::vector<Run> runs;
      for (std::int64_t j = begin; j < end; ++j) {
        T maximum = 0;
        auto n_zeros = static_cast<std::int64_t>(sample.rows().size());
        values.clear();
        for_entries(view, j, [&](std::int64_t entry, std::int64_t row) {
          const T value = table.at(entry, 0);
          const std::int64_t count = sample.count(row);
          maximum = std::max(maximum, value);
          n_zeros -= count;
          if (!is_missing(value)) values.insert(values.end(), static_cast<std::size_t>(count), value);
        });
        if constexpr (std::is_same_v<T, std::uint8_t>) {
          if (are_bytes_kept(view.values(), max_bins)) {
            edges[static_cast<std::size_t>(j)] = make_byte_edges(maximum);
            continue;
          }
        }
        collect_runs(values, runs);
        add_zeros(runs, n_zeros);
        edges[static_cast<std::size_t>(j)] = compute_edges(runs, max_bins);
      }
    });
  });
  return join(edges);
}

}  // namespace mpboost
