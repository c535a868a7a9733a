// Part of kernels_isa.inl: the best split of the rows of a node.

// The scores of splits, lane by lane. A split that leaves one side empty has score 0 / 0, which never compares as
// better, so min_samples_leaf is checked only if it is more than one.
template <class P, bool has_min_leaf>
struct Scorer {
  using Real = P::Real;
  Real n, positive, least, most;

  Scorer(std::int64_t n_all, std::int64_t n_positive, std::int32_t min_samples_leaf) {
    using Scalar = P::Scalar;
    n = Real{} + static_cast<Scalar>(n_all);
    positive = Real{} + static_cast<Scalar>(n_positive);
    least = Real{} + static_cast<Scalar>(min_samples_leaf);
    most = n - least;
  }

  // Score splits that have `side` rows on one side, `side_positive` of them positive; negative if not allowed.
  Real score(Real side, Real side_positive) const {
    const Real d = side_positive * n - side * positive;
    const Real s = d * d / (side * (n - side));
    if constexpr (has_min_leaf) return ((side >= least) & (side <= most)) ? s : Real{} - 1;
    return s;
  }
};

// The highest score of all lanes, and the lowest lane that has it.
template <class P>
inline P::Scalar find_most(const typename P::Real (&scores)[P::n_vectors]) {
  auto top = scores[0];
  for (int v = 1; v < P::n_vectors; ++v) top = scores[v] > top ? scores[v] : top;
  return fold(top, greater_of);
}
template <class P>
inline int find_lane(const typename P::Real (&scores)[P::n_vectors], typename P::Scalar score) {
  int v = 0;
  while (!is_any_set(scores[v] == score)) ++v;
  int lane = 0;
  while (scores[v][lane] != score) ++lane;
  return v * P::lanes + lane;
}

// The best split of each lane so far. Of equal scores the lowest code wins: where codes are not offered in ascending
// order, they have to be compared.
template <class P, bool is_ordered, bool has_min_leaf>
struct LaneBest {
  using Real = P::Real;
  using Int = P::Int;
  Scorer<P, has_min_leaf> scorer;
  Real score[P::n_vectors];
  Int code[P::n_vectors];  // 2 * bin + missing_left

  LaneBest(std::int64_t n_all, std::int64_t n_positive, std::int32_t min_samples_leaf)
      : scorer(n_all, n_positive, min_samples_leaf) {
    for (int v = 0; v < P::n_vectors; ++v) {
      score[v] = Real{} - 1;
      code[v] = Int{};
    }
  }

  // Offer a split that sends `left` rows to the left, `left_positive` of them positive.
  void offer(int v, Real left, Real left_positive, Int split_code, Int allowed = ~Int{}) {
    const Real s = scorer.score(left, left_positive);
    Int better = s > score[v];
    if constexpr (!is_ordered) better |= (s == score[v]) & (split_code < code[v]);
    better &= allowed;
    score[v] = better ? s : score[v];
    code[v] = better ? split_code : code[v];
  }

  GroupSplit reduce() const {
    const auto top = find_most<P>(score);
    if (top < 0) return {};
    const int lane = find_lane<P>(score, top);
    const auto split_code = code[lane / P::lanes][lane % P::lanes];
    return {static_cast<double>(top), lane, static_cast<std::uint8_t>(split_code / 2),
            static_cast<std::uint8_t>(split_code % 2)};
  }
};

// Codes as signed bytes in the same order: comparing these takes one instruction.
using SignedVector [[gnu::vector_size(vector_bytes)]] = std::int8_t;
inline constexpr std::uint8_t sign_bit = 128;

inline void to_signed(const std::uint8_t* codes, std::int32_t n_rows, std::uint8_t* rows) {
  for (std::int32_t i = 0; i < n_rows * group_lanes; i += vector_bytes) {
    const ByteVector row = load<ByteVector>(codes + i) ^ sign_bit;
    std::memcpy(rows + i, &row, vector_bytes);
  }
}

// Some thresholds of each lane, tried together.
template <int n_thresholds>
struct Thresholds {
  static constexpr int size = n_thresholds;
  SignedVector codes[size];

