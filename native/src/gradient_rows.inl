// Part of kernels_isa.inl: the rows of a minipatch while a gradient tree is grown.

// A bit for each byte of 64, set where it is not 0: bytes are 0 or 255.
inline std::uint64_t pack_bits(const LongVector* bytes) {
#if defined(__AVX512BW__)
  return _mm512_movepi8_mask(reinterpret_cast<__m512i>(*bytes));
#elif defined(__AVX2__)
  std::uint64_t bits = 0;
  for (int i = 0; i < 2; ++i) {
    const auto some = static_cast<std::uint32_t>(_mm256_movemask_epi8(reinterpret_cast<__m256i>(bytes[i])));
    bits |= std::uint64_t{some} << (32 * i);
  }
  return bits;
#else
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    const auto eight = load<std::uint64_t>(reinterpret_cast<const char*>(bytes) + 8 * i) & 0x8040201008040201ULL;
    bits |= (eight * 0x0101010101010101ULL >> 56) << (8 * i);
  }
  return bits;
#endif
}

// Write the numbers of the bits that are set, counted from `first`; return where the next ones go. Writes at least a
// few of them, whatever they are, so that few bits need no branch.
#ifdef __AVX512VBMI2__
inline std::uint32_t* list_bits(std::uint64_t bits, std::uint32_t first, std::uint32_t* list) {
  alignas(64) static constexpr std::uint8_t numbers[64] = {
      0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
      44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i found = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(numbers));
  const __m512i start = _mm512_set1_epi32(static_cast<int>(first));
  const int n = __builtin_popcountll(bits);
  const auto write = [=](int at, __m128i some) {
    _mm512_storeu_si512(list + at, _mm512_add_epi32(start, _mm512_maskz_cvtepu8_epi32(0xFFFF, some)));
  };
  write(0, _mm512_maskz_extracti32x4_epi32(0xF, found, 0));
  if (n > 16) write(16, _mm512_maskz_extracti32x4_epi32(0xF, found, 1));
  if (n > 32) {
    write(32, _mm512_maskz_extracti32x4_epi32(0xF, found, 2));
    write(48, _mm512_maskz_extracti32x4_epi32(0xF, found, 3));
  }
  return list + n;
}
#else
// The number of the first bit that is set; any number if there is none.
inline int first_bit(std::uint64_t bits) {
#ifdef __AVX2__
  return static_cast<int>(_tzcnt_u64(bits));
#else
  return __builtin_ctzll(bits | std::uint64_t{1} << 63);
#endif
}

inline std::uint32_t* list_bits(std::uint64_t bits, std::uint32_t first, std::uint32_t* list) {
  std::uint32_t* end = list + __builtin_popcountll(bits);
  do {
    for (int i = 0; i < 4; ++i, bits &= bits - 1) list[i] = first + static_cast<std::uint32_t>(first_bit(bits));
    list += 4;
  } while (bits);
  return end;
}

#endif

template <bool has_high, class GoesLeft>
std::int64_t move_rows_as(const RowMove& move, GoesLeft goes_left) {
  constexpr int n_vectors = 64 / long_bytes;
  const auto low = [](std::int32_t leaf) { return static_cast<std::uint8_t>(leaf); };
  const std::uint8_t from = low(move.from), from_high = low(move.from >> 8), flip = move.left_moves ? 0 : 255;
  const LongVector to = LongVector{} + low(move.to), to_high = LongVector{} + low(move.to >> 8);
  const std::uint8_t* bins = move.bins;
  std::uint8_t *leaves = move.leaves, *high_leaves = move.high_leaves;
  std::uint32_t* list = move.moved;
  const std::int64_t n_rows = move.n_rows;
  for (std::int64_t row = 0; row < n_rows; row += 64) {
    LongVector moves[n_vectors];
    for (int v = 0; v < n_vectors; ++v) {
      const std::int64_t at = row + v * long_bytes;
      const LongVector before = load<LongVector>(leaves + at);
      moves[v] = reinterpret_cast<LongVector>(before == from) & (goes_left(bins + at) ^ flip);
      if (has_high) {
        const LongVector high = load<LongVector>(high_leaves + at);
        moves[v] &= reinterpret_cast<LongVector>(high == from_high);
        const LongVector high_after = moves[v] ? to_high : high;
        std::memcpy(high_leaves + at, &high_after, long_bytes);
      }
      const LongVector after = moves[v] ? to : before;
      std::memcpy(leaves + at, &after, long_bytes);
    }
    std::uint64_t bits = pack_bits(moves);
    if (n_rows - row < 64) bits &= (std::uint64_t{1} << (n_rows - row)) - 1;
    list = list_bits(bits, static_cast<std::uint32_t>(row), list);
  }
  return list - move.moved;
}

