// Part of kernels_isa.inl: the best split of the rows of a node when rows have weights. Weights are whole numbers and
// add up to less than 2^31, so that sums are exact and a side without rows weighs nothing.

// Weights of the rows that go left, lane by lane; rows are counted only if min_samples_leaf is more than one.
struct LaneSums {
  Single::Int all[Single::n_vectors] = {};
  Single::Int positive[Single::n_vectors] = {};
  Single::Int rows[Single::n_vectors] = {};
};

// Codes of rows, widened to the integers that hold the codes of splits.
inline Double::Int read_codes(const std::uint8_t* from) {
  using Bytes [[gnu::vector_size(Double::lanes)]] = std::uint8_t;
  return __builtin_convertvector(load<Bytes>(from), Double::Int);
}

template <bool is_ordered, bool has_min_leaf>
struct WeightedBest {
  using Real = Double::Real;
  using Int = Double::Int;
  LaneBest<Double, is_ordered, false> best;
  Real n_rows, min_leaf;

  explicit WeightedBest(const NodeRows& node)
      : best(node.weight, node.positive_weight, 1),
        n_rows(Real{} + static_cast<double>(node.n_negative + node.n_positive)),
        min_leaf(Real{} + static_cast<double>(node.min_samples_leaf)) {}

  void offer(int v, Real left, Real left_positive, Real left_rows, Int code, Int allowed) {
    if constexpr (has_min_leaf) allowed &= (left_rows >= min_leaf) & (n_rows - left_rows >= min_leaf);
    best.offer(v, left, left_positive, code, allowed);
  }
};

// Add the rows whose codes are at most the threshold's, or with `is_equal` just those with the same codes.
template <bool is_equal, bool has_min_leaf>
inline void add_rows(const std::uint8_t* codes, const std::int32_t* weights, std::int32_t n,
                     const Single::Int (&threshold)[Single::n_vectors], Single::Int (&sums)[Single::n_vectors],
                     Single::Int (&rows)[Single::n_vectors]) {
  for (std::int32_t i = 0; i < n; ++i, codes += group_lanes) {
    const Single::Int weight = Single::Int{} + weights[i];
    for (int v = 0; v < Single::n_vectors; ++v) {
      const Single::Int code = widen(codes + v * Single::lanes);
      const Single::Int counts = is_equal ? code == threshold[v] : code <= threshold[v];  // 0 or -1
      sums[v] += counts & weight;
      if constexpr (has_min_leaf) rows[v] -= counts;
    }
  }
}

template <bool is_equal, bool has_min_leaf>
inline LaneSums sum_rows(const NodeRows& node, const std::uint8_t* threshold_codes) {
  LaneSums sums;
  Single::Int threshold[Single::n_vectors];
  for (int v = 0; v < Single::n_vectors; ++v) threshold[v] = widen(threshold_codes + v * Single::lanes);
  const std::uint8_t* positives = node.codes + static_cast<std::size_t>(node.n_negative) * group_lanes;
  add_rows<is_equal, has_min_leaf>(node.codes, node.weights, node.n_negative, threshold, sums.all, sums.rows);
  add_rows<is_equal, has_min_leaf>(positives, node.weights + node.n_negative, node.n_positive, threshold, sums.positive,
                                   sums.rows);
  for (int v = 0; v < Single::n_vectors; ++v) sums.all[v] += sums.positive[v];
  return sums;
}

