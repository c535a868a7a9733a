// Reads the votes of a learner in batches of rows.
#pragma once

#include <type_traits>

#include "mpboost/votes.hpp"
#include "sweep.hpp"

namespace mpboost {

template <class Vote>
class VoteReader {
 public:
  static constexpr std::int64_t batch_rows = 8 * block_rows;

  explicit VoteReader(const LearnerVotes<Vote>& votes) : array_(votes.array) {
    if (!array_) finder_.bind(votes.tree, *votes.columns);
  }

  // The votes of up to batch_rows rows from `first` on, the first of a block; until the next call.
  const Vote* read(std::int64_t first, std::int64_t n) {
    if (array_) return array_ + first;
    for (std::int64_t i = 0; i < n; i += block_rows) finder_.find((first + i) / block_rows, found_ + i);
    return found_;
  }

 private:
  const Vote* array_;
  std::conditional_t<std::is_same_v<Vote, std::int8_t>, VoteFinder, ClassFinder> finder_;
  Vote found_[batch_rows];
};

}  // namespace mpboost
