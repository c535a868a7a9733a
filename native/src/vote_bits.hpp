// Votes of many trees, a bit for each row. Trees of a forest ask the same tests of a row again and again, so each test
// is asked once; a split of a tree then takes a few instructions for hundreds of rows.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

class VoteBits {
 public:
  // The columns, and the category sets of trees, must stay as long as this object. Equal tests of its trees are asked
  // once, unless there is just one tree, which hardly has any.
  explicit VoteBits(const BinnedColumns& columns, bool is_for_one = false)
      : columns_(&columns), table_(is_for_one ? 0 : table_size, -1) {}

  // Whether a tree should be taken: larger ones are faster in pieces, and to take one is as slow as to walk some rows
  // down. Measured with trees of 50 to 600 leaves: 20 ns for a split, 30 to 50 ns for a row. Fewer rows than half
  // a line has are walked faster.
  static bool is_best(TreeView tree, std::int64_t n_rows) {
    const auto n_splits = static_cast<std::int64_t>(tree.splits.size());
    return n_rows >= line_rows / 2 && n_splits <= std::min<std::int64_t>(max_splits, 2 * n_rows);
  }

  void take(TreeView tree);

  // To be called when all trees are taken: tests of a column then follow each other, so that its codes are read once.
  void sort_tests();

  // Whether no more trees should be taken: what they need would not stay in the cache.
  bool is_full() const { return tests_.size() >= max_tests || choices_.size() >= max_choices; }
  void clear();

  // Memory for the bits of some rows. A thread needs its own.
  class Lines;

  // Add the votes of all trees to the totals of rows [begin, end); threads may share this.
  void add_votes(std::int64_t begin, std::int64_t end, std::int32_t* totals) const;

  // Write the votes of the only tree for rows [begin, end); the array has room up to the next multiple of 64 rows.
  void write_votes(std::int64_t begin, std::int64_t end, std::int8_t* votes, Lines& lines) const;

 private:
  struct alignas(64) Line {
    std::uint8_t bits[line_bytes];
  };
  static constexpr std::size_t max_splits = 4096, max_tests = 8192, max_choices = 1 << 16, table_size = 1 << 14;
  static_assert(max_tests + max_splits < table_size && table_size <= 1 << 15, "places are numbered in 16 bits");

  std::int16_t place_test(const SelectSplit& test);
  BitForest view() const;

  const BinnedColumns* columns_;
  std::vector<SelectSplit> tests_;  // all different
  std::vector<BitChoice> choices_;  // of one tree after the other
  std::vector<BitTree> trees_;
  std::vector<std::int16_t> table_;  // of hashes: numbers of tests, or -1
  std::vector<std::int16_t> place_of_split_;
  // To sort tests: their columns and numbers, where they were, and the places that they get.
  std::vector<std::uint64_t> test_order_;
  std::vector<SelectSplit> unsorted_;
  std::vector<std::int16_t> place_of_test_;
  std::int16_t end_place_ = 2;
};

class VoteBits::Lines {
 public:
  explicit Lines(const VoteBits& bits);

  std::uint8_t* first() { return lines_[n_tests_].bits; }

 private:
  std::size_t n_tests_;
  std::unique_ptr<Line[]> lines_;
};

}  // namespace mpboost
