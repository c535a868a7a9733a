// Weighted draws without replacement by exponential race.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// Where a race gets its weights from: the logarithms of weights, of any size.
struct LogWeights {
  std::int64_t n_items;
  const double* logs;
};

// Or votes: the weight of a row is entry label * votes of a table of logarithms, counted from its middle, plus the
// logarithm of the row's own weight, if rows have any.
template <class Count>
struct VoteWeights {
  std::int64_t n_items;
  const std::int8_t* labels;  // +1 or -1
  const Count* votes;
  std::span<const double> table;
  const double* log_sample_weights;
};

// The first items of a race, and the next ones; both in ascending order.
struct Arrivals {
  std::vector<std::int64_t> first, next;
};

// Several races of the same items, one for each stream. Item i arrives after Exp(1) / weight(i): the first n to arrive
// have the law of n successive draws in proportion to the weights of the items that are left. Items of weight zero
// (log -inf or NaN) are drawn, uniformly, only when no other is left. Needs n_first + n_next <= n_items.
template <class Weights>
std::vector<Arrivals> race(const Weights& weights, std::int64_t n_first, std::int64_t n_next,
                           std::span<const Stream> streams, Threads& threads);

// The first items of a part of all items to arrive: in ascending order, those of weight zero after all others. Times
// are [item][3], to be compared by the first number, then by the second and the third: the heat, 1 for items of weight
// zero; the logarithm of the time; and what its last bits could not hold. Of equal times, that of the lower item counts
// as the earlier.
struct Candidates {
  std::vector<std::int64_t> items;
  std::vector<double> times;
};

// The first n items of a part to arrive, for each stream. The part begins with item first_item, a multiple of 512, and
// its items are numbered from 0. The first arrivals of all parts are those of a race of all items.
template <class Weights>
std::vector<Candidates> race_part(const Weights& weights, std::int64_t n, std::int64_t first_item,
                                  std::span<const Stream> streams, Threads& threads);

// The logarithms of the times at which some items arrive, given those of their weights.
std::vector<double> log_arrivals(const double* log_weights, std::span<const std::int64_t> items, const Stream& stream);

}  // namespace mpboost
