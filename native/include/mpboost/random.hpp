// A counter-based generator: every draw is a function of (seed, iteration, purpose, index), so it
// does not matter which thread makes it, in which order or on which machine.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace mpboost {

// What a draw is for; distinct purposes give independent streams.
enum class Purpose : std::uint64_t { observations = 1, features = 2, bin_sample = 3, permutation = 4 };

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
inline double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

// Natural logarithm of a positive normal number in plain arithmetic: unlike the C library's, it has
// the same bits everywhere.
inline double log_positive(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // log(m) = 2 artanh((m - 1) / (m + 1)), a series whose 11th term is below 1e-17 here.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double s2 = s * s;
  double series = 1.0 / 21.0;
  for (int odd = 19; odd >= 1; odd -= 2) series = series * s2 + 1.0 / odd;
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  return exponent * ln2_high + (2.0 * s * series + exponent * ln2_low);
}

// Logarithm of any weight: -inf at zero (and below the smallest normal number).
inline double log_of(double weight) {
  return weight >= std::numeric_limits<double>::min() ? log_positive(weight) : -std::numeric_limits<double>::infinity();
}

// A lower bound of log(x), at most 0.06 below it, for the price of one conversion: the bits of a
// double, read as an integer, are its logarithm with the mantissa's curve made straight.
inline double log_lower_bound(double x) {
  constexpr double ln2 = 0.6931471805599453;
  const auto bits = static_cast<double>(std::bit_cast<std::int64_t>(x));
  return (bits * 0x1p-52 - 1023.0) * ln2 - 1e-9;
}

}  // namespace mpboost
