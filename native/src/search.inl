// Part of kernels_isa.inl: the best split of the rows of a node.

// The best split of each lane so far. Of equal scores the lowest code wins: where codes are not offered in ascending
// order, they have to be compared. A split that leaves one side empty has score 0 / 0, which never compares as better,
// so min_samples_leaf is checked only if it is more than one.
template <class P, bool is_ordered, bool has_min_leaf>
struct LaneBest {
  using Real = P::Real;
  using Int = P::Int;
  Real n, positive, min_leaf;
  Real score[P::n_vectors];
  Int code[P::n_vectors];  // 2 * bin + missing_left

  LaneBest(std::int64_t n_all, std::int64_t n_positive, std::int32_t min_samples_leaf) {
    using Scalar = P::Scalar;
    n = Real{} + static_cast<Scalar>(n_all);
    positive = Real{} + static_cast<Scalar>(n_positive);
    min_leaf = Real{} + static_cast<Scalar>(min_samples_leaf);
    for (int v = 0; v < P::n_vectors; ++v) {
      score[v] = Real{} - 1;
      code[v] = Int{};
    }
  }

  // Offer a split that sends `left` rows to the left, `left_positive` of them positive.
  void offer(int v, Real left, Real left_positive, Int split_code, Int allowed = ~Int{}) {
    const Real right = n - left;
    const Real d = left_positive * n - left * positive;
    const Real s = d * d / (left * right);
    Int better = s > score[v];
    if constexpr (!is_ordered) better |= (s == score[v]) & (split_code < code[v]);
    if constexpr (has_min_leaf) better &= (left >= min_leaf) & (right >= min_leaf);
    better &= allowed;
    score[v] = better ? s : score[v];
    code[v] = better ? split_code : code[v];
  }

  GroupSplit reduce() const {
    Real top = score[0];
    for (int v = 1; v < P::n_vectors; ++v) top = score[v] > top ? score[v] : top;
    auto most = top[0];
    for (int i = 1; i < P::lanes; ++i) most = top[i] > most ? top[i] : most;
    GroupSplit best;
    if (most < 0) return best;
    typename P::Scalar scores[group_lanes];
    std::memcpy(scores, score, sizeof scores);
    int lane = 0;
    while (scores[lane] != most) ++lane;
    const auto split_code = code[lane / P::lanes][lane % P::lanes];
    return {static_cast<double>(most), lane, static_cast<std::uint8_t>(split_code / 2),
            static_cast<std::uint8_t>(split_code % 2)};
  }
};

// Four rows of a node, tried as thresholds together.
struct Thresholds {
  static constexpr int size = 4;
  ByteVector codes[size];

