// The inner loops, written once with the compiler's vector types and compiled once per instruction set
// (kernels_portable.cpp, kernels_avx2.cpp). Only raw memory in here: a library template compiled with
// AVX2 could be linked into code that must run without it.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace mpboost {
namespace MPBOOST_ISA {
namespace {

#ifdef __AVX2__
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;  // what every processor of today has
#endif

template <class V>
inline V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof(V));
  return v;
}

// 32 codes, in as many vectors as they take.
using ByteVector [[gnu::vector_size(vector_bytes)]] = std::uint8_t;
inline constexpr int byte_vectors = group_lanes / vector_bytes;

// Floating-point lanes in which the scores of a node are computed. Counts are exact in both; single
// precision serves nodes of up to 4096 rows, where D is below 2^24.
struct Single {
  using Scalar = float;
  using Real [[gnu::vector_size(vector_bytes)]] = float;
  using Int [[gnu::vector_size(vector_bytes)]] = std::int32_t;
  using Count = std::uint16_t;
  static constexpr int lanes = vector_bytes / 4;
  static constexpr int n_vectors = group_lanes / lanes;
};
struct Double {
  using Scalar = double;
  using Real [[gnu::vector_size(vector_bytes)]] = double;
  using Int [[gnu::vector_size(vector_bytes)]] = std::int64_t;
  using Count = std::int32_t;
  static constexpr int lanes = vector_bytes / 8;
  static constexpr int n_vectors = group_lanes / lanes;
};
inline constexpr std::int32_t max_single_rows = 4096;

