#include "vote_bits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "selected_tree.hpp"

namespace mpboost {
namespace {

// Places: bits of a leaf that votes no, of one that votes yes, then those of splits.
constexpr std::int16_t negative = 0, positive = 1, first_place = 2;

std::uint64_t hash(const SelectSplit& test) {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;
  auto hash = reinterpret_cast<std::uintptr_t>(test.column) * factor;
  if (!test.set) return (hash + test.shift * std::uint64_t{256} + test.last_left) * factor;
  std::array<std::uint64_t, 4> words;
  std::memcpy(words.data(), test.set, sizeof(words));
  for (const std::uint64_t word : words) hash = (hash ^ hash >> 32 ^ word) * factor;
  return hash;
}

bool is_same(const SelectSplit& one, const SelectSplit& other) {
  if (one.column != other.column || !one.set != !other.set) return false;
  if (one.set) return std::memcmp(one.set, other.set, sizeof(CategorySet)) == 0;
  return one.shift == other.shift && one.last_left == other.last_left;
}

}  // namespace

// That of an equal test, if there is one.
std::int16_t VoteBits::place_test(const SelectSplit& test) {
  if (table_.empty()) {
    tests_.push_back(test);
    return static_cast<std::int16_t>(-std::ssize(tests_));
  }
  std::size_t at = hash(test) >> 50;
  static_assert(table_size == std::size_t{1} << (64 - 50));
  while (table_[at] >= 0 && !is_same(tests_[static_cast<std::size_t>(table_[at])], test)) at = (at + 1) % table_size;
  if (table_[at] < 0) {
    table_[at] = static_cast<std::int16_t>(tests_.size());
    tests_.push_back(test);
  }
  return static_cast<std::int16_t>(~table_[at]);
}

void VoteBits::take(TreeView tree) {
  const std::size_t first_choice = choices_.size();
  place_of_split_.resize(tree.splits.size());
  const auto place_of = [&](std::int32_t child) {
    if (child >= 0) return place_of_split_[static_cast<std::size_t>(child)];
    return to_vote(tree.leaf_values[static_cast<std::size_t>(~child)]) > 0 ? positive : negative;
  };
  // From the last split to the first, children before parents. What is chosen and not yet used is a stack, from
  // first_place on, with the left child above the right one.
  std::int16_t end = first_place;
  for (std::size_t k = tree.splits.size(); k-- > 0;) {
    const Split& split = tree.splits[k];
    const std::int16_t left = place_of(split.left), right = place_of(split.right);
    std::int16_t& place = place_of_split_[k] = left;
    if (left == right) continue;  // the split changes no vote
    const std::int16_t test = place_test(bind_split(tree, split, *columns_, columns_->column(split.feature)));
    place = test;
    if (left == positive && right == negative) continue;  // the test is the vote
    end = static_cast<std::int16_t>(end - (left >= first_place) - (right >= first_place));
    choices_.push_back({test, left, right, place = end++});
    end_place_ = std::max(end_place_, end);
  }
  trees_.push_back({static_cast<std::int32_t>(choices_.size() - first_choice), place_of(tree.splits.empty() ? ~0 : 0)});
}

void VoteBits::sort_tests() {
  // Where the column of a test is, and which test it is, in one number: numbers are sorted sooner than pairs.
  static_assert(max_tests + max_splits <= std::size_t{1} << 16);
  test_order_.clear();
  for (std::size_t k = 0; k < tests_.size(); ++k)
    test_order_.push_back(static_cast<std::uint64_t>(tests_[k].column - columns_->column(0)) << 16 | k);
  std::ranges::sort(test_order_);
  unsorted_.resize(tests_.size());
  unsorted_.swap(tests_);
  place_of_test_.resize(tests_.size());
  for (std::size_t k = 0; k < tests_.size(); ++k) {
    const std::size_t from = test_order_[k] & 0xFFFF;
    tests_[k] = unsorted_[from];
    place_of_test_[from] = static_cast<std::int16_t>(~k);
  }
  const auto move = [&](std::int16_t& place) {
    if (place < 0) place = place_of_test_[static_cast<std::size_t>(~place)];
  };
  for (BitChoice& choice : choices_) move(choice.test), move(choice.left), move(choice.right);
  for (BitTree& tree : trees_) move(tree.votes);
}

void VoteBits::clear() {
  tests_.clear();
  choices_.clear();
  trees_.clear();
  std::ranges::fill(table_, std::int16_t{-1});
}

BitForest VoteBits::view() const {
  return {tests_.data(), static_cast<std::int32_t>(tests_.size()), choices_.data(), trees_.data(),
          static_cast<std::int64_t>(trees_.size())};
}

VoteBits::Lines::Lines(const VoteBits& bits)
    : n_tests_(bits.tests_.size()),
      lines_(std::make_unique_for_overwrite<Line[]>(n_tests_ + static_cast<std::size_t>(bits.end_place_))) {
  std::ranges::fill(lines_[n_tests_ + negative].bits, std::uint8_t{0});
  std::ranges::fill(lines_[n_tests_ + positive].bits, std::uint8_t{255});
}

void VoteBits::add_votes(std::int64_t begin, std::int64_t end, std::int32_t* totals) const {
  if (trees_.empty()) return;
  Lines lines(*this);
  for (std::int64_t row = begin; row < end; row += line_rows)
    kernels().count_votes(view(), row, static_cast<int>(std::min<std::int64_t>(line_rows, end - row)), lines.first(),
                          totals + row);
}

void VoteBits::write_votes(std::int64_t begin, std::int64_t end, std::int8_t* votes, Lines& lines) const {
  for (std::int64_t row = begin; row < end; row += line_rows)
    kernels().write_votes(view(), row, static_cast<int>(std::min<std::int64_t>(line_rows, end - row)), lines.first(),
                          votes + (row - begin));
}

}  // namespace mpboost
