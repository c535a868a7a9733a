// Sorts numbers by their bytes, in time that is linear in their number. Header-only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace mpboost {

template <int n_bytes>
using UnsignedOf = std::conditional_t<
    n_bytes == 1, std::uint8_t,
    std::conditional_t<n_bytes == 2, std::uint16_t, std::conditional_t<n_bytes == 4, std::uint32_t, std::uint64_t>>>;

// Bits that are in the order of the numbers, as unsigned ones; -0.0 is before 0.0. Not for NaN.
template <class T>
auto to_ordered_bits(T value) {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const auto bits = std::bit_cast<Bits>(value);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
  else
    return static_cast<Bits>(std::is_signed_v<T> ? bits ^ sign : bits);
}

// Sort numbers, none of them NaN. `spare` is memory to work in, which may be given again.
template <class T>
void radix_sort(std::span<T> values, std::vector<T>& spare) {
  constexpr std::size_t few = 256;  // fewer are sorted sooner by comparing them
  if (values.size() < few) return std::sort(values.begin(), values.end());
  const auto byte = [](T value, std::size_t k) { return static_cast<std::uint8_t>(to_ordered_bits(value) >> (8 * k)); };
  std::array<std::array<std::size_t, 256>, sizeof(T)> counts{};
  for (const T value : values)
    for (std::size_t k = 0; k < sizeof(T); ++k) ++counts[k][byte(value, k)];
  spare.resize(std::max(spare.size(), values.size()));
  std::span<T> from = values, to = std::span(spare).first(values.size());
  for (std::size_t k = 0; k < sizeof(T); ++k) {  // from the lowest byte to the highest
    auto& places = counts[k];
    if (places[byte(values[0], k)] == values.size()) continue;  // all have the same
    std::size_t n_before = 0;
    for (std::size_t& place : places) n_before += std::exchange(place, n_before);
    for (const T value : from) to[places[byte(value, k)]++] = value;
    std::swap(from, to);
  }
  if (from.data() != values.data()) std::ranges::copy(from, values.begin());
}

}  // namespace mpboost
