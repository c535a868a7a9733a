// Part of kernels_isa.inl: apply a tree to a block of rows.

// 64 bytes of 0 or 1 to 64 bits: eight at a time by one multiplication.
inline std::uint64_t pack(const std::uint8_t* bytes) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; i += 8) mask |= (load<std::uint64_t>(bytes + i) * 0x0102040810204080ULL) >> 56 << i;
  return mask;
}

// Compares codes with the threshold of a split. Codes are shifted only where a split of the tree sends missing values
// left.
template <bool is_shifted>
class Comparison {
 public:
#ifdef __AVX2__
  explicit Comparison(const SweepSplit& split)
      : shift_(_mm256_set1_epi8(static_cast<char>(is_shifted ? split.shift : 0))),
        last_left_(_mm256_set1_epi8(static_cast<char>(split.last_left))) {}

  // A bit for each of 64 codes: set when it goes left.
  std::uint64_t goes_left(const std::uint8_t* codes) const {
    return half(codes) | static_cast<std::uint64_t>(half(codes + 32)) << 32;
  }

 private:
  std::uint32_t half(const std::uint8_t* codes) const {
    __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes));
    if constexpr (is_shifted) x = _mm256_add_epi8(x, shift_);
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, last_left_), x)));
  }
  __m256i shift_, last_left_;
#else
  explicit Comparison(const SweepSplit& split) : shift_(is_shifted ? split.shift : 0), last_left_(split.last_left) {}

  std::uint64_t goes_left(const std::uint8_t* codes) const {
    std::uint8_t left[64];
    for (int i = 0; i < 64; ++i) left[i] = static_cast<std::uint8_t>(codes[i] + shift_) <= last_left_;
    return pack(left);
  }

 private:
  std::uint8_t shift_, last_left_;
#endif
};

// Looks codes up in the set of a categorical split.
class Membership {
 public:
#ifdef __AVX2__
  explicit Membership(const std::uint8_t* set)
      : low_(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set)))),
        high_(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set + 16)))) {}

  // A bit for each of 64 codes: set when it is in the set.
  std::uint64_t holds(const std::uint8_t* codes) const {
    const auto half = [&](const std::uint8_t* from) {
      return static_cast<std::uint32_t>(_mm256_movemask_epi8(look_up(from)));
    };
    return half(codes) | static_cast<std::uint64_t>(half(codes + 32)) << 32;
  }

  // A byte for each of 64 codes: not 0 when it is in the set.
  void mark(const std::uint8_t* codes, std::uint8_t* is_in) const {
    for (int i = 0; i < 64; i += 32) _mm256_storeu_si256(reinterpret_cast<__m256i*>(is_in + i), look_up(codes + i));
  }

 private:
  __m256i look_up(const std::uint8_t* codes) const {
    const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes));
    // Byte x / 8 of the set, out of the half that the top bit of x names; then bit x % 8 of it.
    const __m256i byte = _mm256_and_si256(_mm256_srli_epi16(x, 3), _mm256_set1_epi8(15));
    const __m256i eight = _mm256_blendv_epi8(_mm256_shuffle_epi8(low_, byte), _mm256_shuffle_epi8(high_, byte), x);
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ULL));
    const __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(x, _mm256_set1_epi8(7)));
    return _mm256_cmpeq_epi8(_mm256_and_si256(eight, bit), bit);
  }
  __m256i low_, high_;
#else
  explicit Membership(const std::uint8_t* set) : set_(set) {}

  std::uint64_t holds(const std::uint8_t* codes) const {
    std::uint8_t is_in[64];
    mark(codes, is_in);
    return pack(is_in);
  }

  void mark(const std::uint8_t* codes, std::uint8_t* is_in) const {
    for (int i = 0; i < 64; ++i) is_in[i] = set_[codes[i] / 8] >> (codes[i] % 8) & 1;
  }

 private:
  const std::uint8_t* set_;
#endif
};

// Below a split with so many splits, so few rows are walked down one by one. Measured with AVX2: a tree of 4400 leaves
// takes 30 % less time than without walks, one of 460 leaves the same; there, 8 splits or 8 rows would double the time.
inline constexpr std::int32_t min_walk_splits = 32;
inline constexpr int max_walk_rows = 2;

// The slot of the leaf that a row reaches from split k.
inline std::uint32_t walk_row(const Sweep& sweep, std::int32_t k, std::int64_t row) {
  const auto n_splits = static_cast<std::uint32_t>(sweep.n_splits);
  auto slot = static_cast<std::uint32_t>(k);
  while (slot < n_splits) {
    const SweepSplit& split = sweep.splits[slot];
    const std::uint8_t code = split.column[row];
    const bool goes_left = split.set ? split.set[code / 8] >> (code % 8) & 1
                                     : static_cast<std::uint8_t>(code + split.shift) <= split.last_left;
    slot = goes_left ? split.left_slot : split.right_slot;
  }
  return slot;
}

