// Part of kernels_isa.inl: the best split of each feature of a group by sums of derivatives over bins.

using Word [[gnu::vector_size(vector_bytes)]] = std::uint64_t;
inline constexpr int word_lanes = vector_bytes / 8;
inline constexpr int gradient_vectors = gradient_lanes / Single::lanes;

// The low halves (part = 0) or the high halves (1) of two vectors of words, in an order that one instruction gives;
// in_order undoes it.
template <int part>
inline Single::Int halves(Word a, Word b) {
#ifdef __AVX2__
  // Not __builtin_shufflevector: it makes three instructions of this.
  constexpr int chosen = part ? 0b11'01'11'01 : 0b10'00'10'00;
  const __m256 mixed = _mm256_shuffle_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), chosen);
  return reinterpret_cast<Single::Int>(mixed);
#else
  const auto x = reinterpret_cast<Single::Int>(a), y = reinterpret_cast<Single::Int>(b);
  return __builtin_shufflevector(x, y, part, 2 + part, 4 + part, 6 + part);
#endif
}

template <class V>
inline V in_order(V v) {
#ifdef __AVX2__
  return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
#else
  return v;
#endif
}

// Sums of some features side by side, unpacked. They are whole numbers, so that what is left of a node is exact,
// however small it is.
struct Parts {
  Single::Int gradient, hessian, count;

  Parts(Word a, Word b, const GradientSearch& s) {
    const auto mask = [](int bits) { return static_cast<std::int32_t>((std::uint32_t{1} << bits) - 1); };
    gradient = halves<1>(a, b) >> (s.hessian_bits + s.count_bits - 32);  // they have 30 bits at most: see make_packing
    hessian = halves<0>(a >> s.count_bits, b >> s.count_bits) & mask(s.hessian_bits);
    count = halves<0>(a, b) & mask(s.count_bits);
  }

  Parts& operator+=(const Parts& others) {
    gradient += others.gradient;
    hessian += others.hessian;
    count += others.count;
    return *this;
  }
};

// The best splits of a node so far, bin by bin from the lowest.
template <bool has_missing>
struct NodeSearch {
  Parts total, missing;
  Word a{}, b{};
  Single::Real best = Single::Real{} - 1.0F;
  Single::Int best_code{};

  [[gnu::always_inline]] void add_bin(Word bin_a, Word bin_b, Single::Int code, const GradientSearch& s) {
    a += bin_a;
    b += bin_b;
    Parts left(a, b, s);
    offer(left, code, s);
    if (has_missing) offer(left += missing, code + 1, s);
  }

  // With hessians that include l2, G^2 / H + g^2 / h = (G + g)^2 / (H + h) + (G h - g H)^2 / (H h (H + h)): splits
  // differ in the last term alone. Swapped sides have the same score, to the last bit.
  [[gnu::always_inline]] void offer(const Parts& left, Single::Int code, const GradientSearch& s) {
    const auto real = [](Single::Int whole) { return __builtin_convertvector(whole, Single::Real); };
    const Single::Real left_h = real(left.hessian) + s.l2, right_h = real(total.hessian - left.hessian) + s.l2;
    const Single::Real difference = real(left.gradient) * right_h - real(total.gradient - left.gradient) * left_h;
    const Single::Real score = difference * (difference / (left_h * right_h));  // a square might be too large
    const std::int32_t too_few = s.min_samples_leaf - 1;
    const Single::Int is_better = (score > best) & (left.count > too_few) & (left.count < total.count - too_few);
    best = is_better ? score : best;
    best_code = is_better ? code : best_code;
  }

  void write(GradientLanes& found, int first_lane) const {
    const Single::Real scores = in_order(best);
    const Single::Int codes = in_order(best_code);
    std::memcpy(found.score + first_lane, &scores, sizeof scores);
    std::memcpy(found.code + first_lane, &codes, sizeof codes);
  }
};

// Take off the sums of a part, if there is one, and search what is left; both side by side if both are wanted.
template <bool has_missing, bool has_part, bool both>
void search_gradients_as(const GradientSearch s, GradientLanes& rest, GradientLanes& part) {
  for (int lane = 0; lane < gradient_lanes; lane += Single::lanes) {
    std::uint64_t* rest_sums = s.rest + lane;
    const std::uint64_t* part_sums = has_part ? s.part + lane : nullptr;
    const auto read = [&](int place, Word& of_rest, Word& of_part) {
      of_rest = load<Word>(rest_sums + place);
      if (!has_part) return;
      of_part = load<Word>(part_sums + place);
      of_rest -= of_part;
      std::memcpy(rest_sums + place, &of_rest, sizeof of_rest);
    };
    Word rest_a, rest_b, part_a{}, part_b{};
    const auto read_bin = [&](int bin) {
      read(bin * gradient_lanes, rest_a, part_a);
      read(bin * gradient_lanes + word_lanes, rest_b, part_b);
    };
    const auto begin = [&](std::uint64_t total, Word missing_a, Word missing_b) {
      return NodeSearch<has_missing>{Parts(Word{} + total, Word{} + total, s), Parts(missing_a, missing_b, s)};
    };
    read_bin(s.n_bins);
    NodeSearch<has_missing> of_rest = begin(s.rest_total, rest_a, rest_b);
    NodeSearch<has_missing> of_part = begin(s.part_total, part_a, part_b);
    Single::Int code{};
    for (int bin = 0; bin < s.n_bins; ++bin, code += 2) {
      read_bin(bin);
      of_rest.add_bin(rest_a, rest_b, code, s);
      if (both) of_part.add_bin(part_a, part_b, code, s);
    }
    of_rest.write(rest, lane);
    if (both) of_part.write(part, lane);
  }
}

template <bool has_missing>
void search_gradients_of(const GradientSearch& s, GradientLanes& rest, GradientLanes& part) {
  if (!s.part) return search_gradients_as<has_missing, false, false>(s, rest, part);
  s.searches_part ? search_gradients_as<has_missing, true, true>(s, rest, part)
                  : search_gradients_as<has_missing, true, false>(s, rest, part);
}

void search_gradients(const GradientSearch& s, GradientLanes& rest, GradientLanes& part) {
  s.has_missing ? search_gradients_of<true>(s, rest, part) : search_gradients_of<false>(s, rest, part);
}
