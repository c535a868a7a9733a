// Part of kernels_isa.inl: which items of a race may be in time.

// A table entry for each weight by its level (see Screen).
void find_limits(const double* log_weights, std::int64_t n, const LevelLimits& levels, std::uint32_t* limits) {
  constexpr std::int64_t batch = 64;
  for (std::int64_t first = 0; first < n; first += batch) {
    const std::int64_t length = n - first < batch ? n - first : batch;
    std::int32_t level[batch];
    for (std::int64_t i = 0; i < length; ++i) {
      double x = (levels.origin - log_weights[first + i]) * levels.per_width + 1.0;
      x = x < levels.last_level ? x : levels.last_level;  // also if it is NaN
      x = x > 0.0 ? x : 0.0;
      level[i] = static_cast<std::int32_t>(x);
    }
    for (std::int64_t i = 0; i < length; ++i) limits[first + i] = levels.limits[level[i]];
  }
}

using Lanes32 [[gnu::vector_size(long_bytes)]] = std::uint32_t;

inline std::uint64_t reach(Lanes32 bits, Lanes32 limits) {  // a bit for each lane
#if defined(__AVX512F__)
  return _mm512_cmpge_epu32_mask(reinterpret_cast<__m512i>(bits), reinterpret_cast<__m512i>(limits));
#elif defined(__AVX2__)
  const auto x = reinterpret_cast<__m256i>(bits);
  const __m256i is_in = _mm256_cmpeq_epi32(_mm256_max_epu32(x, reinterpret_cast<__m256i>(limits)), x);
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(is_in)));
#else
  const auto is_in = bits >= limits;
  return static_cast<std::uint64_t>((is_in[0] & 1) | (is_in[1] & 2) | (is_in[2] & 4) | (is_in[3] & 8));
#endif
}

std::uint64_t screen_items(Lots::Keys keys, std::uint32_t first, const std::uint32_t* limits) {
  constexpr int n_lanes = long_bytes / 4;
  Lanes32 items;
  for (int i = 0; i < n_lanes; ++i) items[i] = first + static_cast<std::uint32_t>(i);
  std::uint64_t passed = 0;
#pragma GCC unroll 16
  for (int i = 0; i < 64; i += n_lanes) {
    passed |= reach(Lots::hash(items, keys), load<Lanes32>(limits + i)) << i;
    items += static_cast<std::uint32_t>(n_lanes);
  }
  return passed;
}