// Put the rows that are in split k into the leaves below it, one by one.
void walk_rows(const Sweep& sweep, std::int32_t k, std::int64_t row) {
  const SweepSplit& split = sweep.splits[k];
  const auto first_leaf = sweep.n_splits + split.leaf_begin;
  std::memset(sweep.masks + first_leaf * mask_words, 0,
              sizeof(std::uint64_t) * mask_words * static_cast<std::size_t>(split.leaf_end - split.leaf_begin));
  for (int word = 0; word < mask_words; ++word) {
    for (std::uint64_t rest = sweep.masks[k * mask_words + word]; rest; rest &= rest - 1) {
      const std::uint32_t leaf = walk_row(sweep, k, row + 64 * word + __builtin_ctzll(rest));
      sweep.masks[leaf * mask_words + static_cast<std::uint32_t>(word)] |= rest & (0 - rest);
    }
  }
}

// Ask for the codes of a block some blocks ahead: the processor by itself follows fewer columns than a tree has.
// Measured with trees of 22 and 108 leaves: 1 to 4 blocks ahead save a tenth of the time, 16 next to nothing.
inline void prefetch_codes(const std::uint8_t* codes) {
  for (int word = 0; word < mask_words; ++word) __builtin_prefetch(codes + 4 * block_rows + 64 * word);
}

// Go through the splits in preorder with a mask of the rows that are in each: no branch depends on the data, except
// that large subtrees with few rows are skipped, and their rows walked one by one.
template <bool is_shifted, bool has_sets>
void sweep_block_as(const Sweep& sweep, std::int64_t row) {
  const std::int32_t n_splits = sweep.n_splits;
  const SweepSplit* splits = sweep.splits;
  std::uint64_t* masks = sweep.masks;
  for (int word = 0; word < mask_words; ++word) masks[word] = ~std::uint64_t{0};
  for (std::int32_t k = 0; k < n_splits; ++k) {
    const SweepSplit& split = splits[k];
    const std::uint64_t* mask = masks + k * mask_words;
    prefetch_codes(split.column + row);
    if (split.next - k >= min_walk_splits) {
      int n_rows = 0;
      for (int word = 0; word < mask_words; ++word) n_rows += __builtin_popcountll(mask[word]);
      if (n_rows <= max_walk_rows) {
        walk_rows(sweep, k, row);
        k = split.next - 1;
        continue;
      }
    }
    const auto part = [&](auto goes_left) {
      for (int word = 0; word < mask_words; ++word) {
        const std::uint64_t rows = mask[word];
        const std::uint64_t left = goes_left(split.column + row + 64 * word);
        masks[split.left_slot * mask_words + static_cast<std::uint32_t>(word)] = rows & left;
        masks[split.right_slot * mask_words + static_cast<std::uint32_t>(word)] = rows & ~left;
      }
    };
    if (has_sets && split.set) {
      part([membership = Membership(split.set)](const std::uint8_t* codes) { return membership.holds(codes); });
    } else {
      part([comparison = Comparison<is_shifted>(split)](const std::uint8_t* codes) {
        return comparison.goes_left(codes);
      });
    }
  }
}

void sweep_block(const Sweep& sweep, std::int64_t row) {
  if (sweep.has_sets) return sweep_block_as<true, true>(sweep, row);
  sweep.is_shifted ? sweep_block_as<true, false>(sweep, row) : sweep_block_as<false, false>(sweep, row);
}

// Go through the splits backwards, children before parents: no bits to pack or unpack.
template <bool is_shifted, bool has_sets>
void select_block_as(const Sweep& sweep, std::int64_t row, std::uint8_t* slots) {
  for (std::int32_t k = sweep.n_splits - 1; k >= 0; --k) {
    const SweepSplit& split = sweep.splits[k];
    const std::uint8_t* codes = split.column + row;
    const std::uint8_t *left = slots + split.left_slot * block_rows, *right = slots + split.right_slot * block_rows;
    std::uint8_t* __restrict chosen = slots + k * block_rows;
    prefetch_codes(codes);
    const auto choose = [&](auto goes_left) {
      for (int i = 0; i < block_rows; i += vector_bytes) {
        const ByteVector of_left = load<ByteVector>(left + i), of_right = load<ByteVector>(right + i);
        const ByteVector of_split = goes_left(i) ? of_left : of_right;
        std::memcpy(chosen + i, &of_split, vector_bytes);
      }
    };
    if (has_sets && split.set) {
      std::uint8_t is_in[block_rows];
      for (int i = 0; i < block_rows; i += 64) Membership(split.set).mark(codes + i, is_in + i);
      choose([&](int i) { return load<ByteVector>(is_in + i) != 0; });
    } else {
      const std::uint8_t shift = is_shifted ? split.shift : 0, last_left = split.last_left;
      choose([=](int i) { return load<ByteVector>(codes + i) + shift <= last_left; });
    }
  }
}

void select_block(const Sweep& sweep, std::int64_t row, std::uint8_t* slots) {
  if (sweep.has_sets) return select_block_as<true, true>(sweep, row, slots);
  sweep.is_shifted ? select_block_as<true, false>(sweep, row, slots) : select_block_as<false, false>(sweep, row, slots);
}
