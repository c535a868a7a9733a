// Part of kernels_isa.inl: apply a tree to a block of rows, from the leaves up; and turn codes from columns to rows.

// Looks codes up in the set of a categorical split.
class Membership {
 public:
#if defined(__AVX512VBMI__)
  explicit Membership(const std::uint8_t* set) : set_(_mm512_maskz_loadu_epi32(0xFF, set)) {}

  // A byte for each code of a vector: not 0 when it is in the set.
  LongVector look_up(LongVector x) const {
    const LongVector byte = x >> 3, bit = x & 7;
    const auto bits = reinterpret_cast<__m512i>(Words{} + 0x8040201008040201ULL);
    return reinterpret_cast<LongVector>(_mm512_maskz_permutexvar_epi8(~0ULL, reinterpret_cast<__m512i>(byte), set_)) &
           reinterpret_cast<LongVector>(_mm512_maskz_shuffle_epi8(~0ULL, bits, reinterpret_cast<__m512i>(bit)));
  }

 private:
  using Words [[gnu::vector_size(64)]] = std::uint64_t;
  __m512i set_;
#elif defined(__AVX2__)
  explicit Membership(const std::uint8_t* set)
      : low_(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set)))),
        high_(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set + 16)))) {}

  LongVector look_up(LongVector codes) const {
    const auto x = reinterpret_cast<__m256i>(codes);
    // Byte x / 8 of the set, out of the half that the top bit of x names; then bit x % 8 of it.
    const __m256i byte = _mm256_and_si256(_mm256_srli_epi16(x, 3), _mm256_set1_epi8(15));
    const __m256i eight = _mm256_blendv_epi8(_mm256_shuffle_epi8(low_, byte), _mm256_shuffle_epi8(high_, byte), x);
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
    const __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(x, _mm256_set1_epi8(7)));
    return reinterpret_cast<LongVector>(_mm256_and_si256(eight, bit));
  }

 private:
  __m256i low_, high_;
#else
  explicit Membership(const std::uint8_t* set) : set_(set) {}

  LongVector look_up(LongVector codes) const {
    std::uint8_t is_in[long_bytes];
    for (int i = 0; i < long_bytes; ++i) is_in[i] = set_[codes[i] / 8] >> (codes[i] % 8) & 1;
    return load<LongVector>(is_in);
  }

 private:
  const std::uint8_t* set_;
#endif
};

// Ask for the codes of a block some blocks ahead: the processor by itself follows fewer columns than a tree has.
inline void prefetch_codes(const std::uint8_t* codes) {
  for (int i = 0; i < block_rows; i += 64) __builtin_prefetch(codes + i);
}

// Go through the splits backwards, children before parents: no branch depends on the data. The left child of a split is
// a leaf or the split before in this order: only right children have to be in memory.
template <bool is_whole, bool has_shifts, bool has_sets>
void select_rows_as(const Selection& selection, std::int64_t row, int n_rows, std::uint8_t* slots) {
  constexpr int n_vectors = static_cast<int>(block_rows) / long_bytes;
  LongVector chosen[n_vectors]{};  // slot k + 1, in registers; at first the first leaf's
  const auto write_slot = [&](std::int32_t slot) {
#pragma GCC unroll 8
    for (int v = 0; v < n_vectors; ++v) std::memcpy(slots + slot * block_rows + v * long_bytes, &chosen[v], long_bytes);
  };
  for (std::int32_t k = selection.n_splits - 1; k >= 0; --k) {
    const SelectSplit& split = selection.splits[k];
    const std::uint8_t *codes = split.column + row, *right = slots + split.right_slot * block_rows;
    // Measured with trees of 22 and 108 leaves: 1 to 4 blocks ahead save a tenth of the time, 16 next to nothing.
    if (is_whole) prefetch_codes(codes + 4 * block_rows);
    if (split.left_slot != static_cast<std::uint32_t>(k + 1)) {
      write_slot(k + 1);
      const auto leaf = static_cast<std::uint8_t>(split.left_slot - static_cast<std::uint32_t>(selection.n_splits));
      for (LongVector& of_left : chosen) of_left = LongVector{} + leaf;
    }
    const auto choose = [&](auto goes_left) {
#pragma GCC unroll 8
      for (int v = 0; v < n_vectors; ++v) {
        const int i = v * long_bytes;
        if (!is_whole && i >= n_rows) break;
        chosen[v] = goes_left(codes + i) ? chosen[v] : load<LongVector>(right + i);
      }
    };
    if (has_sets && split.set) {
      choose(
          [set = Membership(split.set)](const std::uint8_t* some) { return set.look_up(load<LongVector>(some)) != 0; });
    } else {
      const std::uint8_t shift = has_shifts ? split.shift : 0, last_left = split.last_left;
      choose([=](const std::uint8_t* some) { return load<LongVector>(some) + shift <= last_left; });
    }
  }
  write_slot(0);
}

