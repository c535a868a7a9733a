// A counter-based generator: every draw is a function of (seed, iteration, purpose, index), so it does not matter which
// thread makes it, in which order or on which machine. Header-only.
#pragma once

#include <cstdint>

namespace mpboost {

// What a draw is for; distinct purposes give independent streams.
enum class Purpose : std::uint64_t {
  observations = 1,
  features = 2,
  bin_sample = 3,
  permutation = 4,
  completion = 5,
  colours = 6,
  thresholds = 7,
  residuals = 8
};

// The finalizer of splitmix64.
inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t iteration, Purpose purpose)
      : state_(mix(mix(mix(seed + step) + iteration + step) + static_cast<std::uint64_t>(purpose))) {}

  std::uint64_t bits(std::uint64_t index) const { return mix(state_ + (index + 1) * step); }

 private:
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state_;
};

// A uniform number in (0, 1) such that it and its complement are exact doubles.
inline double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

}  // namespace mpboost