  // Count the rows whose codes are above each threshold, lane by lane.
  void count_above(const std::uint8_t* rows, std::int32_t n, ByteVector (&counts)[size]) const {
    SignedVector above[size]{};
#pragma GCC unroll 2
    for (std::int32_t i = 0; i < n; ++i) {
      const auto x = load<SignedVector>(rows + i * group_lanes);
#pragma GCC unroll 4
      for (int k = 0; k < size; ++k) above[k] -= x > codes[k];
    }
    for (int k = 0; k < size; ++k) counts[k] = reinterpret_cast<ByteVector>(above[k]);
  }
};

// Rows of a node with a missing value, lane by lane: of both classes, and of the positive one.
struct MissingCounts {
  alignas(32) std::uint8_t all[group_lanes] = {};
  alignas(32) std::uint8_t positive[group_lanes] = {};

  void count(const NodeRows& node) {
    for (std::int32_t i = 0; i < node.n_negative + node.n_positive; ++i) {
      for (int lane = 0; lane < group_lanes; ++lane) {
        const bool is_missing = node.codes[i * group_lanes + lane] == missing_code;
        all[lane] = static_cast<std::uint8_t>(all[lane] + is_missing);
        positive[lane] = static_cast<std::uint8_t>(positive[lane] + (is_missing && i >= node.n_negative));
      }
    }
  }
};

// The thresholds to try, [threshold][lane], as signed bytes, and their scores: [threshold][lane], or with missing
// values [threshold][missing left][lane].
struct PairSearch {
  const std::uint8_t* rows;
  const std::uint8_t* thresholds;
  std::int32_t n_thresholds;
  float* scores;
};

inline PairSearch choose_thresholds(const NodeRows& node, Histogram& memory) {
  const std::int32_t n = node.n_negative + node.n_positive;
  PairSearch search{memory.counts[1], memory.counts[1], n, reinterpret_cast<float*>(memory.counts[0])};
  to_signed(node.codes, n, memory.counts[1]);
  if (!node.tries_rarer_class) return search;
  const bool is_negative = node.n_negative < node.n_positive;
  const std::int32_t n_rarer = is_negative ? node.n_negative : node.n_positive;
  const std::uint8_t* rarer = search.rows + (is_negative ? 0 : node.n_negative * group_lanes);
  std::uint8_t* at = memory.counts[2];
  std::uint8_t* below = at + n_rarer * group_lanes;
  for (std::int32_t i = 0; i < n_rarer * group_lanes; i += vector_bytes) {
    const auto code = load<SignedVector>(rarer + i);
    const SignedVector one_less = code + (code > -sign_bit);  // but not below the least
    std::memcpy(at + i, &code, vector_bytes);
    std::memcpy(below + i, &one_less, vector_bytes);
  }
  search.thresholds = at;
  search.n_thresholds = 2 * n_rarer;
  return search;
}

// Of the best scores, find the one in the lowest lane, then the one of the lowest code.
template <int n_sides>
GroupSplit find_best(const PairSearch& search, const Single::Real (&most)[Single::n_vectors]) {
  const float top = find_most<Single>(most);
  if (top < 0) return {};
  const int lane = find_lane<Single>(most, top);
  int code = 2 * missing_code;
  for (std::int32_t i = 0; i < search.n_thresholds; ++i) {
    const int bin = search.thresholds[i * group_lanes + lane] ^ sign_bit;
    for (int side = 0; side < n_sides; ++side) {  // without a branch
      const bool is_top = search.scores[(i * n_sides + side) * group_lanes + lane] == top;
      code = is_top & (2 * bin + side < code) ? 2 * bin + side : code;
    }
  }
  return {top, lane, static_cast<std::uint8_t>(code / 2), static_cast<std::uint8_t>(code % 2)};
}

