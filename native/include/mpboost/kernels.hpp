// The inner loops that exist once per instruction set, and the choice among them at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mpboost {

inline constexpr int group_lanes = 32;  // features of a minipatch that are searched side by side

// One group of features of the rows of a node: 32 codes a row, rows of the negative class first.
struct NodeRows {
  const std::uint8_t* codes;
  std::int32_t n_negative, n_positive;
  int n_bins;         // codes of values are below this
  bool has_missing;   // whether the code for missing may occur
  std::int32_t min_samples_leaf;
  // Of the weighted searches alone: whole numbers, in all less than 2^31.
  const std::int32_t* weights = nullptr;
  std::int64_t weight = 0, positive_weight = 0;
};

// The best split of a group: its score is D^2 / (left * right) with D = left_positive * n - left * positive,
// which orders splits as the decrease of Gini impurity does; with weights, sums of these stand for the counts. Ties go to the lower lane, then the lower bin,
// then to missing values on the right.
struct GroupSplit {
  double score = -1.0;  // negative: no split is allowed
  int lane = -1;
  std::uint8_t bin = 0;
  std::uint8_t missing_left = 0;
};

// Room for the histogram of a group: counts of up to 32 bits [code][lane], for each class, and for rows if they have weights.
struct Histogram {
  alignas(64) unsigned char counts[3][256 * group_lanes * sizeof(std::uint32_t)];
};

// A split as the sweep sees it. Slots number the masks, of mask_words words each: those of the splits, then those of
// the leaves.
struct SweepSplit {
  const std::uint8_t* column;
  std::uint32_t left_slot, right_slot;
  std::uint8_t shift;      // added to codes: 1 turns missing (255) into 0
  std::uint8_t last_left;  // shifted codes up to this go left
  const std::uint8_t* set;  // of a categorical feature: bit c of 256 tells whether (unshifted) code c goes left; else null
  std::int32_t next;       // first split that is not below this one
  std::int32_t leaf_begin, leaf_end;  // the leaves below this one
};

struct Sweep {
  const SweepSplit* splits;
  std::int32_t n_splits;
  bool is_shifted;       // whether any split has a shift
  bool has_sets;         // whether any split is of a categorical feature
  std::uint64_t* masks;  // one per split, then one per leaf: bit i tells whether row i of the block is there
};

struct Kernels {
  std::string_view name;
  // Exact search of all thresholds. `search_pairs` compares all rows with all rows and needs at most
  // max_pair_rows; `search_bins` counts rows per bin.
  GroupSplit (*search_pairs)(const NodeRows&);
  GroupSplit (*search_bins)(const NodeRows&, Histogram&);
  GroupSplit (*search_weighted_pairs)(const NodeRows&);
  GroupSplit (*search_weighted_bins)(const NodeRows&, Histogram&);
  // Turn uniform numbers in (0, 1) into logarithms of exponential ones: log(-log(u)).
  void (*log_exponential)(double* values, std::int64_t n);
  // Fill the masks of the leaves with the rows of the block that begins at `row`.
  void (*sweep_block)(const Sweep&, std::int64_t row);
};

inline constexpr std::int32_t max_pair_rows = 127;

// The kernels in use: the best that this processor can run, unless use_kernels said otherwise.
const Kernels& kernels();

// All that this processor can run, best first; and a way to choose one by name, for tests.
std::span<const Kernels* const> available_kernels();
bool use_kernels(std::string_view name);

}  // namespace mpboost
