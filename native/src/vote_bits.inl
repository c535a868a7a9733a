// Part of kernels_isa.inl: votes of many trees for some rows at a time, a bit for each row.

// Set the bits of the rows that go left: that of row r is bit r / line_bytes of byte r % line_bytes, so that bytes of
// codes become bits without leaving their lanes. Those of other parts are clear.
template <bool is_whole, class GoesLeft>
inline void mark_left(int n_parts, std::uint8_t* line, GoesLeft goes_left) {
  for (int i = 0; i < line_bytes; i += long_bytes) {
    LongVector bits{};
    for (int part = is_whole ? line_parts : n_parts; part-- > 0;)
      bits = bits + bits - reinterpret_cast<LongVector>(goes_left(part * line_bytes + i));  // true is -1
    std::memcpy(line + i, &bits, long_bytes);
  }
}

template <bool is_whole>
void mark_as(const SelectSplit& test, std::int64_t row, int n_parts, std::uint8_t* line) {
  const std::uint8_t* codes = test.column + row;
  if (test.set)
    mark_left<is_whole>(n_parts, line, [=, set = Membership(test.set)](int i) { return set.look_up(codes + i) != 0; });
  else
    mark_left<is_whole>(n_parts, line, [=, shift = test.shift, last_left = test.last_left](int i) {
      return load<LongVector>(codes + i) + shift <= last_left;
    });
}

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

void count_votes(const BitForest& forest, std::int64_t row, int n_rows, std::uint8_t* lines, std::int32_t* totals) {
  const int n_parts = (n_rows + line_bytes - 1) / line_bytes;
  for (std::int32_t k = 0; k < forest.n_tests; ++k) {
    std::uint8_t* line = lines - (k + 1) * line_bytes;
    n_parts == line_parts ? mark_as<true>(forest.tests[k], row, n_parts, line)
                          : mark_as<false>(forest.tests[k], row, n_parts, line);
  }
  constexpr std::int64_t max_count = 255;
  const BitChoice* choices = forest.choices;
  for (std::int64_t t = 0; t < forest.n_trees; t += max_count) {
    const std::int64_t n_trees = forest.n_trees - t < max_count ? forest.n_trees - t : max_count;
    alignas(64) std::uint8_t counts[line_rows] = {};
    for (const BitTree* tree = forest.trees + t; tree < forest.trees + t + n_trees; ++tree) {
      choose_bits(choices, tree->n_choices, lines);
      choices += tree->n_choices;
      for (int i = 0; i < line_bytes; i += long_bytes) {
        const LongVector votes = load<LongVector>(lines + tree->votes * line_bytes + i);
        for (int part = 0; part < line_parts; ++part) {
          std::uint8_t* of_part = counts + part * line_bytes + i;
          const auto bit = static_cast<std::uint8_t>(1 << part);
          const LongVector sum =
              load<LongVector>(of_part) - reinterpret_cast<LongVector>((votes & bit) != 0);  // true is -1
          std::memcpy(of_part, &sum, long_bytes);
        }
      }
    }
    for (int i = 0; i < n_rows; ++i) totals[i] += 2 * counts[i] - static_cast<std::int32_t>(n_trees);
  }
}
