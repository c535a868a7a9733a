// A counter-based generator: every draw is a function of (seed, iteration, purpose, index), so it does not matter which
// thread makes it, in which order or on which machine. Header-only; what kernels call is always inlined, since a copy
// that was compiled for one instruction set must not be called by other code.
#pragma once

#include <cstdint>

namespace mpboost {

// What a draw is for; distinct purposes give independent streams.
enum class Purpose : std::uint64_t {
  observations = 1,
  features = 2,
  row_sample = 3,
  permutation = 4,
  completion = 5,
  colours = 6,
  thresholds = 7,
  reserved = 9
};

// The finalizer of splitmix64.
[[gnu::always_inline]] inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t iteration, Purpose purpose)
      : state_(mix(mix(mix(seed + step) + iteration + step) + static_cast<std::uint64_t>(purpose))) {}

  [[gnu::always_inline]] std::uint64_t bits(std::uint64_t index) const { return mix(state_ + (index + 1) * step); }

 private:
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state_;
};

// What items draw in a race. The leading 32 bits are a hash of 32-bit numbers, which is quick for eight items side by
// side: they suffice to tell that almost all items are late.
class Lots {
 public:
  struct Keys {
    std::uint32_t first, second;
  };

  explicit Lots(const Stream& stream) : stream_(stream) {}

  // The keys of the items whose numbers are the same without their lower 32 bits.
  Keys keys(std::uint64_t index) const {
    const std::uint64_t bits = stream_.bits(~(index >> 32));
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }

  // What an item draws, given its keys.
  [[gnu::always_inline]] std::uint64_t bits(std::uint64_t index, Keys keys) const {
    const auto leading = std::uint64_t{hash(static_cast<std::uint32_t>(index), keys)};
    return leading << 32 | stream_.bits(index) >> 32;
  }

  // "triple32" of Wellons' hash prospector, with two keys. Numbers, or vectors of them.
  template <class Number>
  [[gnu::always_inline]] static Number hash(Number x, Keys keys) {
    x += keys.first;
    x = (x ^ (x >> 17)) * 0xED5AD4BBU + keys.second;
    x = (x ^ (x >> 11)) * 0xAC4C1B51U;
    x = (x ^ (x >> 15)) * 0x31848BABU;
    return x ^ (x >> 14);
  }

 private:
  Stream stream_;
};

// A uniform number in (0, 1) such that it and its complement are exact doubles. Bits become a number as the low ones of
// 2^52, which is then taken off: not all vectors can convert them.
[[gnu::always_inline]] inline double uniform(std::uint64_t bits) {
  return (__builtin_bit_cast(double, bits >> 12 | 0x4330000000000000ULL) - 0x1p52 + 0.5) * 0x1p-52;
}

}  // namespace mpboost