  // Count the rows whose codes are at most those of each threshold, lane by lane.
  void count_up_to(const std::uint8_t* rows, std::int32_t n, ByteVector (&counts)[size]) const {
    ByteVector c0{}, c1{}, c2{}, c3{};
    for (std::int32_t i = 0; i < n; ++i) {
      const auto x = load<ByteVector>(rows + i * group_lanes);
      c0 -= reinterpret_cast<ByteVector>(x <= codes[0]);
      c1 -= reinterpret_cast<ByteVector>(x <= codes[1]);
      c2 -= reinterpret_cast<ByteVector>(x <= codes[2]);
      c3 -= reinterpret_cast<ByteVector>(x <= codes[3]);
    }
    counts[0] = c0;
    counts[1] = c1;
    counts[2] = c2;
    counts[3] = c3;
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

// Try the codes of every row as thresholds: quadratic in rows, but for all features at a time, without sorting,
// counting bins or branching. Counts fit in bytes.
template <bool has_missing, bool has_min_leaf>
GroupSplit search_pairs_as(const NodeRows& node) {
  using Real = Single::Real;
  const std::int32_t n = node.n_negative + node.n_positive;
  const std::uint8_t* positives = node.codes + node.n_negative * group_lanes;
  MissingCounts missing;
  if constexpr (has_missing) missing.count(node);

  LaneBest<Single, false, has_min_leaf> best(n, node.n_positive, node.min_samples_leaf);
  for (std::int32_t first = 0; first < n; first += Thresholds::size) {
    for (int half = 0; half < byte_vectors; ++half) {
      const int lane = half * vector_bytes;
      Thresholds thresholds;
      for (int k = 0; k < Thresholds::size; ++k) {
        const std::int32_t row = first + k < n ? first + k : n - 1;
        thresholds.codes[k] = load<ByteVector>(node.codes + row * group_lanes + lane);
      }
      ByteVector negatives_left[Thresholds::size], positives_left[Thresholds::size];
      thresholds.count_up_to(node.codes + lane, node.n_negative, negatives_left);
      thresholds.count_up_to(positives + lane, node.n_positive, positives_left);
      for (int k = 0; k < Thresholds::size; ++k) {
        alignas(32) std::uint8_t bin[vector_bytes], left[vector_bytes], left_positive[vector_bytes];
        const ByteVector both = negatives_left[k] + positives_left[k];
        std::memcpy(bin, &thresholds.codes[k], vector_bytes);
        std::memcpy(left, &both, vector_bytes);
        std::memcpy(left_positive, &positives_left[k], vector_bytes);
        for (int i = 0; i < vector_bytes; i += Single::lanes) {
          const int v = (lane + i) / Single::lanes;
          const Single::Int code = widen(bin + i) * 2;
          const Real l = __builtin_convertvector(widen(left + i), Real);
          const Real lp = __builtin_convertvector(widen(left_positive + i), Real);
          if constexpr (has_missing) {
            const Single::Int allowed = code != 2 * missing_code;
            best.offer(v, l, lp, code, allowed);
            best.offer(v, l + __builtin_convertvector(widen(missing.all + lane + i), Real),
                       lp + __builtin_convertvector(widen(missing.positive + lane + i), Real), code + 1, allowed);
          } else {
            best.offer(v, l, lp, code);
          }
        }
      }
    }
  }
  return best.reduce();
}

// Count rows per bin, then try all bins in order, many features side by side.
template <class P, bool has_missing, bool has_min_leaf>
GroupSplit search_bins_as(const NodeRows& node, Histogram& histogram) {
  using Real = P::Real;
  using Int = P::Int;
  using Count = P::Count;
  auto* negatives = reinterpret_cast<Count*>(histogram.counts[0]);
  auto* positives = reinterpret_cast<Count*>(histogram.counts[1]);
  for (Count* counts : {negatives, positives}) {
    std::memset(counts, 0, sizeof(Count) * group_lanes * static_cast<std::size_t>(node.n_bins));
    if constexpr (has_missing) std::memset(counts + missing_code * group_lanes, 0, sizeof(Count) * group_lanes);
  }
  const std::uint8_t* row = node.codes;
  for (std::int32_t i = 0; i < node.n_negative + node.n_positive; ++i, row += group_lanes) {
    Count* counts = i < node.n_negative ? negatives : positives;
#pragma GCC unroll 32
    for (int lane = 0; lane < group_lanes; ++lane) ++counts[row[lane] * group_lanes + lane];
  }

  LaneBest<P, true, has_min_leaf> best(node.n_negative + node.n_positive, node.n_positive, node.min_samples_leaf);
  for (int v = 0; v < P::n_vectors; ++v) {
    const auto read = [&](const Count* counts, int code) {
      return read_counts(counts + code * group_lanes + v * P::lanes);
    };
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

GroupSplit search_pairs(const NodeRows& node) {
  return with_constants(node, [&](auto missing, auto min_leaf) { return search_pairs_as<missing, min_leaf>(node); });
}

GroupSplit search_bins(const NodeRows& node, Histogram& histogram) {
  return with_constants(node, [&](auto missing, auto min_leaf) {
    return node.n_negative + node.n_positive <= max_single_rows
               ? search_bins_as<Single, missing, min_leaf>(node, histogram)
               : search_bins_as<Double, missing, min_leaf>(node, histogram);
  });
}
