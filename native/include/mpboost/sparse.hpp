// Binned columns of sparse tables: most codes are that of the value 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

class BinMapper;
class SparseView;

// Rows and codes of the stored entries, five bytes for each.
class SparseColumns {
 public:
  // The first column of the table is feature `first_feature` of the mapper.
  SparseColumns(const SparseView& view, const BinMapper& mapper, std::int64_t first_feature, Threads& threads);

  // Add the columns of another table with the same rows.
  void append(const SparseColumns& other);

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return static_cast<std::int64_t>(columns_.size()); }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  const std::vector<std::int32_t>& rows() const { return rows_; }
  const std::vector<std::uint8_t>& codes() const { return codes_; }

  // Write columns, in the order of `features`, to the first ones of `out`, whatever it held.
  void expand(std::span<const std::int64_t> features, BinnedColumns& out, Threads& threads) const;

  bool operator==(const SparseColumns&) const = default;

 private:
  struct Column {
    std::uint8_t zero_code, n_bins;
    bool has_missing;
    bool operator==(const Column&) const = default;
  };

  std::int64_t n_rows_;
  std::vector<std::int64_t> offsets_;  // entries of column j are at [offsets[j], offsets[j + 1])
  std::vector<std::int32_t> rows_;
  std::vector<std::uint8_t> codes_;
  std::vector<Column> columns_;
};

}  // namespace mpboost
