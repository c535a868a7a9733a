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

// Write those of up to 64 items whose bits are set; return how many they are.
inline std::int64_t list_items(std::uint64_t bits, std::int64_t first, std::int64_t* items) {
  const std::int64_t n = __builtin_popcountll(bits);
#if defined(__AVX512F__)
  const __m512i eight = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  for (; bits; bits >>= 8, first += 8) {
    const auto some = static_cast<__mmask8>(bits);
    _mm512_storeu_si512(items, _mm512_maskz_compress_epi64(some, eight + first));
    items += __builtin_popcount(some);
  }
#else
  for (; bits; bits &= bits - 1) *items++ = first + __builtin_ctzll(bits);
#endif
  return n;
}

std::int64_t screen_items(Lots::Keys keys, std::uint32_t number, const std::uint32_t* limits, std::int64_t first,
                          std::int64_t n, std::int64_t* passed) {
  constexpr int n_lanes = long_bytes / 4;
  Lanes32 numbers;
  for (int i = 0; i < n_lanes; ++i) numbers[i] = number + static_cast<std::uint32_t>(i);
  std::int64_t n_passed = 0;
  for (; n > 0; n -= 64, first += 64, limits += 64) {
    std::uint64_t bits = 0;
#pragma GCC unroll 16
    for (int i = 0; i < 64; i += n_lanes) {
      bits |= reach(Lots::hash(numbers, keys), load<Lanes32>(limits + i)) << i;
      numbers += static_cast<std::uint32_t>(n_lanes);
    }
    if (n < 64) bits &= (std::uint64_t{1} << n) - 1;
    n_passed += list_items(bits, first, passed + n_passed);
  }
  return n_passed;
}

void draw_log_exponentials(const Lots& lots, Lots::Keys keys, const std::int64_t* items, std::int64_t first_item,
                           std::int64_t n, double* draws) {
  const Lots of_race = lots;  // which writing cannot change
  for (std::int64_t i = 0; i < n; ++i)
    draws[i] = uniform(of_race.bits(static_cast<std::uint64_t>(first_item + items[i]), keys));
  for (std::int64_t i = 0; i < n; ++i) draws[i] = log_positive(-log_positive(draws[i]));
}

std::int64_t find_times(double deadline, std::int64_t n, double* __restrict log_times, double* __restrict rests) {
  constexpr double infinity = __builtin_inf();
  std::int64_t n_arrived = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double log_exponential = log_times[i], log_weight = rests[i];
    const double time = log_exponential - log_weight, back = log_exponential - time;
    const double rest = (log_exponential - (time + back)) + (back - log_weight);
    const bool is_in_time = (time <= deadline) & (time < infinity);  // not if it is NaN
    log_times[i] = is_in_time ? time : infinity;
    rests[i] = __builtin_fabs(time) < infinity ? rest : 0.0;
    n_arrived += is_in_time;
  }
  return n_arrived;
}

std::int64_t count_before(const double* log_times, std::int64_t n, double log_time) {
  std::int64_t n_before = 0;
  for (std::int64_t i = 0; i < n; ++i) n_before += log_times[i] < log_time;
  return n_before;
}

std::int64_t take_items(const ArrivalColumns& arrivals, const Arrival& from, const Arrival& to, std::int64_t* items) {
  const auto [log_times, rests, its_items, size] = arrivals;
  std::int64_t n = 0, i = 0;
#if defined(__AVX512F__)
  const auto find_before = [&](const Arrival& limit) {
    const __m512d times = _mm512_loadu_pd(log_times + i), time = _mm512_set1_pd(limit.log_time);
    __mmask8 is_before = _mm512_cmp_pd_mask(times, time, _CMP_LT_OQ);
    if (_mm512_cmp_pd_mask(times, time, _CMP_EQ_OQ)) [[unlikely]]
      for (int k = 0; k < 8; ++k)
        if (Arrival{log_times[i + k], rests[i + k], its_items[i + k]} < limit)
          is_before = static_cast<__mmask8>(is_before | 1 << k);
    return is_before;
  };
  for (; i + 8 <= size; i += 8) {
    const auto is_taken = static_cast<__mmask8>(find_before(to) & ~find_before(from));
    _mm512_storeu_si512(items + n, _mm512_maskz_compress_epi64(is_taken, _mm512_loadu_si512(its_items + i)));
    n += __builtin_popcount(is_taken);
  }
#endif
  for (; i < size; ++i) {
    const Arrival arrival{log_times[i], rests[i], its_items[i]};
    items[n] = arrival.item;  // kept only if the next line counts it: no branch, which could not be predicted
    n += !(arrival < from) & (arrival < to);
  }
  return n;
}