// Compare all rows with all thresholds: quadratic in rows, but for all features at a time, without sorting, counting
// bins or branching. Counts fit in bytes. Sides are counted on the right, which gives the same scores.
template <bool has_missing, bool has_min_leaf>
GroupSplit search_pairs_as(const NodeRows& node, Histogram& memory) {
  using Real = Single::Real;
  const PairSearch search = choose_thresholds(node, memory);
  const std::uint8_t* positives = search.rows + node.n_negative * group_lanes;
  MissingCounts missing;
  if constexpr (has_missing) missing.count(node);

  constexpr int n_sides = has_missing ? 2 : 1;
  const Scorer<Single, has_min_leaf> scorer(node.n_negative + node.n_positive, node.n_positive, node.min_samples_leaf);
  Real most[Single::n_vectors];
  for (Real& score : most) score = Real{} - 1;
  const auto try_some = [&](auto n_together, std::int32_t first) {
    using Some = Thresholds<n_together>;
    for (int lane = 0; lane < group_lanes; lane += vector_bytes) {
      Some thresholds;
      for (int k = 0; k < Some::size; ++k) {
        const std::int32_t row = first + k < search.n_thresholds ? first + k : search.n_thresholds - 1;
        thresholds.codes[k] = load<SignedVector>(search.thresholds + row * group_lanes + lane);
      }
      ByteVector negatives_right[Some::size], positives_right[Some::size];
      thresholds.count_above(search.rows + lane, node.n_negative, negatives_right);
      thresholds.count_above(positives + lane, node.n_positive, positives_right);
      for (int k = 0; k < Some::size; ++k) {
        alignas(32) std::uint8_t right[vector_bytes], right_positive[vector_bytes], code[vector_bytes];
        const ByteVector both = negatives_right[k] + positives_right[k];
        std::memcpy(right, &both, vector_bytes);
        std::memcpy(right_positive, &positives_right[k], vector_bytes);
        std::memcpy(code, &thresholds.codes[k], vector_bytes);
        float* scores = search.scores + (first + k) * n_sides * group_lanes + lane;
#pragma GCC unroll 8
        for (int i = 0; i < vector_bytes; i += Single::lanes) {
          if (lane + i >= node.n_lanes) break;
          Real& top = most[(lane + i) / Single::lanes];
          const auto offer = [&](int side, Real score) {
            std::memcpy(scores + side * group_lanes + i, &score, sizeof score);
            top = score > top ? score : top;
          };
          const Real r = __builtin_convertvector(widen(right + i), Real);
          const Real rp = __builtin_convertvector(widen(right_positive + i), Real);
          if constexpr (has_missing) {
            const Single::Int is_value = widen(code + i) != (missing_code ^ sign_bit);
            const Real m = __builtin_convertvector(widen(missing.all + lane + i), Real);
            const Real mp = __builtin_convertvector(widen(missing.positive + lane + i), Real);
            offer(0, is_value ? scorer.score(r, rp) : Real{} - 1);
            offer(1, is_value ? scorer.score(r - m, rp - mp) : Real{} - 1);
          } else {
            offer(0, scorer.score(r, rp));
          }
        }
      }
    }
  };
  // Most nodes are small: of two thresholds, no four are tried.
  for (std::int32_t first = 0; first < search.n_thresholds; first += 4)
    if (search.n_thresholds - first > 2)
      try_some(std::integral_constant<int, 4>(), first);
    else
      try_some(std::integral_constant<int, 2>(), first);
  return find_best<n_sides>(search, most);
}

