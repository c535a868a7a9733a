// Part of kernels_isa.inl: votes of many trees for some rows at a time, a bit for each row.

// How rows and bits of a line belong together is the kernels' own affair. A part of the rows has line_bytes rows.
#if defined(__AVX512BW__)

// Comparisons leave bits: a part of the rows has one word of the line after the other.
inline std::uint64_t read_part(const std::uint8_t* line, int part) {
  return load<std::uint64_t>(line + part * sizeof(std::uint64_t));
}

// The codes of some rows in a column, which many tests may look at.
template <bool is_whole>
class CodesOfLine {
 public:
  CodesOfLine(const std::uint8_t* codes, int n_parts) : n_parts_(is_whole ? line_parts : n_parts) {
    for_parts([&](int part) { codes_[part] = _mm512_loadu_si512(codes + part * line_bytes); });
  }

  // Set the bits of the rows that go left; those of other parts are clear.
  void mark(const SelectSplit& test, std::uint8_t* line) const {
    if (!is_whole) std::memset(line, 0, line_bytes);
    const auto write = [=](int part, std::uint64_t bits) {
      std::memcpy(line + part * sizeof bits, &bits, sizeof bits);
    };
    const __m512i last_left = _mm512_set1_epi8(static_cast<char>(test.last_left));
    if (test.set) {
      for_parts([&, set = Membership(test.set)](int part) {
        const auto is_in = reinterpret_cast<__m512i>(set.look_up(reinterpret_cast<LongVector>(codes_[part])));
        write(part, _mm512_test_epi8_mask(is_in, is_in));
      });
    } else if (test.shift == 0) {
      for_parts([&](int part) { write(part, _mm512_cmple_epu8_mask(codes_[part], last_left)); });
    } else {
      const __m512i shift = _mm512_set1_epi8(static_cast<char>(test.shift));
      for_parts(
          [&](int part) { write(part, _mm512_cmple_epu8_mask(_mm512_add_epi8(codes_[part], shift), last_left)); });
    }
  }

 private:
  template <class Call>
  [[gnu::always_inline]] void for_parts(Call call) const {
#pragma GCC unroll 8
    for (int part = 0; part < line_parts; ++part)
      if (is_whole || part < n_parts_) call(part);
  }

  int n_parts_;
  __m512i codes_[line_parts];
};

// Add 1 to the counts of the rows whose bits are set.
inline void add_bits(const std::uint8_t* line, std::uint8_t* counts) {
  for (int part = 0; part < line_parts; ++part) {
    std::uint8_t* of_part = counts + part * line_bytes;
    const __m512i before = _mm512_loadu_si512(of_part);
    _mm512_storeu_si512(of_part, _mm512_mask_add_epi8(before, read_part(line, part), before, _mm512_set1_epi8(1)));
  }
}

// Write 1 for the rows of a part whose bits are set, -1 for the others.
inline void write_part(const std::uint8_t* line, int part, std::int8_t* votes) {
  _mm512_storeu_si512(votes, _mm512_mask_blend_epi8(read_part(line, part), _mm512_set1_epi8(-1), _mm512_set1_epi8(1)));
}

#else

// Comparisons leave bytes: the bit of row r is bit r / line_bytes of byte r % line_bytes, so that bytes of codes become
// bits without leaving their lanes. Those of other parts are clear.
template <bool is_whole>
class CodesOfLine {
 public:
  CodesOfLine(const std::uint8_t* codes, int n_parts) : codes_(codes), n_parts_(is_whole ? line_parts : n_parts) {}

  void mark(const SelectSplit& test, std::uint8_t* line) const {
    if (test.set)
      mark_left(line,
                [this, set = Membership(test.set)](int i) { return set.look_up(load<LongVector>(codes_ + i)) != 0; });
    else
      mark_left(line, [this, shift = test.shift, last_left = test.last_left](int i) {
        return load<LongVector>(codes_ + i) + shift <= last_left;
      });
  }

 private:
  template <class GoesLeft>
  void mark_left(std::uint8_t* line, GoesLeft goes_left) const {
    for (int i = 0; i < line_bytes; i += long_bytes) {
      LongVector bits{};
      for (int part = is_whole ? line_parts : n_parts_; part-- > 0;)
        bits = bits + bits - reinterpret_cast<LongVector>(goes_left(part * line_bytes + i));  // true is -1
      std::memcpy(line + i, &bits, long_bytes);
    }
  }

  const std::uint8_t* codes_;
  int n_parts_;
};

