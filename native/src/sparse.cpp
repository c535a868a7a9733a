#include "mpboost/sparse.hpp"

#include <algorithm>
#include <stdexcept>

#include "code_lookup.hpp"
#include "mpboost/binning.hpp"
#include "typed_table.hpp"

namespace mpboost {

SparseColumns::SparseColumns(const SparseView& view, const BinMapper& mapper, std::int64_t first_feature,
                             Threads& threads)
    : n_rows_(view.n_rows()),
      offsets_(view.offsets()),
      rows_(static_cast<std::size_t>(offsets_.back())),
      codes_(static_cast<std::size_t>(offsets_.back())),
      columns_(static_cast<std::size_t>(view.n_columns())) {
  if (first_feature < 0 || first_feature > mapper.n_features() - n_columns())
    throw std::invalid_argument("the table has columns that are no features of the mapper");
  with_type(view.values(), [&]<class T>(const Table<T>& table) {
    threads.for_ranges(n_columns(), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        const auto edges = mapper.edges_of(first_feature + j);
        Column& column = columns_[static_cast<std::size_t>(j)];
        column.zero_code = mapper.zero_code(first_feature + j);
        column.n_bins = static_cast<std::uint8_t>(edges.size() + 1);
        double values[block_rows];
        int n = 0;
        std::uint8_t* codes = codes_.data() + offsets_[static_cast<std::size_t>(j)];
        const auto flush = [&] {
          column.has_missing |= look_up_codes(edges, values, n, codes);
          codes += n;
          n = 0;
        };
        for_entries(view, j, [&](std::int64_t entry, std::int64_t row) {
          rows_[static_cast<std::size_t>(entry)] = static_cast<std::int32_t>(row);
          values[n++] = static_cast<double>(table.at(entry, 0));
          if (n == block_rows) flush();
        });
        if (n > 0) flush();
      }
    });
  });
}

void SparseColumns::append(const SparseColumns& other) {
  if (other.n_rows_ != n_rows_) throw std::invalid_argument("the other table has another number of rows");
  const std::int64_t end = offsets_.back();
  for (std::size_t j = 1; j < other.offsets_.size(); ++j) offsets_.push_back(end + other.offsets_[j]);
  rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
  codes_.insert(codes_.end(), other.codes_.begin(), other.codes_.end());
  columns_.insert(columns_.end(), other.columns_.begin(), other.columns_.end());
}

void SparseColumns::expand(std::span<const std::int64_t> features, BinnedColumns& out, Threads& threads) const {
  const auto n_features = static_cast<std::int64_t>(features.size());
  if (out.n_rows() != n_rows_ || out.n_columns() < n_features)
    throw std::invalid_argument("the output must have as many rows, and a column per feature");
  for (const std::int64_t j : features)
    if (j < 0 || j >= n_columns()) throw std::invalid_argument("the features name a column that does not exist");
  threads.for_ranges(n_features, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const auto j = static_cast<std::size_t>(features[static_cast<std::size_t>(k)]);
      const Column& column = columns_[j];
      out.set_n_bins(k, column.n_bins);
      out.set_has_missing(k, column.has_missing);
      std::uint8_t* codes = out.writable_column(k);
      std::fill(codes, codes + n_rows_, column.zero_code);
      const auto end_entry = static_cast<std::size_t>(offsets_[j + 1]);
      for (auto entry = static_cast<std::size_t>(offsets_[j]); entry < end_entry; ++entry)
        codes[rows_[entry]] = codes_[entry];
    }
  });
}

}  // namespace mpboost
