// Part of kernels_isa.inl: the best split of a node of many bins, by counts that are kept for its children.

// The counts of a group of features, which have a type.
template <class Count>
class CountsAs {
 public:
  template <class Counts>
  explicit CountsAs(Counts& counts) : all_(reinterpret_cast<Count*>(counts.memory)) {}

  // Of a lane, or of a block of all lanes.
  Count* bins(int is_positive, int lane) const {
    return all_ + (is_positive * group_lanes + lane) * BinCounts::lane_bins;
  }
  Count* block(int is_positive, int block) const {
    return all_ + BinCounts::n_counts + (is_positive * BinCounts::max_blocks + block) * group_lanes;
  }
  Count* missing(int is_positive) const {
    return all_ + BinCounts::n_counts + BinCounts::n_sums + is_positive * group_lanes;
  }

 private:
  Count* all_;
};

inline bool fit_in_bytes(const NodeRows& node) { return node.n_negative <= 255 && node.n_positive <= 255; }

template <class Count, bool with_blocks>
inline void count_class(const NodeRows& node, const std::int32_t* which, std::int32_t n, Count* counts, Count* blocks) {
  constexpr int lane_bins = BinCounts::lane_bins;
  for (const std::int32_t* place = which; place < which + n; ++place) {
    const std::uint8_t* row = node.codes + std::int64_t{*place} * group_lanes;
    for (int first = 0; first < node.n_lanes; first += used_lanes) {
      Count *of_lanes = counts + lane_bins * first, *of_blocks = blocks + first;
      const std::uint8_t* codes = row + first;  // so that each count takes two instructions
#pragma GCC unroll 8
      for (int lane = 0; lane < used_lanes; ++lane) {
        ++of_lanes[lane_bins * lane + codes[lane]];
        if constexpr (with_blocks) ++of_blocks[codes[lane] / BinCounts::block_bins * group_lanes + lane];
      }
    }
  }
}

// Sums of counts, several of which are in a word.
template <class Count>
struct Words {
  static constexpr int bins = sizeof(std::uint64_t) / sizeof(Count);
  // Times this, each count of a word is the sum of those up to it.
  static constexpr std::uint64_t ones = ~std::uint64_t{} / static_cast<Count>(~Count{});
  static Count last_of(std::uint64_t word) { return static_cast<Count>(word >> (64 - 8 * sizeof(Count))); }
};

template <class Count>
inline void sum_blocks(int n_lanes, const CountsAs<Count>& counts, int is_positive) {
  for (int lane = 0; lane < n_lanes; ++lane)
    for (int b = 0; b < BinCounts::max_blocks; ++b) {
      const Count* bins = counts.bins(is_positive, lane) + b * BinCounts::block_bins;
      std::uint64_t sums = 0;
#pragma GCC unroll 4
      for (int bin = 0; bin < BinCounts::block_bins; bin += Words<Count>::bins) sums += load<std::uint64_t>(bins + bin);
      counts.block(is_positive, b)[lane] = Words<Count>::last_of(sums * Words<Count>::ones);
    }
}

// Blocks of few rows are counted as well, those of many are summed: instructions were counted.
inline constexpr std::int32_t max_block_counts = 60;

template <class Count>
void count_bins_as(const NodeRows& node, const std::int32_t* which, const CountsAs<Count>& counts) {
  for (int is_positive = 0; is_positive < 2; ++is_positive) {
    Count *bins = counts.bins(is_positive, 0), *blocks = counts.block(is_positive, 0);
    Count *last_block = counts.block(is_positive, BinCounts::max_blocks - 1), *missing = counts.missing(is_positive);
    std::memset(bins, 0, sizeof(Count) * static_cast<std::size_t>(BinCounts::lane_bins * node.n_lanes));
    std::memset(blocks, 0, sizeof(Count) * group_lanes * BinCounts::max_blocks);
    const std::int32_t* places = which + (is_positive ? node.n_negative : 0);
    const std::int32_t n = is_positive ? node.n_positive : node.n_negative;
    if (n > max_block_counts) {
      count_class<Count, false>(node, places, n, bins, blocks);
      sum_blocks(node.n_lanes, counts, is_positive);
    } else {
      count_class<Count, true>(node, places, n, bins, blocks);
    }
    for (int lane = 0; lane < node.n_lanes; ++lane) {
      Count& of_missing = counts.bins(is_positive, lane)[missing_code];
      last_block[lane] = static_cast<Count>(last_block[lane] - of_missing);
      missing[lane] = of_missing;
      of_missing = 0;
    }
  }
}