std::int64_t move_rows(const RowMove& move) {
  const auto run = [&](auto goes_left) {
    return move.high_leaves ? move_rows_as<true>(move, goes_left) : move_rows_as<false>(move, goes_left);
  };
  if (move.set)
    return run([set = Membership(move.set)](const std::uint8_t* bins) {
      return reinterpret_cast<LongVector>(set.look_up(load<LongVector>(bins)) != 0);
    });
  return run([shift = move.shift, last_left = move.last_left](const std::uint8_t* bins) {
    return reinterpret_cast<LongVector>(load<LongVector>(bins) + shift <= last_left);
  });
}

void merge_bins(std::uint8_t* codes, std::int64_t n_rows, int shift, int offset, int last) {
  // (code + offset) >> shift, in eight bits: what the low bits and the offset carry is added to the high ones.
  const auto spread = [](std::uint8_t byte) { return ByteVector{} + byte; };
  const ByteVector low = spread(static_cast<std::uint8_t>((1 << shift) - 1));
  const ByteVector added = spread(static_cast<std::uint8_t>(offset)), most = spread(static_cast<std::uint8_t>(last));
  for (std::int64_t row = 0; row < n_rows; row += vector_bytes) {
    const ByteVector code = load<ByteVector>(codes + row);
    ByteVector bin = (code >> shift) + (((code & low) + added) >> shift);
    bin = bin < most ? bin : most;
    bin = code == missing_code ? code : bin;
    std::memcpy(codes + row, &bin, sizeof bin);
  }
}

// 16 rows of eight columns at a time: three times, each line of the upper half is interleaved with one of the lower.
void interleave_bins(const std::uint8_t* columns, std::int64_t stride, std::int64_t n_rows, int n_bins,
                     std::uint8_t* rows) {
  using Line [[gnu::vector_size(16)]] = std::uint8_t;
  static_assert(gradient_lanes == 8);
  const Line missing = Line{} + static_cast<std::uint8_t>(n_bins);
  for (std::int64_t row = 0; row < n_rows; row += tile_rows) {
    Line lines[8], mixed[8];
    for (int i = 0; i < 8; ++i) {
      const Line bins = load<Line>(columns + i * stride + row);
      lines[i] = bins < missing ? bins : missing;
    }
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < 4; ++i) {
        mixed[2 * i] =
            __builtin_shufflevector(lines[i], lines[i + 4], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        mixed[2 * i + 1] = __builtin_shufflevector(lines[i], lines[i + 4], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                   14, 30, 15, 31);
      }
      for (int i = 0; i < 8; ++i) lines[i] = mixed[i];
    }
    for (int i = 0; i < 8; ++i) std::memcpy(rows + row * gradient_lanes + 16 * i, &lines[i], 16);
  }
}

// The chains of DerivativeRows, in as many vectors as they take.
struct RoundedChains {
  static constexpr int n_vectors = rounding_chains / Double::lanes;
  // A sum with this number is rounded to a whole one, in its low bits; sums have 30 bits at most.
  static constexpr double magic = 0x1.8p52;

  Double::Real sums[n_vectors];
  Word given[n_vectors];

  RoundedChains() {
    for (int v = 0; v < n_vectors; ++v) {
      sums[v] = Double::Real{};
      given[v] = reinterpret_cast<Word>(Double::Real{} + magic);
    }
  }

  Word round(int v, const double* values, double scale) {
    sums[v] += load<Double::Real>(values) * scale;
    const Word before = given[v];
    given[v] = reinterpret_cast<Word>(sums[v] + magic);
    return given[v] - before;
  }
};

std::uint64_t pack_derivatives(const DerivativeRows& rows, std::uint64_t* packed) {
  RoundedChains gradients, hessians;
  std::uint64_t total = 0;
  const int count_bits = rows.count_bits, above = rows.hessian_bits + rows.count_bits;
  const double per_gradient = rows.per_gradient, per_hessian = rows.per_hessian;
  const auto pack = [&](const double* g, const double* h, std::uint64_t* out) {
    for (int v = 0; v < RoundedChains::n_vectors; ++v) {
      const int at = v * Double::lanes;
      const Word words = (gradients.round(v, g + at, per_gradient) << above) +
                         (hessians.round(v, h + at, per_hessian) << count_bits) + 1;
      std::memcpy(out + at, &words, sizeof words);
    }
  };
  std::int64_t row = 0;
  for (; row + rounding_chains <= rows.n_rows; row += rounding_chains)
    pack(rows.gradients + row, rows.hessians + row, packed + row);
  double g[rounding_chains]{}, h[rounding_chains]{};
  std::uint64_t last[rounding_chains];
  const auto n_last = static_cast<std::size_t>(rows.n_rows - row);
  std::memcpy(g, rows.gradients + row, n_last * sizeof(double));
  std::memcpy(h, rows.hessians + row, n_last * sizeof(double));
  pack(g, h, last);
  std::memcpy(packed + row, last, n_last * sizeof(std::uint64_t));
  for (row = 0; row < rows.n_rows; ++row) total += packed[row];
  return total;
}