template <bool is_whole>
void select_as(const Selection& selection, std::int64_t row, int n_rows, std::uint8_t* slots) {
  if (selection.has_sets) return select_rows_as<is_whole, true, true>(selection, row, n_rows, slots);
  selection.has_shifts ? select_rows_as<is_whole, true, false>(selection, row, n_rows, slots)
                       : select_rows_as<is_whole, false, false>(selection, row, n_rows, slots);
}

void select_rows(const Selection& selection, std::int64_t row, int n_rows, std::uint8_t* slots) {
  n_rows == block_rows ? select_as<true>(selection, row, n_rows, slots)
                       : select_as<false>(selection, row, n_rows, slots);
}

using TileLine [[gnu::vector_size(tile_rows)]] = std::uint8_t;

// Write 16 times 16 bytes with rows and columns exchanged, given what reads a line and where lines go: four times, each
// line of the upper half is interleaved with one of the lower.
template <class Read, class To>
inline void transpose_tile(Read read, To to) {
  TileLine lines[16], mixed[16];
  for (int i = 0; i < 16; ++i) lines[i] = read(i);
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 8; ++i) {
      mixed[2 * i] =
          __builtin_shufflevector(lines[i], lines[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      mixed[2 * i + 1] =
          __builtin_shufflevector(lines[i], lines[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; ++i) lines[i] = mixed[i];
  }
  for (int i = 0; i < 16; ++i) std::memcpy(to(i), &lines[i], 16);
}

// Whole blocks of a few columns, then the next columns: a tile alone would leave most of a cache line for later.
void to_rows(const std::uint8_t* const* columns, int width, std::int64_t row, std::int64_t n_rows, std::uint8_t* rows) {
  for (std::int64_t first = 0; first < n_rows; first += block_rows) {
    const std::int64_t end = first + block_rows < n_rows ? first + block_rows : n_rows;
    for (int j = 0; j < width; j += tile_rows) {
      for (int k = 0; k < tile_rows; ++k) prefetch_codes(columns[j + k] + row + first + block_rows);
      for (std::int64_t i = first; i < end; i += tile_rows)
        transpose_tile([=](int k) { return load<TileLine>(columns[j + k] + row + i); },
                       [=](int k) { return rows + (i + k) * width + j; });
    }
  }
}

void to_columns(const std::uint8_t* rows, int width, const std::uint16_t* which, int n_rows, std::uint8_t* columns) {
  for (int i = 0; i < n_rows; i += tile_rows)
    for (int j = 0; j < width; j += tile_rows)
      transpose_tile([=](int k) { return load<TileLine>(rows + std::int64_t{which[i + k]} * width + j); },
                     [=](int k) { return columns + (j + k) * block_rows + i; });
}

// A block of rows at a time: what is left of their cache lines is still at hand for the next columns. The last tiles
// reach back over the ones before.
void copy_bytes(const ByteRows& from, std::int64_t n_rows, std::int64_t n_columns, std::uint8_t* columns,
                std::int64_t column_stride) {
  for (std::int64_t first = 0; first < n_rows; first += block_rows) {
    const std::int64_t end = first + block_rows < n_rows ? first + block_rows : n_rows;
    for (std::int64_t tile = 0; tile < n_columns; tile += tile_rows) {
      const std::int64_t j = tile + tile_rows <= n_columns ? tile : n_columns - tile_rows;
      const auto largest = load<TileLine>(from.largest + j);
      for (std::int64_t row = first; row < end; row += tile_rows) {
        const std::int64_t i = row + tile_rows <= n_rows ? row : n_rows - tile_rows;
        transpose_tile(
            [=, &from](int k) {
              const auto line = load<TileLine>(from.bytes + (i + k) * from.stride + j);
              return line < largest ? line : largest;
            },
            [=](int k) { return columns + (j + k) * column_stride + i; });
      }
    }
  }
}