void count_bins(const NodeRows& node, const std::int32_t* which, BinCounts& counts) {
  counts.are_bytes = fit_in_bytes(node);
  counts.are_bytes ? count_bins_as(node, which, CountsAs<std::uint8_t>(counts))
                   : count_bins_as(node, which, CountsAs<std::uint16_t>(counts));
}

// Take one count off another. What is left may be in the memory of the former: it takes no more room.
template <class From, class Part, class Rest>
inline void take_off(const From* from, const Part* part, Rest* rest, int n) {
  constexpr int step = vector_bytes / sizeof(From);
  using Wholes [[gnu::vector_size(step * sizeof(From))]] = From;
  using Pieces [[gnu::vector_size(step * sizeof(Part))]] = Part;
  using Remains [[gnu::vector_size(step * sizeof(Rest))]] = Rest;
  for (int i = 0; i < n; i += step) {
    const Wholes left = load<Wholes>(from + i) - __builtin_convertvector(load<Pieces>(part + i), Wholes);
    const Remains narrow = __builtin_convertvector(left, Remains);
    std::memcpy(rest + i, &narrow, sizeof narrow);
  }
}

template <class From, class Part, class Rest>
void take_off_as(BinCounts& from, const BinCounts& part, int n_lanes) {
  const CountsAs<From> all(from);
  const CountsAs<const Part> some(part);
  const CountsAs<Rest> rest(from);
  for (int is_positive = 0; is_positive < 2; ++is_positive)
    take_off(all.bins(is_positive, 0), some.bins(is_positive, 0), rest.bins(is_positive, 0),
             n_lanes * BinCounts::lane_bins);
  take_off(all.block(0, 0), some.block(0, 0), rest.block(0, 0), BinCounts::n_sums + BinCounts::n_missing);
}

void take_off_bins(const NodeRows& rest, BinCounts& from, const BinCounts& part) {
  using Byte = std::uint8_t;
  using Short = std::uint16_t;
  const bool to_bytes = fit_in_bytes(rest);
  const auto take = from.are_bytes   ? take_off_as<Byte, Byte, Byte>
                    : part.are_bytes ? (to_bytes ? take_off_as<Short, Byte, Byte> : take_off_as<Short, Byte, Short>)
                                     : (to_bytes ? take_off_as<Short, Short, Byte> : take_off_as<Short, Short, Short>);
  take(from, part, rest.n_lanes);
  from.are_bytes = to_bytes;
}

// Bins are taken in blocks. The score is convex in the rows of both classes on the left, so inside a block it is at
// most what it would be at the block's ends, or if all of its rows of one class came before those of the other. Bins
// are tried only where this bound is as high as the best score at the ends of blocks.
template <class Count, bool has_min_leaf>
class BlockSearch {
 public:
  BlockSearch(const NodeRows& node, const BinCounts& counts)
      : node_(node),
        n_blocks_((node.n_bins + block_bins - 1) / block_bins),
        counts_(counts),
        bounds_(node.n_negative + node.n_positive, node.n_positive, 1),
        scorer_(node.n_negative + node.n_positive, node.n_positive, node.min_samples_leaf) {}

  GroupSplit find() {
    bound_blocks();
    for (int b = 0; b < n_blocks_; ++b)
      for (int first = 0; first < node_.n_lanes; first += Single::lanes) {
        std::uint32_t hopeful = bits_of(load<Real>(most_[b] + first) >= least_);
        for (; hopeful; hopeful &= hopeful - 1) try_bins(first + __builtin_ctz(hopeful), b);
      }
    if (best_score_ < 0) return {};
    return {best_score_, best_place_ / n_codes, static_cast<std::uint8_t>(best_place_ % n_codes / 2),
            static_cast<std::uint8_t>(best_place_ % 2)};
  }

 private:
  using Real = Single::Real;
  static constexpr int block_bins = BinCounts::block_bins, max_blocks = BinCounts::max_blocks;
  static constexpr int n_codes = 2 * 256;   // 2 * bin + missing_left
  static constexpr float rounding = 1e-5F;  // of scores and bounds; these divide exact numbers, one of them squared

