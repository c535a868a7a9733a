// The inner loops, written once with the compiler's vector types and compiled once per instruction set
// (kernels_portable.cpp, kernels_avx2.cpp). Only raw memory in here: a library template compiled with
// AVX2 could be linked into code that must run without it.

#include <cstdint>
#include <cstring>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace mpboost {
namespace MPBOOST_ISA {
namespace {

using u8x32 [[gnu::vector_size(32)]] = std::uint8_t;
using u8x8 [[gnu::vector_size(8)]] = std::uint8_t;
using u16x8 [[gnu::vector_size(16)]] = std::uint16_t;
using i32x4 [[gnu::vector_size(16)]] = std::int32_t;
using i32x8 [[gnu::vector_size(32)]] = std::int32_t;
using f32x8 [[gnu::vector_size(32)]] = float;
using i64x4 [[gnu::vector_size(32)]] = std::int64_t;
using f64x4 [[gnu::vector_size(32)]] = double;

template <class V>
inline V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}

// Floating-point lanes in which the scores of a node are computed. Counts are exact in both; single
// precision serves nodes of up to 4096 rows, where D is below 2^24.
struct Single {
  using Scalar = float;
  using Real = f32x8;
  using Int = i32x8;
  using Count = std::uint16_t;
  using Counts = u16x8;
  static constexpr int lanes = 8;
  static Real real(Counts counts) { return __builtin_convertvector(__builtin_convertvector(counts, Int), Real); }
};
struct Double {
  using Scalar = double;
  using Real = f64x4;
  using Int = i64x4;
  using Count = std::int32_t;
  using Counts = i32x4;
  static constexpr int lanes = 4;
  static Real real(Counts counts) { return __builtin_convertvector(counts, Real); }
};
inline constexpr std::int32_t max_single_rows = 4096;

// The best split of each lane so far.
template <class P>
struct LaneBest {
  using Real = typename P::Real;
  using Int = typename P::Int;
  static constexpr int n_vectors = group_lanes / P::lanes;
  Real score[n_vectors];
  Int code[n_vectors];  // 2 * bin + missing_left

  LaneBest() {
    for (int v = 0; v < n_vectors; ++v) {
      score[v] = Real{} - 1;
      code[v] = Int{};
    }
  }

  // Offer a split that sends `left` rows to the left, `left_positive` of them positive.
  inline void offer(int v, Real left, Real left_positive, Int split_code, Int allowed, Real n, Real positive,
                    Real min_leaf) {
    const Real right = n - left;
    const Real d = left_positive * n - left * positive;
    const Real s = d * d / (left * right);
    const Int better = ((s > score[v]) | ((s == score[v]) & (split_code < code[v]))) & (left >= min_leaf) &
                       (right >= min_leaf) & allowed;
    score[v] = better ? s : score[v];
    code[v] = better ? split_code : code[v];
  }

  GroupSplit reduce() const {
    GroupSplit best;
    for (int v = 0; v < n_vectors; ++v) {
      for (int i = 0; i < P::lanes; ++i) {
        if (static_cast<double>(score[v][i]) > best.score) {
          best.score = static_cast<double>(score[v][i]);
          best.lane = v * P::lanes + i;
          best.bin = static_cast<std::uint8_t>(code[v][i] / 2);
          best.missing_left = static_cast<std::uint8_t>(code[v][i] % 2);
        }
      }
    }
    return best;
  }
};

inline i32x8 widen(const std::uint8_t* bytes) {
#ifdef __AVX2__
  return reinterpret_cast<i32x8>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes))));
#else
  return __builtin_convertvector(load<u8x8>(bytes), i32x8);
#endif
}

// How many rows have codes of at most those of each of four rows, lane by lane.
inline void count_up_to(const std::uint8_t* rows, std::int32_t n, const u8x32 (&threshold)[4], u8x32 (&count)[4]) {
  u8x32 c0{}, c1{}, c2{}, c3{};
  for (std::int32_t i = 0; i < n; ++i) {
    const auto x = load<u8x32>(rows + i * group_lanes);
    c0 -= reinterpret_cast<u8x32>(x <= threshold[0]);
    c1 -= reinterpret_cast<u8x32>(x <= threshold[1]);
    c2 -= reinterpret_cast<u8x32>(x <= threshold[2]);
    c3 -= reinterpret_cast<u8x32>(x <= threshold[3]);
  }
  count[0] = c0;
  count[1] = c1;
  count[2] = c2;
  count[3] = c3;
}