// Count rows per bin, then try all bins in order, many features side by side.
template <class P, bool has_missing, bool has_min_leaf>
GroupSplit search_bins_as(const NodeRows& node, Histogram& histogram) {
  using Real = P::Real;
  using Int = P::Int;
  using Count = P::Count;
  const int stride = node.n_lanes;  // not group_lanes: less memory to clear, and to keep in the cache
  auto* negatives = reinterpret_cast<Count*>(histogram.counts[0]);
  auto* positives = reinterpret_cast<Count*>(histogram.counts[1]);
  for (Count* counts : {negatives, positives}) {
    std::memset(counts, 0, sizeof(Count) * static_cast<std::size_t>(stride * node.n_bins));
    if constexpr (has_missing)
      std::memset(counts + missing_code * stride, 0, sizeof(Count) * static_cast<std::size_t>(stride));
  }
  const std::uint8_t* row = node.codes;
  for (std::int32_t i = 0; i < node.n_negative + node.n_positive; ++i, row += group_lanes) {
    Count* counts = i < node.n_negative ? negatives : positives;
    for (int first = 0; first < node.n_lanes; first += used_lanes) {
#pragma GCC unroll 8
      for (int lane = first; lane < first + used_lanes; ++lane) ++counts[row[lane] * stride + lane];
    }
  }

  LaneBest<P, true, has_min_leaf> best(node.n_negative + node.n_positive, node.n_positive, node.min_samples_leaf);
  for (int v = 0; v * P::lanes < node.n_lanes; ++v) {
    const auto read = [&](const Count* counts, int code) { return read_counts(counts + code * stride + v * P::lanes); };
    Real left{}, left_positive{}, missing{}, missing_positive{};
    if constexpr (has_missing) {
      missing_positive = read(positives, missing_code);
      missing = missing_positive + read(negatives, missing_code);
    }
    for (int bin = 0; bin < node.n_bins; ++bin) {
      const Real here_positive = read(positives, bin);
      left_positive += here_positive;
      left += here_positive + read(negatives, bin);
      const Int code = Int{} + 2 * bin;
      best.offer(v, left, left_positive, code);
      // Only missing values on the left is the same split as only these on the right, which is offered elsewhere.
      if constexpr (has_missing) best.offer(v, left + missing, left_positive + missing_positive, code + 1, left > 0);
    }
  }
  return best.reduce();
}

// Call search(has_missing, has_min_leaf) with the node's two as constants.
template <class Search>
inline GroupSplit with_constants(const NodeRows& node, Search search) {
  constexpr std::bool_constant<true> yes;
  constexpr std::bool_constant<false> no;
  if (node.min_samples_leaf > 1) return node.has_missing ? search(yes, yes) : search(no, yes);
  return node.has_missing ? search(yes, no) : search(no, no);
}

GroupSplit search_pairs(const NodeRows& node, Histogram& histogram) {
  return with_constants(
      node, [&](auto missing, auto min_leaf) { return search_pairs_as<missing, min_leaf>(node, histogram); });
}

GroupSplit search_bins(const NodeRows& node, Histogram& histogram) {
  return with_constants(node, [&](auto missing, auto min_leaf) {
    return node.n_negative + node.n_positive <= max_single_rows
               ? search_bins_as<Single, missing, min_leaf>(node, histogram)
               : search_bins_as<Double, missing, min_leaf>(node, histogram);
  });
}

CodeRange find_code_range(const std::uint8_t* codes, std::int32_t n_rows, int n_lanes) {
  ByteVector highest[byte_vectors] = {}, n_bins[byte_vectors] = {};
  for (std::int32_t i = 0; i < n_rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < byte_vectors; ++v) {
      const auto code = load<ByteVector>(codes + i * group_lanes + v * vector_bytes);
      const ByteVector next = code + 1;  // 0 for a missing value
      highest[v] = code > highest[v] ? code : highest[v];
      n_bins[v] = next > n_bins[v] ? next : n_bins[v];
    }
  }
  CodeRange range{1, false};
  for (int i = 0; i < n_lanes; ++i) {
    const int bins = n_bins[i / vector_bytes][i % vector_bytes];
    range.n_bins = bins > range.n_bins ? bins : range.n_bins;
    range.has_missing |= highest[i / vector_bytes][i % vector_bytes] == missing_code;
  }
  return range;
}

Neighbours find_neighbours(const std::uint8_t* codes, std::int32_t n, std::uint8_t bin) {
  ByteVector last{}, next = ~ByteVector{}, highest{};
  for (std::int32_t i = 0; i < n; i += vector_bytes) {
    const auto code = load<ByteVector>(codes + i);
    const ByteVector below = code <= bin ? code : ByteVector{}, above = code > bin ? code : ~ByteVector{};
    last = below > last ? below : last;
    next = above < next ? above : next;
    highest = code > highest ? code : highest;
  }
  return {fold(last, greater_of), fold(next, lesser_of), fold(highest, greater_of) == missing_code};
}