template <bool has_missing, bool has_min_leaf>
GroupSplit search_weighted_pairs_as(const NodeRows& node) {
  LaneSums missing;
  if constexpr (has_missing) {
    std::uint8_t code[group_lanes];
    std::memset(code, missing_code, sizeof code);
    missing = sum_rows<true, has_min_leaf>(node, code);
  }
  WeightedBest<false, has_min_leaf> best(node);
  for (std::int32_t row = 0; row < node.n_negative + node.n_positive; ++row) {
    const std::uint8_t* threshold = node.codes + row * group_lanes;
    const LaneSums left = sum_rows<false, has_min_leaf>(node, threshold);
    for (int v = 0; v * Double::lanes < node.n_lanes; ++v) {
      const int lane = v * Double::lanes;
      const auto read = [=](const Single::Int* sums) {
        return read_counts(reinterpret_cast<const std::int32_t*>(sums) + lane);
      };
      const Double::Int code = read_codes(threshold + lane) * 2;
      const Double::Int allowed = has_missing ? code != 2 * missing_code : ~Double::Int{};
      best.offer(v, read(left.all), read(left.positive), read(left.rows), code, allowed);
      if constexpr (has_missing)
        best.offer(v, read(left.all) + read(missing.all), read(left.positive) + read(missing.positive),
                   read(left.rows) + read(missing.rows), code + 1, allowed);
    }
  }
  return best.best.reduce();
}

template <bool has_missing, bool has_min_leaf>
GroupSplit search_weighted_bins_as(const NodeRows& node, Histogram& histogram) {
  using Real = Double::Real;
  std::int32_t* sums[] = {reinterpret_cast<std::int32_t*>(histogram.counts[0]),
                          reinterpret_cast<std::int32_t*>(histogram.counts[1]),
                          reinterpret_cast<std::int32_t*>(histogram.counts[2])};
  for (std::int32_t* bins : sums) {
    std::memset(bins, 0, sizeof(std::int32_t) * group_lanes * static_cast<std::size_t>(node.n_bins));
    if constexpr (has_missing) std::memset(bins + missing_code * group_lanes, 0, sizeof(std::int32_t) * group_lanes);
  }
  const std::uint8_t* row = node.codes;
  for (std::int32_t i = 0; i < node.n_negative + node.n_positive; ++i, row += group_lanes) {
    std::int32_t* bins = i < node.n_negative ? sums[0] : sums[1];
    const std::int32_t weight = node.weights[i];
    for (int first = 0; first < node.n_lanes; first += used_lanes) {
#pragma GCC unroll 8
      for (int lane = first; lane < first + used_lanes; ++lane) {
        bins[row[lane] * group_lanes + lane] += weight;
        if constexpr (has_min_leaf) ++sums[2][row[lane] * group_lanes + lane];
      }
    }
  }

  WeightedBest<true, has_min_leaf> best(node);
  for (int v = 0; v * Double::lanes < node.n_lanes; ++v) {
    const auto read = [&](int which, int code) {
      return read_counts(sums[which] + code * group_lanes + v * Double::lanes);
    };
    Real left{}, left_positive{}, left_rows{}, missing{}, missing_positive{}, missing_rows{};
    if constexpr (has_missing) {
      missing_positive = read(1, missing_code);
      missing = missing_positive + read(0, missing_code);
      missing_rows = read(2, missing_code);
    }
    for (int bin = 0; bin < node.n_bins; ++bin) {
      const Real here_positive = read(1, bin);
      left_positive += here_positive;
      left += here_positive + read(0, bin);
      if constexpr (has_min_leaf) left_rows += read(2, bin);
      const Double::Int code = Double::Int{} + 2 * bin;
      best.offer(v, left, left_positive, left_rows, code, ~Double::Int{});
      if constexpr (has_missing)
        best.offer(v, left + missing, left_positive + missing_positive, left_rows + missing_rows, code + 1, left > 0);
    }
  }
  return best.best.reduce();
}

GroupSplit search_weighted_pairs(const NodeRows& node) {
  return with_constants(node,
                        [&](auto missing, auto min_leaf) { return search_weighted_pairs_as<missing, min_leaf>(node); });
}

GroupSplit search_weighted_bins(const NodeRows& node, Histogram& histogram) {
  return with_constants(
      node, [&](auto missing, auto min_leaf) { return search_weighted_bins_as<missing, min_leaf>(node, histogram); });
}
