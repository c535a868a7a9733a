// Part of kernels_isa.inl: the best split of each feature of a group by sums of derivatives over bins.

using Word [[gnu::vector_size(vector_bytes)]] = std::uint64_t;
inline constexpr int word_lanes = vector_bytes / 8;
inline constexpr int gradient_vectors = gradient_lanes / Single::lanes;

// The low halves of two vectors of words.
inline Single::Int low_halves(Word a, Word b) {
  const auto x = reinterpret_cast<Single::Int>(a), y = reinterpret_cast<Single::Int>(b);
#ifdef __AVX2__
  return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(x, y, 0, 2, 4, 6);
#endif
}

// Sums of some features side by side, unpacked. They are whole numbers, so that what is left of a node is exact,
// however small it is.
struct Parts {
  Single::Int gradient, hessian, count;

  Parts(Word a, Word b, const GradientSearch& s) {
    const int above = s.hessian_bits + s.count_bits;
    // Words are shifted as unsigned numbers. Gradients are made positive before, by adding half of what their bits
    // hold, which is subtracted afterwards modulo 2^32. They have 30 bits at most (see GradientGrower::pack): nothing
    // is lost.
    using Unsigned [[gnu::vector_size(vector_bytes)]] = std::uint32_t;
    const std::uint64_t half = std::uint64_t{1} << 63;
    const auto shifted = reinterpret_cast<Unsigned>(low_halves((a ^ half) >> above, (b ^ half) >> above));
    gradient = reinterpret_cast<Single::Int>(shifted - static_cast<std::uint32_t>(half >> above));
    const auto mask = static_cast<std::int32_t>((std::uint32_t{1} << s.hessian_bits) - 1);
    hessian = low_halves(a >> s.count_bits, b >> s.count_bits) & mask;
    count = low_halves(a, b) & static_cast<std::int32_t>((std::uint32_t{1} << s.count_bits) - 1);
  }
};

inline Single::Real fall(Single::Int gradient, Single::Int hessian, float l2) {
  const auto g = __builtin_convertvector(gradient, Single::Real), h = __builtin_convertvector(hessian, Single::Real);
  return g * g / (h + l2);
}

GradientLanes search_gradients(const GradientSearch& s) {
  GradientLanes found;
  for (int v = 0; v < gradient_vectors; ++v) {
    const std::uint64_t* sums = s.sums + v * Single::lanes;
    const Word all = Word{} + s.total;
    const Parts total(all, all, s);
    Word a{}, b{}, missing_a{}, missing_b{};
    Single::Int best_code{}, code{};
    Single::Real best = Single::Real{} - 1.0F;
    const auto offer = [&](const Parts& left, Single::Int split_code) {
      const Single::Real score = fall(left.gradient, left.hessian, s.l2) +
                                 fall(total.gradient - left.gradient, total.hessian - left.hessian, s.l2);
      const Single::Int better =
          (score > best) & (left.count >= s.min_samples_leaf) & (total.count - left.count >= s.min_samples_leaf);
      best = better ? score : best;
      best_code = better ? split_code : best_code;
    };
    if (s.has_missing) {
      missing_a = load<Word>(sums + s.n_bins * gradient_lanes);
      missing_b = load<Word>(sums + s.n_bins * gradient_lanes + word_lanes);
    }
    for (int bin = 0; bin < s.n_bins; ++bin) {
      a += load<Word>(sums + bin * gradient_lanes);
      b += load<Word>(sums + bin * gradient_lanes + word_lanes);
      offer(Parts(a, b, s), code);
      if (s.has_missing) offer(Parts(a + missing_a, b + missing_b, s), code + 1);
      code += 2;
    }
    std::memcpy(found.score + v * Single::lanes, &best, sizeof best);
    std::memcpy(found.code + v * Single::lanes, &best_code, sizeof best_code);
  }
  return found;
}