// Every row's codes are tried as thresholds: quadratic in rows, but 32 features at a time, without
// sorting, counting bins or branching. Counts fit in bytes.
template <bool with_missing>
GroupSplit search_pairs_as(const NodeRows& node) {
  const std::int32_t n = node.n_negative + node.n_positive;
  const std::uint8_t* positives = node.codes + node.n_negative * group_lanes;
  const f32x8 n_rows = f32x8{} + static_cast<float>(n);
  const f32x8 positive = f32x8{} + static_cast<float>(node.n_positive);
  const f32x8 min_leaf = f32x8{} + static_cast<float>(node.min_samples_leaf);

  alignas(32) std::uint8_t missing[2][group_lanes] = {};  // of both classes; of the positive one
  if constexpr (with_missing) {
    for (std::int32_t i = 0; i < n; ++i) {
      for (int lane = 0; lane < group_lanes; ++lane) {
        const bool is_missing = node.codes[i * group_lanes + lane] == missing_code;
        missing[0][lane] = static_cast<std::uint8_t>(missing[0][lane] + is_missing);
        missing[1][lane] = static_cast<std::uint8_t>(missing[1][lane] + (is_missing && i >= node.n_negative));
      }
    }
  }

  LaneBest<Single> best;
  for (std::int32_t first = 0; first < n; first += 4) {
    u8x32 threshold[4], negatives_left[4], positives_left[4];
    for (int k = 0; k < 4; ++k) {
      const std::int32_t row = first + k < n ? first + k : n - 1;
      threshold[k] = load<u8x32>(node.codes + row * group_lanes);
    }
    count_up_to(node.codes, node.n_negative, threshold, negatives_left);
    count_up_to(positives, node.n_positive, threshold, positives_left);
    for (int k = 0; k < 4; ++k) {
      alignas(32) std::uint8_t bin[group_lanes], left[group_lanes], left_positive[group_lanes];
      const u8x32 both = negatives_left[k] + positives_left[k];
      std::memcpy(bin, &threshold[k], sizeof bin);
      std::memcpy(left, &both, sizeof left);
      std::memcpy(left_positive, &positives_left[k], sizeof left_positive);
      for (int v = 0; v < LaneBest<Single>::n_vectors; ++v) {
        const i32x8 code = widen(bin + 8 * v) * 2;
        const auto l = __builtin_convertvector(widen(left + 8 * v), f32x8);
        const auto lp = __builtin_convertvector(widen(left_positive + 8 * v), f32x8);
        if constexpr (with_missing) {
          const i32x8 allowed = code != 2 * missing_code;
          const auto ml = __builtin_convertvector(widen(missing[0] + 8 * v), f32x8);
          const auto mp = __builtin_convertvector(widen(missing[1] + 8 * v), f32x8);
          best.offer(v, l, lp, code, allowed, n_rows, positive, min_leaf);
          best.offer(v, l + ml, lp + mp, code + 1, allowed, n_rows, positive, min_leaf);
        } else {
          best.offer(v, l, lp, code, ~i32x8{}, n_rows, positive, min_leaf);
        }
      }
    }
  }
  return best.reduce();
}

GroupSplit search_pairs(const NodeRows& node) {
  return node.has_missing ? search_pairs_as<true>(node) : search_pairs_as<false>(node);
}

// Rows are counted per bin, then all bins are tried in order, 32 features side by side.
template <class P, bool with_missing>
GroupSplit search_bins_as(const NodeRows& node, Histogram& histogram) {
  using Real = typename P::Real;
  using Int = typename P::Int;
  using Scalar = typename P::Scalar;
  using Count = typename P::Count;
  const std::int32_t n = node.n_negative + node.n_positive;
  auto* negatives = reinterpret_cast<Count*>(histogram.counts[0]);
  auto* positives = reinterpret_cast<Count*>(histogram.counts[1]);
  for (Count* counts : {negatives, positives}) {
    std::memset(counts, 0, sizeof(Count) * group_lanes * static_cast<std::size_t>(node.n_bins));
    if constexpr (with_missing) std::memset(counts + missing_code * group_lanes, 0, sizeof(Count) * group_lanes);
  }
  const std::uint8_t* row = node.codes;
  for (std::int32_t i = 0; i < n; ++i, row += group_lanes) {
    Count* counts = i < node.n_negative ? negatives : positives;
    for (int lane = 0; lane < group_lanes; ++lane) ++counts[row[lane] * group_lanes + lane];
  }

  const auto read = [](const Count* counts, int code, int v) {
    return P::real(load<typename P::Counts>(counts + code * group_lanes + v * P::lanes));
  };
  const Real n_rows = Real{} + static_cast<Scalar>(n);
  const Real positive = Real{} + static_cast<Scalar>(node.n_positive);
  const Real min_leaf = Real{} + static_cast<Scalar>(node.min_samples_leaf);
  LaneBest<P> best;
  for (int v = 0; v < LaneBest<P>::n_vectors; ++v) {
    Real left{}, left_positive{}, missing{}, missing_positive{};
    if constexpr (with_missing) {
      missing_positive = read(positives, missing_code, v);
      missing = missing_positive + read(negatives, missing_code, v);
    }
    for (int bin = 0; bin < node.n_bins; ++bin) {
      const Real here_positive = read(positives, bin, v);
      left_positive += here_positive;
      left += here_positive + read(negatives, bin, v);
      const Int code = Int{} + 2 * bin;
      best.offer(v, left, left_positive, code, ~Int{}, n_rows, positive, min_leaf);
      if constexpr (with_missing)
        best.offer(v, left + missing, left_positive + missing_positive, code + 1, ~Int{}, n_rows, positive, min_leaf);
    }
  }
  return best.reduce();
}

