// Reads the votes of a learner in batches of rows, in ascending order.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "leaf_finder.hpp"
#include "mpboost/votes.hpp"
#include "vote_bits.hpp"

namespace mpboost {

template <class Vote>
class VoteReader {
 public:
  static constexpr std::int64_t batch_rows = 1024;
  static constexpr std::size_t max_bit_leaves = 700;

  explicit VoteReader(const LearnerVotes<Vote>& votes) : array_(votes.array), length_(count_rows(votes)) {
    if (array_) return;
    n_rows_ = votes.columns->n_rows();
    if (!votes.bits) own_bits_ = prepare(votes);
    bits_ = votes.bits ? votes.bits : own_bits_.get();
    if (bits_) {
      lines_.emplace(*bits_);
      votes_.resize(static_cast<std::size_t>(length_));
      return;
    }
    for (const double value : votes.tree.leaf_values) of_leaves_.push_back(to_vote(value));
    votes_.resize(static_cast<std::size_t>(length_));
    if (SelectedTree::can_bind(votes.tree) && std::ranges::all_of(of_leaves_, is_byte)) {
      const std::vector<std::uint8_t> bytes(of_leaves_.begin(), of_leaves_.end());
      selected_.emplace().bind(votes.tree, *votes.columns, bytes);
    } else {
      finder_.bind(votes.tree, *votes.columns, n_rows_);
      leaves_.resize(votes_.size());
    }
  }

  // The bits that votes are found by; null if they are found in another way.
  static std::shared_ptr<const VoteBits> prepare(const LearnerVotes<Vote>& votes) {
    if (!are_bits(votes)) return nullptr;
    const auto bits = std::make_shared<VoteBits>(*votes.columns, true);
    bits->take(votes.tree);
    bits->sort_tests();
    return bits;
  }

  // Rows that are found at a time: large trees want many. Threads should begin at multiples of it.
  static std::int64_t count_rows(const LearnerVotes<Vote>& votes) {
    const bool is_in_parts = !votes.array && !votes.bits && !are_bits(votes) && !SelectedTree::can_bind(votes.tree);
    return is_in_parts ? 16 * batch_rows : 4 * batch_rows;
  }

  // The votes of a batch of rows from `first` on, until the next call.
  const Vote* read(std::int64_t first) {
    if (array_) return array_ + first;
    if (first < begin_ || first >= begin_ + length_) {
      begin_ = first;
      find(first, std::min(length_, n_rows_ - first));
    }
    return votes_.data() + (first - begin_);
  }

 private:
  using Byte = std::conditional_t<std::is_signed_v<Vote>, std::int8_t, std::uint8_t>;

  // Whether the votes of a tree, one of two, are found as bits. Measured with AVX-512: 0.8 to 0.55 of the time for 30
  // to 490 leaves, 1.1 for 870; with AVX2 it is no faster.
  static bool are_bits(const LearnerVotes<Vote>& votes) {
    if constexpr (!std::is_same_v<Vote, std::int8_t>) return false;
    return kernels().marks_fast && votes.tree.n_leaves() <= max_bit_leaves &&
           VoteBits::is_best(votes.tree, votes.columns->n_rows());
  }

  static Vote to_vote(double value) {
    if constexpr (std::is_same_v<Vote, std::int8_t>) return mpboost::to_vote(value);
    return static_cast<Vote>(value);
  }
  static bool is_byte(Vote vote) { return vote == static_cast<Byte>(vote); }

  void find(std::int64_t first, std::int64_t n) {
    if constexpr (std::is_same_v<Vote, std::int8_t>)
      if (bits_) return bits_->write_votes(first, first + n, votes_.data(), *lines_);
    if (selected_) {
      for (std::int64_t i = 0; i < n; i += block_rows) {
        const std::uint8_t* found = selected_->find(first + i);
        std::transform(found, found + std::min(block_rows, n - i), votes_.data() + i,
                       [](std::uint8_t byte) { return static_cast<Vote>(static_cast<Byte>(byte)); });
      }
      return;
    }
    finder_.find(first, n, leaves_.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      votes_[i] = of_leaves_[static_cast<std::size_t>(leaves_[i])];
  }

  const Vote* array_;
  std::int64_t length_, n_rows_ = 0, begin_ = -length_;
  std::shared_ptr<const VoteBits> own_bits_;
  const VoteBits* bits_ = nullptr;
  std::optional<VoteBits::Lines> lines_;
  std::optional<SelectedTree> selected_;  // small trees find votes themselves in place of leaves
  LeafFinder finder_;
  std::vector<Vote> of_leaves_, votes_;
  std::vector<std::int32_t> leaves_;
};

}  // namespace mpboost