// Add 1 to the counts of the rows whose bits are set.
inline void add_bits(const std::uint8_t* line, std::uint8_t* counts) {
  for (int i = 0; i < line_bytes; i += long_bytes) {
    const auto bits = load<LongVector>(line + i);
    for (int part = 0; part < line_parts; ++part) {
      std::uint8_t* of_part = counts + part * line_bytes + i;
      const auto bit = static_cast<std::uint8_t>(1 << part);
      const LongVector sum = load<LongVector>(of_part) - reinterpret_cast<LongVector>((bits & bit) != 0);  // true is -1
      std::memcpy(of_part, &sum, long_bytes);
    }
  }
}

// Write 1 for the rows of a part whose bits are set, -1 for the others.
inline void write_part(const std::uint8_t* line, int part, std::int8_t* votes) {
  const auto bit = static_cast<std::uint8_t>(1 << part);
  for (int i = 0; i < line_bytes; i += long_bytes) {
    const auto is_set = reinterpret_cast<LongVector>((load<LongVector>(line + i) & bit) != 0);
    const LongVector of_rows = (is_set & 2) - 1;
    std::memcpy(votes + i, &of_rows, long_bytes);
  }
}

#endif

// Each split picks, for all rows at once, the bits of its left or its right child.
void choose_bits(const BitChoice* choices, std::int64_t n_choices, std::uint8_t* lines) {
  for (std::int64_t k = 0; k < n_choices; ++k) {
    const auto line = [=](std::int16_t place) { return lines + std::int64_t{place} * line_bytes; };
    const std::uint8_t *test = line(choices[k].test), *left = line(choices[k].left), *right = line(choices[k].right);
    std::uint8_t* chosen = line(choices[k].to);
    for (int i = 0; i < line_bytes; i += long_bytes) {
      const LongVector of_left = load<LongVector>(left + i), of_right = load<LongVector>(right + i);
      const LongVector bits = of_right ^ (load<LongVector>(test + i) & (of_left ^ of_right));
      std::memcpy(chosen + i, &bits, long_bytes);
    }
  }
}

// Ask all tests of some rows; those of a column follow each other.
template <bool is_whole>
void mark_as(const BitForest& forest, std::int64_t row, int n_parts, std::uint8_t* lines) {
  for (std::int32_t k = 0; k < forest.n_tests;) {
    const std::uint8_t* column = forest.tests[k].column;
    const CodesOfLine<is_whole> codes(column + row, n_parts);
    for (int i = 0; i < line_rows; i += 64) __builtin_prefetch(column + row + line_rows + i);
    for (; k < forest.n_tests && forest.tests[k].column == column; ++k)
      codes.mark(forest.tests[k], lines - (k + 1) * line_bytes);
  }
}

// Return the number of parts that have any of the rows.
int mark_all(const BitForest& forest, std::int64_t row, int n_rows, std::uint8_t* lines) {
  const int n_parts = (n_rows + line_bytes - 1) / line_bytes;
  n_parts == line_parts ? mark_as<true>(forest, row, n_parts, lines) : mark_as<false>(forest, row, n_parts, lines);
  return n_parts;
}

void count_votes(const BitForest& forest, std::int64_t row, int n_rows, std::uint8_t* lines, std::int32_t* totals) {
  mark_all(forest, row, n_rows, lines);
  constexpr std::int64_t max_count = 255;
  const BitChoice* choices = forest.choices;
  for (std::int64_t t = 0; t < forest.n_trees; t += max_count) {
    const std::int64_t n_trees = forest.n_trees - t < max_count ? forest.n_trees - t : max_count;
    alignas(64) std::uint8_t counts[line_rows] = {};
    for (const BitTree* tree = forest.trees + t; tree < forest.trees + t + n_trees; ++tree) {
      choose_bits(choices, tree->n_choices, lines);
      choices += tree->n_choices;
      add_bits(lines + tree->votes * line_bytes, counts);
    }
    for (int i = 0; i < n_rows; ++i) totals[i] += 2 * counts[i] - static_cast<std::int32_t>(n_trees);
  }
}

void write_votes(const BitForest& tree, std::int64_t row, int n_rows, std::uint8_t* lines, std::int8_t* votes) {
  const int n_parts = mark_all(tree, row, n_rows, lines);
  choose_bits(tree.choices, tree.trees->n_choices, lines);
  for (int part = 0; part < n_parts; ++part)
    write_part(lines + tree.trees->votes * line_bytes, part, votes + part * line_bytes);
}