// A vector of small numbers from memory.
#ifdef __AVX2__
inline Single::Int widen(const std::uint8_t* from) {
  return reinterpret_cast<Single::Int>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
inline Single::Real read_counts(const std::uint16_t* from) {
  const __m256i counts = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return __builtin_convertvector(reinterpret_cast<Single::Int>(counts), Single::Real);
}
#else
using u8x16 [[gnu::vector_size(16)]] = std::uint8_t;
using u16x8 [[gnu::vector_size(16)]] = std::uint16_t;
inline Single::Int widen_low(u16x8 v) {  // interleaving with zeros doubles the width
  return reinterpret_cast<Single::Int>(__builtin_shufflevector(v, u16x8{}, 0, 8, 1, 9, 2, 10, 3, 11));
}
inline Single::Int widen(const std::uint8_t* from) {
  const auto v = reinterpret_cast<u8x16>(Single::Int{load<std::int32_t>(from), 0, 0, 0});
  return widen_low(reinterpret_cast<u16x8>(
      __builtin_shufflevector(v, u8x16{}, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)));
}
inline Single::Real read_counts(const std::uint16_t* from) {
  const auto v = reinterpret_cast<u16x8>(Double::Int{load<std::int64_t>(from), 0});
  return __builtin_convertvector(widen_low(v), Single::Real);
}
#endif
inline Double::Real read_counts(const std::int32_t* from) {
  using Counts [[gnu::vector_size(vector_bytes / 2)]] = std::int32_t;
  return __builtin_convertvector(load<Counts>(from), Double::Real);
}

// The best split of each lane so far. Of equal scores the lowest code wins: where codes are not offered
// in ascending order they have to be compared. A split that leaves one side empty has score 0 / 0, which never compares
// as better, so min_samples_leaf needs a look only when it is more than one.
template <class P, bool is_ordered, bool has_min_leaf>
struct LaneBest {
  using Real = typename P::Real;
  using Int = typename P::Int;
  Real n, positive, min_leaf;
  Real score[P::n_vectors];
  Int code[P::n_vectors];  // 2 * bin + missing_left

  explicit LaneBest(const NodeRows& node) {
    using Scalar = typename P::Scalar;
    n = Real{} + static_cast<Scalar>(node.n_negative + node.n_positive);
    positive = Real{} + static_cast<Scalar>(node.n_positive);
    min_leaf = Real{} + static_cast<Scalar>(node.min_samples_leaf);
    for (int v = 0; v < P::n_vectors; ++v) {
      score[v] = Real{} - 1;
      code[v] = Int{};
    }
  }

  // Offer a split that sends `left` rows to the left, `left_positive` of them positive.
  inline void offer(int v, Real left, Real left_positive, Int split_code, Int allowed = ~Int{}) {
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

  // How many of some rows have codes of at most the thresholds', lane by lane.
  inline void count_up_to(const std::uint8_t* rows, std::int32_t n, ByteVector (&counts)[size]) const {
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

// How many rows of a node miss the value, lane by lane: of both classes, and of the positive one.
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

// Every row's codes are tried as thresholds: quadratic in rows, but for all features at a time, without
// sorting, counting bins or branching. Counts fit in bytes.
template <bool has_missing, bool has_min_leaf>
GroupSplit search_pairs_as(const NodeRows& node) {
  using Real = Single::Real;
  const std::int32_t n = node.n_negative + node.n_positive;
  const std::uint8_t* positives = node.codes + node.n_negative * group_lanes;
  MissingCounts missing;
  if constexpr (has_missing) missing.count(node);

  LaneBest<Single, false, has_min_leaf> best(node);
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

// Rows are counted per bin, then all bins are tried in order, many features side by side.
template <class P, bool has_missing, bool has_min_leaf>
GroupSplit search_bins_as(const NodeRows& node, Histogram& histogram) {
  using Real = typename P::Real;
  using Int = typename P::Int;
  using Count = typename P::Count;
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

  LaneBest<P, true, has_min_leaf> best(node);
  for (int v = 0; v < P::n_vectors; ++v) {
    const auto read = [&](const Count* counts, int code) { return read_counts(counts + code * group_lanes + v * P::lanes); };
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
      // Nothing but missing values on the left would be the mirror of nothing but these on the right.
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

void log_exponential(double* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = log_positive(-log_positive(values[i]));
}

// Compares codes with the threshold of a split. Where no split of a tree sends missing values left, nothing is shifted.
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
    std::uint64_t mask = 0;
    for (int i = 0; i < 64; i += 8)  // eight bytes of 0 or 1 to eight bits by one multiplication
      mask |= (load<std::uint64_t>(left + i) * 0x0102040810204080ULL) >> 56 << i;
    return mask;
  }

 private:
  std::uint8_t shift_, last_left_;
#endif
};

// Few enough rows below a large enough split to walk them down one by one.
inline constexpr std::int32_t min_walk_splits = 32;
inline constexpr int max_walk_rows = 2;

// The slot of the leaf that a row reaches from split k.
inline std::uint32_t walk_row(const Sweep& sweep, std::int32_t k, std::int64_t row) {
  const auto n_splits = static_cast<std::uint32_t>(sweep.n_splits);
  auto slot = static_cast<std::uint32_t>(k);
  while (slot < n_splits) {
    const SweepSplit& split = sweep.splits[slot];
    const auto code = static_cast<std::uint8_t>(split.column[row] + split.shift);
    slot = code <= split.last_left ? split.left_slot : split.right_slot;
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

// Go through the splits in preorder with a mask of the rows that are in each: no branch depends
// on the data, except that large subtrees with few rows are left out or walked row by row.
template <bool is_shifted>
void sweep_block_as(const Sweep& sweep, std::int64_t row) {
  const std::int32_t n_splits = sweep.n_splits;
  const SweepSplit* splits = sweep.splits;
  std::uint64_t* masks = sweep.masks;
  for (int word = 0; word < mask_words; ++word) masks[word] = ~std::uint64_t{0};
  for (std::int32_t k = 0; k < n_splits; ++k) {
    const SweepSplit& split = splits[k];
    const std::uint64_t* mask = masks + k * mask_words;
    if (split.next - k >= min_walk_splits) {
      int n_rows = 0;
      for (int word = 0; word < mask_words; ++word) n_rows += __builtin_popcountll(mask[word]);
      if (n_rows <= max_walk_rows) {
        walk_rows(sweep, k, row);
        k = split.next - 1;
        continue;
      }
    }
    const Comparison<is_shifted> comparison(split);
    for (int word = 0; word < mask_words; ++word) {
      const std::uint64_t rows = mask[word];
      const std::uint64_t left = comparison.goes_left(split.column + row + 64 * word);
      masks[split.left_slot * mask_words + static_cast<std::uint32_t>(word)] = rows & left;
      masks[split.right_slot * mask_words + static_cast<std::uint32_t>(word)] = rows & ~left;
    }
  }
}

void sweep_block(const Sweep& sweep, std::int64_t row) {
  sweep.is_shifted ? sweep_block_as<true>(sweep, row) : sweep_block_as<false>(sweep, row);
}

}  // namespace
}  // namespace MPBOOST_ISA
}  // namespace mpboost