  void bound_blocks() {
    Real top = Real{} - 1;
    for (int first = 0; first < node_.n_lanes; first += Single::lanes) {
      const Real missing_positive = read_counts(counts_.missing(1) + first);
      const Real missing = missing_positive + read_counts(counts_.missing(0) + first);
      const bool any_missing = is_any_set(missing > 0);
      Real left{}, left_positive{};
      for (int b = 0; b < n_blocks_; ++b) {
        const Real positive = read_counts(counts_.block(1, b) + first);
        const Real negative = read_counts(counts_.block(0, b) + first);
        store(left, left_[b] + first);
        store(left_positive, left_positive_[b] + first);
        Real most{};  // a score of 0 / 0 counts as 0
        raise(most, left, left_positive, negative, positive);
        if (any_missing) {
          const Real with_missing = left + missing, positive_with_missing = left_positive + missing_positive;
          raise(most, with_missing, positive_with_missing, negative, positive);
          most = greater_of(bounds_.score(with_missing, positive_with_missing), most);
        }
        // Splits of an empty block are offered elsewhere.
        store(negative + positive > 0 ? most : Real{} - 1, most_[b] + first);
        left += negative + positive;
        left_positive += positive;
        top = greater_of(scorer_.score(left, left_positive), top);
      }
    }
    least_ = fold(top, greater_of) * (1 - rounding);
  }

  // Raise `most` to the best that splits can be which have some of so many rows on the left, besides others that are
  // there. What they are without any is left out: this split has a lower code, which wins a tie.
  void raise(Real& most, Real left, Real left_positive, Real negative, Real positive) const {
    for (const Real score :
         {bounds_.score(left + positive, left_positive + positive), bounds_.score(left + negative, left_positive),
          bounds_.score(left + (negative + positive), left_positive + positive)})
      most = greater_of(score, most);
  }

  void try_bins(int lane, int block) {
    Real left = Real{} + left_[block][lane], left_positive = Real{} + left_positive_[block][lane];
    const int missing_positive = counts_.missing(1)[lane], missing = counts_.missing(0)[lane] + missing_positive;
    for (int first = block * block_bins; first < (block + 1) * block_bins; first += 8) {
      Count negatives[8], positives[8];  // up to each bin
      sum_bins(counts_.bins(0, lane) + first, negatives);
      sum_bins(counts_.bins(1, lane) + first, positives);
      for (int i = 0; i < 8; i += Single::lanes) {
        const Real here_positive = read_counts(positives + i), here = here_positive + read_counts(negatives + i);
        const int place = lane * n_codes + 2 * (first + i);
        offer(scorer_.score(left + here, left_positive + here_positive), place);
        // Only missing values on the left is the same split as only these on the right, which is offered elsewhere.
        if (missing > 0) {
          const Real score = scorer_.score(left + here + static_cast<float>(missing),
                                           left_positive + here_positive + static_cast<float>(missing_positive));
          offer(left + here > 0 ? score : Real{} - 1, place + 1);
        }
      }
      left += static_cast<float>(negatives[7] + positives[7]);
      left_positive += static_cast<float>(positives[7]);
    }
  }

  // The sums of eight counts up to each of them.
  static void sum_bins(const Count* counts, Count (&sums)[8]) {
    std::uint64_t before = 0;
    for (int bin = 0; bin < 8; bin += Words<Count>::bins) {
      const std::uint64_t word = (load<std::uint64_t>(counts + bin) + before) * Words<Count>::ones;
      std::memcpy(sums + bin, &word, sizeof word);
      before = Words<Count>::last_of(word);
    }
  }

  // Of equal scores the lowest lane wins, then the lowest code.
  void offer(Real scores, int place) {
    const auto is_hopeful = scores >= least_;
    if (!is_any_set(is_hopeful)) return;
    const Real some = is_hopeful ? scores : Real{} - 1;  // without those that are 0 / 0
    const float top = fold(some, greater_of);
    place += 2 * __builtin_ctz(bits_of(some == top));
    if (top < best_score_ || (top == best_score_ && place > best_place_)) return;
    best_score_ = top;
    best_place_ = place;
    const float least = top * (1 - rounding);
    least_ = least > least_ ? least : least_;
  }

  static void store(Real values, float* to) { std::memcpy(to, &values, sizeof values); }

  const NodeRows& node_;
  const int n_blocks_;
  const CountsAs<const Count> counts_;
  const Scorer<Single, false> bounds_;
  const Scorer<Single, has_min_leaf> scorer_;
  float left_[max_blocks][group_lanes], left_positive_[max_blocks][group_lanes], most_[max_blocks][group_lanes];
  float least_ = -1, best_score_ = -1;  // scores below the first are of no interest
  int best_place_ = -1;                 // n_codes * lane + code
};

template <class Count>
GroupSplit search_blocks(const NodeRows& node, const BinCounts& counts) {
  return node.min_samples_leaf > 1 ? BlockSearch<Count, true>(node, counts).find()
                                   : BlockSearch<Count, false>(node, counts).find();
}

GroupSplit search_counts(const NodeRows& node, const BinCounts& counts) {
  return counts.are_bytes ? search_blocks<std::uint8_t>(node, counts) : search_blocks<std::uint16_t>(node, counts);
}
