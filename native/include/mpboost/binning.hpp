// From a table of numbers to binned columns: binning_edges.cpp computes where bins end, binning_codes.cpp the codes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/sparse.hpp"
#include "mpboost/table.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// Where the bins of each feature end: a value has code b when edges[b-1] < value <= edges[b], so
// `code <= b` and `value <= edges[b]` are the same test; NaN has missing_code.
class BinMapper {
 public:
  // The rows that bins are computed from, ascending; none given: all.
  using Rows = std::optional<std::span<const std::int64_t>>;

  // Make at most max_bins bins per feature: one per distinct value where these are few, else bins with about equally
  // many of the given rows. Infinities are values like others. uint8 tables keep their values as codes when max_bins is
  // 255 (254 and 255 share one, since 255 means missing), by the largest value of all rows.
  static BinMapper fit(const TableView& view, int max_bins, Threads& threads, Rows rows = {});
  static BinMapper fit(const SparseView& view, int max_bins, Threads& threads, Rows rows = {});

  // Takes the edges of all features end to end, those of feature j at [offsets[j], offsets[j + 1]).
  BinMapper(std::vector<double> edges, std::vector<std::int64_t> offsets);

  std::int64_t n_features() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  const std::vector<double>& edges() const { return edges_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::span<const double> edges_of(std::int64_t feature) const {
    const auto* offset = offsets_.data() + feature;
    return {edges_.data() + offset[0], edges_.data() + offset[1]};
  }
  std::uint8_t zero_code(std::int64_t feature) const { return zero_codes_[static_cast<std::size_t>(feature)]; }

  // Add the features of another mapper.
  void append(const BinMapper& other);

  BinnedColumns transform(const TableView& view, Threads& threads) const;

  // Code a piece of a table, whose first cell belongs to (first_row, first_column) of `columns`.
  void encode(const TableView& view, BinnedColumns& columns, std::int64_t first_row, std::int64_t first_column,
              Threads& threads) const;

 private:
  std::vector<double> edges_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint8_t> zero_codes_;  // of the value 0, which most cells of a sparse table are
};

}  // namespace mpboost
