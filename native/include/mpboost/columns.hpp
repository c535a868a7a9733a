// The data as the engine sees it: one column of 8-bit codes per feature. Header-only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

namespace mpboost {

inline constexpr std::int64_t block_rows = 128;    // rows that a tree is applied to at a time
inline constexpr std::uint8_t missing_code = 255;  // the code of a missing value
inline constexpr int max_value_bins = 255;         // codes 0..254 are values

//            block 0         block 1         last block
//  column 0  128 codes       128 codes  ...  codes, then up to 128 bytes that mean nothing
//  column 1  128 codes       128 codes  ...
//
// The codes are the object's own, or a view of memory that someone else owns, say of a mapped file, or of some rows of
// other columns, where the next column may be farther away than n_rows() tells (stride). What a view holds may break
// the promises about bins and missing values: whoever reads codes must stay in bounds for any byte.
class BinnedColumns {
 public:
  // Begins with all codes 0, in a single bin.
  BinnedColumns(std::int64_t n_rows, std::int64_t n_columns)
      : n_rows_(n_rows),
        n_columns_(n_columns),
        stride_(compute_stride(n_rows, n_columns)),
        n_bins_(static_cast<std::size_t>(n_columns), 1),
        has_missing_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(n_columns))),
        memory_(std::calloc(static_cast<std::size_t>(stride_ * n_columns) + alignment, 1)) {
    if (!memory_) throw std::bad_alloc();
    void* start = memory_.get();
    std::size_t space = static_cast<std::size_t>(stride_ * n_columns) + alignment;
    codes_ = own_codes_ = static_cast<std::uint8_t*>(std::align(alignment, space - alignment, start, space));
  }

  // A view of codes in the layout above, at any address. They must stay there, and the same, as long as this object.
  BinnedColumns(std::int64_t n_rows, std::int64_t n_columns, const std::uint8_t* codes)
      : n_rows_(n_rows),
        n_columns_(n_columns),
        stride_(compute_stride(n_rows, n_columns)),
        n_bins_(static_cast<std::size_t>(n_columns), 1),
        has_missing_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(n_columns))),
        codes_(codes) {}

  // A view of some rows, the first one a multiple of block_rows, of these columns, which must live as long and stay the
  // same. Its bins, and whether values are missing, are those of all rows.
  BinnedColumns slice(std::int64_t first_row, std::int64_t n_rows) const {
    if (first_row < 0 || n_rows < 0 || first_row > n_rows_ - n_rows)
      throw std::invalid_argument("the slice reaches beyond the columns");
    if (first_row % block_rows != 0) throw std::invalid_argument("a slice begins at a multiple of 128 rows");
    BinnedColumns part(n_rows, n_columns_, codes_ + first_row);
    part.stride_ = stride_;
    part.n_bins_ = n_bins_;
    for (std::int64_t j = 0; j < n_columns_; ++j) part.set_has_missing(j, has_missing(j));
    return part;
  }

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return n_columns_; }
  std::int64_t stride() const { return stride_; }

  const std::uint8_t* column(std::int64_t j) const { return codes_ + j * stride_; }
  std::uint8_t* writable_column(std::int64_t j) {
    if (!own_codes_) throw std::invalid_argument("columns that are a view cannot be written to");
    return own_codes_ + j * stride_;
  }

  // Codes of values in column j are below n_bins(j).
  int n_bins(std::int64_t j) const { return n_bins_[static_cast<std::size_t>(j)]; }
  void set_n_bins(std::int64_t j, int n) { n_bins_[static_cast<std::size_t>(j)] = n; }

  // If false, missing_code does not occur in column j. Several threads may set it at a time.
  bool has_missing(std::int64_t j) const {
    return has_missing_[static_cast<std::size_t>(j)].load(std::memory_order_relaxed);
  }
  void set_has_missing(std::int64_t j, bool has) {
    has_missing_[static_cast<std::size_t>(j)].store(has, std::memory_order_relaxed);
  }

  // Store codes in column j from first_row on. Those beyond the bins, but for missing_code, go to the last bin.
  void put(std::int64_t j, std::int64_t first_row, std::span<const std::uint8_t> codes, int n_bins) {
    const auto n = static_cast<std::int64_t>(codes.size());
    if (j < 0 || j >= n_columns_ || first_row < 0 || first_row > n_rows_ - n)
      throw std::invalid_argument("the codes reach beyond the columns");
    if (n_bins < 1 || n_bins > max_value_bins) throw std::invalid_argument("numbers of bins must be in [1, 255]");
    std::uint8_t* out = writable_column(j) + first_row;
    const auto last = static_cast<std::uint8_t>(n_bins - 1);
    std::uint8_t most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint8_t code = codes[static_cast<std::size_t>(i)];
      most = std::max(most, code);
      out[i] = code == missing_code ? code : std::min(code, last);
    }
    set_n_bins(j, n_bins);
    set_has_missing(j, most == missing_code || (has_missing(j) && n < n_rows_));
  }

  // Whether the codes of column j are as n_bins and has_missing say.
  bool keeps_promises(std::int64_t j) const {
    const std::uint8_t* codes = column(j);
    const bool may_miss = has_missing(j);
    const auto n = static_cast<std::uint8_t>(n_bins(j));
    bool is_right = true;
    for (std::int64_t i = 0; i < n_rows_; ++i) is_right &= codes[i] < n || (may_miss && codes[i] == missing_code);
    return is_right;
  }

 private:
  static constexpr std::size_t alignment = 64;

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  static std::int64_t compute_stride(std::int64_t n_rows, std::int64_t n_columns) {
    if (n_rows < 0 || n_columns < 0) throw std::invalid_argument("numbers of rows and columns must not be negative");
    constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() - block_rows;  // room to align, too
    const std::int64_t stride = n_rows <= limit ? (n_rows + block_rows - 1) / block_rows * block_rows : n_rows;
    if (n_columns > limit / std::max<std::int64_t>(stride, sizeof(int)))
      throw std::invalid_argument("so many rows and columns cannot be held");
    return stride;
  }

  std::int64_t n_rows_, n_columns_, stride_;
  std::vector<int> n_bins_;
  std::unique_ptr<std::atomic<bool>[]> has_missing_;
  std::unique_ptr<void, Free> memory_;  // zeroed by the system, page by page as it is first touched
  std::uint8_t* own_codes_ = nullptr;   // in there; null: a view
  const std::uint8_t* codes_;
};

}  // namespace mpboost
