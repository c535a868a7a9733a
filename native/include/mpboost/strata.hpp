// A draw from each of several strata of the rows, such as classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/random.hpp"

namespace mpboost {

// Draw counts[k] rows of each stratum k, or all that it has. Every row draws a random number, and those with the lowest
// ones win: the winners of parts of the rows can be found apart, and the lowest of them are the winners of all. Return
// the rows of the first stratum by ascending random numbers, then those of the next. `strata` may be null: all rows are
// in stratum 0.
std::vector<std::int64_t> draw_strata(const std::uint16_t* strata, std::int64_t n_rows,
                                      std::span<const std::int64_t> counts, const Stream& stream);

}  // namespace mpboost
