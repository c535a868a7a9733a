// Part of kernels_isa.inl: vectors as long as the instruction set has them, and loads from memory.

#ifdef __AVX2__
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;  // which every x86-64 and ARM64 processor has
#endif

template <class V>
inline V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}

// For loops over many bytes: the longest vectors there are.
#ifdef __AVX512BW__
inline constexpr int long_bytes = 64;
#else
inline constexpr int long_bytes = vector_bytes;
#endif
using LongVector [[gnu::vector_size(long_bytes)]] = std::uint8_t;

// 32 codes, in as many vectors as they take.
using ByteVector [[gnu::vector_size(vector_bytes)]] = std::uint8_t;
inline constexpr int byte_vectors = group_lanes / vector_bytes;

// Floating-point lanes in which the scores of a node are computed. Counts are exact in both; single precision serves
// nodes of up to 4096 rows, where the products in D are at most 2^24.
struct Single {
  using Scalar = float;
  using Real [[gnu::vector_size(vector_bytes)]] = float;
  using Int [[gnu::vector_size(vector_bytes)]] = std::int32_t;
  using Count = std::uint16_t;
  static constexpr int lanes = vector_bytes / 4;
  static constexpr int n_vectors = group_lanes / lanes;
};
struct Double {
  using Scalar = double;
  using Real [[gnu::vector_size(vector_bytes)]] = double;
  using Int [[gnu::vector_size(vector_bytes)]] = std::int64_t;
  using Count = std::int32_t;
  static constexpr int lanes = vector_bytes / 8;
  static constexpr int n_vectors = group_lanes / lanes;
};

// Join all numbers of a vector, by halves, with a function that takes vectors or numbers.
template <class V, class Join>
inline auto fold(V numbers, Join join) {
  using Number = std::remove_cvref_t<decltype(numbers[0])>;
  constexpr int n = sizeof(V) / sizeof(Number);
  if constexpr (n == 2) {
    return static_cast<Number>(join(Number{numbers[0]}, Number{numbers[1]}));
  } else {
    using Half [[gnu::vector_size(sizeof(V) / 2)]] = Number;
    Half halves[2];
    std::memcpy(halves, &numbers, sizeof numbers);
    return fold(static_cast<Half>(join(halves[0], halves[1])), join);
  }
}

// Of two numbers, or of two vectors number by number: what fold takes.
inline constexpr auto greater_of = [](auto a, auto b) { return a > b ? a : b; };
inline constexpr auto lesser_of = [](auto a, auto b) { return a < b ? a : b; };

template <class V>
inline bool is_any_set(const V& lanes) {
#ifdef __AVX2__
  if constexpr (sizeof lanes == 32) {
    const auto bits = reinterpret_cast<__m256i>(lanes);
    return !_mm256_testz_si256(bits, bits);
  }
#endif
  bool any = false;
  for (std::size_t i = 0; i < sizeof lanes / sizeof lanes[0]; ++i) any |= lanes[i] != 0;
  return any;
}

// A bit for each lane of single precision that is set.
inline std::uint32_t bits_of(const Single::Int& lanes) {
#ifdef __AVX2__
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(lanes)));
#else
  std::uint32_t bits = 0;
  for (int i = 0; i < Single::lanes; ++i) bits |= static_cast<std::uint32_t>(lanes[i] & 1) << i;
  return bits;
#endif
}

// A vector of small numbers from memory.
#ifdef __AVX2__
inline Single::Int widen(const std::uint8_t* from) {
  return reinterpret_cast<Single::Int>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
inline Single::Real read_counts(const std::uint16_t* from) {
  const __m256i counts = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return __builtin_convertvector(reinterpret_cast<Single::Int>(counts), Single::Real);
}
#else
using u8x16 [[gnu::vector_size(16)]] = std::uint8_t;
using u16x8 [[gnu::vector_size(16)]] = std::uint16_t;
inline Single::Int widen_low(u16x8 v) {  // interleaving with zeros doubles the width
  return reinterpret_cast<Single::Int>(__builtin_shufflevector(v, u16x8{}, 0, 8, 1, 9, 2, 10, 3, 11));
}
inline Single::Int widen(const std::uint8_t* from) {
  const auto v = reinterpret_cast<u8x16>(Single::Int{load<std::int32_t>(from), 0, 0, 0});
  return widen_low(reinterpret_cast<u16x8>(
      __builtin_shufflevector(v, u8x16{}, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)));
}
inline Single::Real read_counts(const std::uint16_t* from) {
  const auto v = reinterpret_cast<u16x8>(Double::Int{load<std::int64_t>(from), 0});
  return __builtin_convertvector(widen_low(v), Single::Real);
}
#endif
inline Single::Real read_counts(const std::uint8_t* from) { return __builtin_convertvector(widen(from), Single::Real); }
inline Double::Real read_counts(const std::int32_t* from) {
  using Counts [[gnu::vector_size(vector_bytes / 2)]] = std::int32_t;
  return __builtin_convertvector(load<Counts>(from), Double::Real);
}
