// Part of kernels_isa.inl: the rows that the points of a draw fall on.

// How many of eight numbers, which ascend, are up to a limit.
inline int count_up_to(const std::int64_t* numbers, std::int64_t limit) {
#if defined(__AVX512F__)
  const __mmask8 is_above = _mm512_cmpgt_epi64_mask(_mm512_loadu_si512(numbers), _mm512_set1_epi64(limit));
  return static_cast<int>(_tzcnt_u32(is_above | 1U << 8));
#elif defined(__AVX2__)
  const auto above = [&](int first) {
    const auto is_above = load<Double::Int>(numbers + first) > limit;
    return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(is_above)));
  };
  return static_cast<int>(_tzcnt_u32(above(0) | above(4) << 4 | 1U << 8));
#else
  int n = 0;
  for (int i = 0; i < 8; ++i) n += numbers[i] <= limit;
  return n;
#endif
}

void find_rows(const std::int64_t* ends, const std::int32_t* starts, const std::int64_t* places, std::int64_t n,
               std::int32_t* rows) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::int32_t row = starts[i];
    int n_before;
    do {
      n_before = count_up_to(ends + row, places[i]);
      row += n_before;
    } while (n_before == 8);
    rows[i] = row;
  }
}
