// A counter-based generator: every draw is a function of (seed, iteration, purpose, index), so it does not matter which
// thread makes it, in which order or on which machine. Header-only.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

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
  reserved = 8
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

// Natural logarithm of a positive normal number in plain arithmetic: unlike the C library's, it has the same bits
// everywhere, and loops over it can be vectorised.
[[gnu::always_inline]] inline double log_positive(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  // The exponent as a double: put into the low bits of 2^52, which is then taken off.
  const double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
  const bool is_upper = mantissa > 1.4142135623730951;
  const double m = mantissa * (is_upper ? 0.5 : 1.0);
  const double e = exponent + (is_upper ? 1.0 : 0.0);
  // log(m) = 2 artanh((m - 1) / (m + 1)), a series whose 11th term is below 1e-17 here.
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 1.0 / 21.0;
  series = series * s2 + 1.0 / 19.0;
  series = series * s2 + 1.0 / 17.0;
  series = series * s2 + 1.0 / 15.0;
  series = series * s2 + 1.0 / 13.0;
  series = series * s2 + 1.0 / 11.0;
  series = series * s2 + 1.0 / 9.0;
  series = series * s2 + 1.0 / 7.0;
  series = series * s2 + 1.0 / 5.0;
  series = series * s2 + 1.0 / 3.0;
  series = series * s2 + 1.0;
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  return e * ln2_high + (2.0 * s * series + e * ln2_low);
}

// Logarithm of any weight: -inf at zero (and below the smallest normal number).
inline double log_of(double weight) {
  return weight >= std::numeric_limits<double>::min() ? log_positive(weight) : -std::numeric_limits<double>::infinity();
}

}  // namespace mpboost
