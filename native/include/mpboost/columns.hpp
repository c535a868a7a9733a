// The data as the engine sees it: one column of 8-bit codes per feature.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace mpboost {

inline constexpr int mask_words = 2;                         // 64-bit words that tell about a block of rows
inline constexpr std::int64_t block_rows = 64 * mask_words;  // rows that a tree is applied to at a time
inline constexpr std::uint8_t missing_code = 255;            // the code of a missing value
inline constexpr int max_value_bins = 255;                   // codes 0..254 are values

//            block 0         block 1         last block
//  column 0  128 codes       128 codes  ...  codes, then zeros up to 128
//  column 1  128 codes       128 codes  ...
class BinnedColumns {
 public:
  BinnedColumns(std::int64_t n_rows, std::int64_t n_columns)
      : n_rows_(n_rows),
        n_columns_(n_columns),
        stride_((n_rows + block_rows - 1) / block_rows * block_rows),
        n_bins_(new int[static_cast<std::size_t>(n_columns)]()),
        has_missing_(new std::atomic<bool>[static_cast<std::size_t>(n_columns)]()),
        codes_(static_cast<std::uint8_t*>(
            ::operator new(static_cast<std::size_t>(stride_ * n_columns), std::align_val_t{64}))) {}

  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_columns() const { return n_columns_; }
  std::int64_t n_blocks() const { return stride_ / block_rows; }
  std::int64_t stride() const { return stride_; }

  const std::uint8_t* column(std::int64_t j) const { return codes_.get() + j * stride_; }
  std::uint8_t* column(std::int64_t j) { return codes_.get() + j * stride_; }

  // Codes of values in column j are below n_bins(j).
  int n_bins(std::int64_t j) const { return n_bins_[static_cast<std::size_t>(j)]; }
  void set_n_bins(std::int64_t j, int n) { n_bins_[static_cast<std::size_t>(j)] = n; }

  // Whether missing_code occurs in column j; several threads may find one at a time.
  bool has_missing(std::int64_t j) const { return has_missing_[static_cast<std::size_t>(j)].load(std::memory_order_relaxed); }
  void set_has_missing(std::int64_t j) { has_missing_[static_cast<std::size_t>(j)].store(true, std::memory_order_relaxed); }

 private:
  struct Free {
    void operator()(std::uint8_t* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::int64_t n_rows_, n_columns_, stride_;
  std::unique_ptr<int[]> n_bins_;
  std::unique_ptr<std::atomic<bool>[]> has_missing_;
  std::unique_ptr<std::uint8_t, Free> codes_;
};

}  // namespace mpboost