GroupSplit search_bins(const NodeRows& node, Histogram& histogram) {
  if (node.n_negative + node.n_positive <= max_single_rows) {
    return node.has_missing ? search_bins_as<Single, true>(node, histogram)
                            : search_bins_as<Single, false>(node, histogram);
  }
  return node.has_missing ? search_bins_as<Double, true>(node, histogram)
                          : search_bins_as<Double, false>(node, histogram);
}

// A bit for each of 64 codes: set when the code, shifted, is at most `last`.
inline std::uint64_t compare_block(const std::uint8_t* codes, std::uint8_t shift, std::uint8_t last) {
#ifdef __AVX2__
  const __m256i add = _mm256_set1_epi8(static_cast<char>(shift));
  const __m256i limit = _mm256_set1_epi8(static_cast<char>(last));
  const auto half = [&](const std::uint8_t* from) {
    const __m256i x = _mm256_add_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)), add);
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(x, limit), x)));
  };
  return half(codes) | static_cast<std::uint64_t>(half(codes + 32)) << 32;
#else
  std::uint8_t left[block_rows];
  for (int i = 0; i < block_rows; ++i) left[i] = static_cast<std::uint8_t>(codes[i] + shift) <= last;
  std::uint64_t mask = 0;
  for (int i = 0; i < block_rows; i += 8)  // eight bytes of 0 or 1 to eight bits by one multiplication
    mask |= (load<std::uint64_t>(left + i) * 0x0102040810204080ULL) >> 56 << i;
  return mask;
#endif
}

// Few enough rows below a large enough split to walk them down one by one.
inline constexpr std::int32_t min_walk_splits = 16;
inline constexpr std::int32_t max_walk_rows = 2;

// The slot of the leaf that a row reaches from split k.
inline std::uint32_t walk_row(const Sweep& sweep, std::int32_t k, std::int64_t row) {
  const auto n_splits = static_cast<std::uint32_t>(sweep.splits.size());
  auto slot = static_cast<std::uint32_t>(k);
  while (slot < n_splits) {
    const SweepSplit& split = sweep.splits[slot];
    const auto code = static_cast<std::uint8_t>(split.column[row] + split.shift);
    slot = code <= split.last_left ? split.left_slot : split.right_slot;
  }
  return slot;
}

// Go through the splits in preorder with a mask of the rows that are in each: no branch depends
// on the data, except that large subtrees with few rows are left out or walked row by row.
void sweep_block(const Sweep& sweep, std::int64_t row) {
  const auto n_splits = static_cast<std::int32_t>(sweep.splits.size());
  std::uint64_t* masks = sweep.masks;
  masks[0] = ~std::uint64_t{0};
  for (std::int32_t k = 0; k < n_splits; ++k) {
    const SweepSplit& split = sweep.splits[static_cast<std::size_t>(k)];
    const std::uint64_t mask = masks[k];
    if (split.next - k >= min_walk_splits && __builtin_popcountll(mask) <= max_walk_rows) {
      std::memset(masks + n_splits + split.leaf_begin, 0,
                  sizeof(std::uint64_t) * static_cast<std::size_t>(split.leaf_end - split.leaf_begin));
      for (std::uint64_t rest = mask; rest; rest &= rest - 1)
        masks[walk_row(sweep, k, row + __builtin_ctzll(rest))] |= rest & (0 - rest);
      k = split.next - 1;
      continue;
    }
    const std::uint64_t left = compare_block(split.column + row, split.shift, split.last_left);
    masks[split.left_slot] = mask & left;
    masks[split.right_slot] = mask & ~left;
  }
}

}  // namespace
}  // namespace MPBOOST_ISA
}  // namespace mpboost
