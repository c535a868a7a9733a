// The inner loops that exist once per instruction set, and the choice among them at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mpboost/columns.hpp"
#include "mpboost/random.hpp"

namespace mpboost {

inline constexpr int group_lanes = 32;  // features of a minipatch that are searched side by side
inline constexpr int used_lanes = 8;    // lanes of a group are in use in multiples of this

// One group of features of the rows of a node: 32 codes a row, rows of the negative class first.
struct NodeRows {
  const std::uint8_t* codes;
  std::int32_t n_negative, n_positive;
  int n_lanes;       // that are in use
  int n_bins;        // codes of values are below this
  bool has_missing;  // whether the code for missing may occur
  std::int32_t min_samples_leaf;
  // For search_pairs: whether thresholds right above and right below the codes of the rarer class are enough, or else
  // the codes of all rows are tried.
  bool tries_rarer_class = false;
  // Of the weighted searches alone: whole numbers, in all less than 2^31.
  const std::int32_t* weights = nullptr;
  std::int64_t weight = 0, positive_weight = 0;
};

// The best split of a group: its score is D^2 / (left * right) with D = left_positive * n - left * positive,
// which orders splits as the decrease of Gini impurity does; where rows have weights, these are added up in place of
// counting rows. Ties go to the lower lane, then the lower bin, then to missing values on the right. The bin may be any
// that divides the node's rows in the same way.
struct GroupSplit {
  double score = -1.0;  // negative: no split is allowed
  int lane = -1;
  std::uint8_t bin = 0;
  std::uint8_t missing_left = 0;
};

// Memory for the histogram of a group, [code][lane], in up to 32 bits: counts or weights of each class, and rows where
// these have weights.
struct Histogram {
  alignas(64) unsigned char counts[3][256 * group_lanes * sizeof(std::uint32_t)];
};

// How many rows of a node have each code, [class][lane][code], in bytes where each class has up to 255 rows, or else in
// 16 bits. Sums over blocks of codes follow, [class][block][lane], then missing values, [class][lane]: neither blocks
// nor codes count these. A node's counts are those of its children together.
struct BinCounts {
  static constexpr int block_bins = 16, max_blocks = 256 / block_bins;
  static constexpr int lane_bins = 256 + 32;  // no power of two: the same bin of all lanes would be in few cache sets
  static constexpr int n_counts = 2 * group_lanes * lane_bins;
  static constexpr int n_sums = 2 * max_blocks * group_lanes, n_missing = 2 * group_lanes;

  alignas(64) std::uint8_t memory[(n_counts + n_sums + n_missing) * sizeof(std::uint16_t)];
  bool are_bytes;
};

// Whether a node is searched by such counts. With few bins it is faster to try them all.
inline constexpr std::int32_t max_single_rows = 4096;  // whose scores are computed in single precision
inline bool has_bin_counts(std::int32_t n_rows, int n_bins) {
  return n_rows <= max_single_rows && n_bins > 4 * BinCounts::block_bins;
}

struct CodeRange {
  int n_bins;  // codes of values are below this, which is at least 1
  bool has_missing;
};

// The highest code up to a threshold, or 0, and the lowest above it, or missing_code.
struct Neighbours {
  std::uint8_t last, next;
  bool has_missing;
};

// A split as select_rows sees it. A slot has a byte for each row of a block.
struct SelectSplit {
  const std::uint8_t* column;
  std::uint32_t left_slot, right_slot;
  std::uint8_t shift;       // added to codes: 1 turns missing (255) into 0
  std::uint8_t last_left;   // shifted codes up to this go left
  const std::uint8_t* set;  // of a categorical feature: bit c of 256 tells whether code c goes left; else null
};

// Splits of a tree, or of a piece of one, in preorder: the left child of a split follows it, unless it is a leaf. The
// slot of split k is number k; those of the leaves follow, the first with a byte of 0 for each row, the next with 1.
struct Selection {
  const SelectSplit* splits;
  std::int32_t n_splits;
  bool has_shifts;  // whether any split has a shift
  bool has_sets;    // whether any split is of a categorical feature
};

// Trees that vote, as count_votes sees them. Lines have a bit for each of some rows, at places from the first on: no
// vote, all votes, and choices that are still to be used; before the first, those of the tests, the last test first.
inline constexpr int line_bytes = 64, line_parts = 8, line_rows = line_bytes * line_parts;
struct BitChoice {
  std::int16_t test, left, right, to;  // places
};
struct BitTree {
  std::int32_t n_choices;
  std::int16_t votes;  // the place where they are after these
};
struct BitForest {
  const SelectSplit* tests;  // their slots mean nothing
  std::int32_t n_tests;
  const BitChoice* choices;
  const BitTree* trees;
  std::int64_t n_trees;
};

// The leaves of some rows in a tree, and the values of all its leaves, [leaf][output].
struct LeavesOfTree {
  const std::int32_t* leaves;
  const double* values;
};
inline constexpr int trees_together = 8;  // whose values are added to totals before these are written

inline constexpr int tile_rows = 16;  // rows and columns that are exchanged at a time

// Rows of bytes, one behind the other, and the largest byte that each column may have: greater ones become this.
struct ByteRows {
  const std::uint8_t* bytes;
  std::int64_t stride;  // from a row to the next
  const std::uint8_t* largest;
};

inline constexpr int gradient_lanes = 8;  // features whose sums of derivatives are searched side by side

// Sums of rows by bin, [bin][lane], bin n_bins for missing values; each is one word (see Packing). Those of a part, if
// there is one, are taken off to get the rest.
struct GradientSearch {
  std::uint64_t* rest;
  const std::uint64_t* part;  // null: none
  std::uint64_t rest_total, part_total;
  bool searches_part;  // or the rest alone
  int n_bins;
  bool has_missing;
  int count_bits, hessian_bits;
  std::int32_t min_samples_leaf;
  float l2;  // in the unit of hessians
};

// The best split of each lane by how much the sum of G^2 / (H + l2) over both sides exceeds that of all splits of the
// node that tell nothing. Ties go to the lower code.
struct GradientLanes {
  float score[gradient_lanes];        // negative: no split is allowed
  std::int32_t code[gradient_lanes];  // 2 * bin + missing_left
};

// Derivatives of rows that are rounded to whole numbers and packed into words (see Packing). Any sum of many rows is
// kept: what is cut off a row is added to the next but three. These chains of sums do not wait for each other.
inline constexpr int rounding_chains = 4;
struct DerivativeRows {
  std::int64_t n_rows;
  const double *gradients, *hessians;
  double per_gradient, per_hessian;  // what they are multiplied by
  int count_bits, hessian_bits;
};

// Moves rows of a leaf, on one side of a split, to another leaf. Arrays of rows have room for a multiple of 64.
struct RowMove {
  std::int64_t n_rows;
  std::uint8_t *leaves, *high_leaves;  // the lower bytes of the numbers of leaves, and the higher; null: all are 0
  std::int32_t from, to;
  const std::uint8_t* bins;       // of the feature that splits; 255 is missing
  std::uint8_t shift, last_left;  // bins + shift up to this go left: a shift of 1 turns missing into 0
  const std::uint8_t* set;        // of a categorical feature: bit b of 256 tells whether bin b goes left; else null
  bool left_moves;                // or the right
  std::uint32_t* moved;           // the rows that were moved, ascending; with room for 16 more
};

// Rows to which a tree's values are added before the derivatives of the loss are computed. F is [row][output].
template <class Label>
struct LossRows {
  std::int64_t n_rows, n_outputs;
  float* raw;                   // F
  const std::uint16_t* leaves;  // of the rows; null where F stays as it is
  const float* values;          // what each leaf adds to F, [leaf][output]
  std::int64_t n_leaves;
  const Label* labels;
  const float* weights;  // null: all 1
  float *gradients, *hessians;
  float parameter = 0;       // of the loss
  float* scratch = nullptr;  // of softmax: 3 * softmax_rows * n_outputs numbers

  // Up to n rows, from row `first` on.
  LossRows from(std::int64_t first, std::int64_t n) const {
    const std::int64_t start = first * n_outputs;
    LossRows some = *this;
    some.n_rows = n < n_rows - first ? n : n_rows - first;
    some.raw += start;
    if (leaves) some.leaves += first;
    some.labels += first;
    if (weights) some.weights += first;
    some.gradients += start;
    some.hessians += start;
    return some;
  }
};

inline constexpr std::int64_t max_loss_rows = 1024;  // that a kernel takes at a time, with notes in the cache
inline constexpr std::int64_t softmax_rows = 64;     // that softmax takes side by side

enum class ValueLoss { squared, absolute, quantile, huber, poisson, gamma };

// Derivatives of rows whose sizes are wanted: sqrt(sum of g^2 + smoothing * h^2 over outputs).
struct GradientRows {
  std::int64_t n_rows, n_outputs;
  const float *gradients, *hessians;
  float smoothing;
};

inline constexpr std::int64_t summed_rows = 32;  // that sum_blocks adds up at a time

// The limits of a race by levels of log-weights: the first level is 0, level k ends at origin - (k - 1) / per_width.
struct LevelLimits {
  double origin, per_width, last_level;
  const std::uint32_t* limits;
};

// When an item arrives: the time is log_time + rest, to the last bit. Then no other numbers, of items that may be
// elsewhere, decide who is first.
struct Arrival {
  double log_time, rest;
  std::int64_t item;

  [[gnu::always_inline]] bool operator<(const Arrival& other) const {
    bool is_before = log_time < other.log_time;
    if (log_time == other.log_time) [[unlikely]]
      is_before = rest < other.rest || (rest == other.rest && item < other.item);
    return is_before;
  }
};

// The arrivals of a race, in the order of items.
struct ArrivalColumns {
  const double *log_times, *rests;
  const std::int64_t* items;
  std::int64_t size;
};

inline constexpr std::int64_t compressed_items = 8;  // that may be written at a time, though fewer count

inline constexpr int edge_block = 16;  // edges that are compared with one value at a time

// The edges between the bins of a feature, ascending, as single or double precision has them: an edge is below a value
// here if it is so as a double. Infinite from n_edges on.
template <class V>
struct EdgeTable {
  alignas(64) V edges[256];
  V last_of_block[256 / edge_block];
  int n_edges;
};

// Contributions of features by one tree, for a few rows at a time: contributions.cpp explains them.
inline constexpr int contribution_rows = 16;
inline constexpr int quadrature_lanes = 4;  // numbers of quadrature points are multiples of this

// A step of the walk over a tree. Its tables are those of a split, one for each state that a row may have there.
struct ContributionStep {
  enum Kind : std::uint8_t { leaves, down, first_up, up };
  Kind kind;
  std::int32_t split, slot, level;
  std::int32_t stride;  // from the table of a state to that of the next
  std::int64_t table;   // where that of state 0 begins
};
struct ContributionWalk {
  const ContributionStep* steps;
  std::int64_t n_steps;
  const double* tables;
  int n_points;                // of the quadrature
  const std::uint8_t* states;  // [split][row]
  // All have a number for each row and point: [level][row][point], and the last [slot][row][point].
  double *weights, *sums, *contributions;
};

struct Kernels {
  std::string_view name;
  // Exact search of all thresholds. `search_pairs` compares all rows with all thresholds, at most max_pairs of each, or
  // half as many thresholds with missing values; `search_bins` counts rows per bin; `search_counts` is told counts.
  GroupSplit (*search_pairs)(const NodeRows&, Histogram&);
  GroupSplit (*search_bins)(const NodeRows&, Histogram&);
  GroupSplit (*search_counts)(const NodeRows&, const BinCounts&);
  // Count some rows: n_negative of one class at the first places, counted from `codes` on, then n_positive of the
  // other. And turn the counts of a node into those of a child, `rest`, given those of the other child.
  void (*count_bins)(const NodeRows&, const std::int32_t* places, BinCounts&);
  void (*take_off_bins)(const NodeRows& rest, BinCounts& counts, const BinCounts& part);
  GroupSplit (*search_weighted_pairs)(const NodeRows&);
  GroupSplit (*search_weighted_bins)(const NodeRows&, Histogram&);
  // The range of the codes of some rows, in the first lanes of a group. And the codes on both sides of a threshold, of
  // one lane: they follow each other, up to a multiple of group_lanes.
  CodeRange (*find_code_range)(const std::uint8_t* codes, std::int32_t n_rows, int n_lanes);
  Neighbours (*find_neighbours)(const std::uint8_t* codes, std::int32_t n, std::uint8_t bin);
  void (*search_gradients)(const GradientSearch&, GradientLanes& rest, GradientLanes& part);
  std::int64_t (*move_rows)(const RowMove&);  // returns how many
  // Replace codes by bins, (code + offset) >> shift or `last` if that is less, with offset < 2^shift <= 128. Missing
  // stays 255. Takes rows up to the next multiple of group_lanes.
  void (*merge_bins)(std::uint8_t* codes, std::int64_t n_rows, int shift, int offset, int last);
  // Write the bins of gradient_lanes columns row by row, [row][lane]. Missing values (255) get bin n_bins. Takes rows
  // up to the next multiple of tile_rows.
  void (*interleave_bins)(const std::uint8_t* columns, std::int64_t stride, std::int64_t n_rows, int n_bins,
                          std::uint8_t* rows);
  std::uint64_t (*pack_derivatives)(const DerivativeRows&, std::uint64_t* packed);  // returns the sum of all
  // Replace each of n numbers by the function of it that has this name in elementary.hpp; softplus is log(1 + exp(x)).
  void (*log_of)(double* values, std::int64_t n);
  void (*log1p_of)(double* values, std::int64_t n);
  void (*exp_of)(double* values, std::int64_t n);
  void (*expm1_of)(double* values, std::int64_t n);
  void (*logistic_of)(double* values, std::int64_t n);
  void (*softplus_of)(double* values, std::int64_t n);
  // Look up the limits of some items of a race. Then write those of n items, from `first` on, that reach their limits
  // with the leading bits that they draw, given the lower bits of the number that the first one draws by; return how
  // many do. May read limits up to a multiple of 64, and write compressed_items more.
  void (*find_limits)(const double* log_weights, std::int64_t n, const LevelLimits& levels, std::uint32_t* limits);
  std::int64_t (*screen_items)(Lots::Keys keys, std::uint32_t number, const std::uint32_t* limits, std::int64_t first,
                               std::int64_t n, std::int64_t* passed);
  // Draw the logarithms of exponential numbers for items, whose numbers begin with first_item and have the same keys.
  void (*draw_log_exponentials)(const Lots& lots, Lots::Keys keys, const std::int64_t* items, std::int64_t first_item,
                                std::int64_t n, double* draws);
  // Turn these logarithms and those of weights into times and their rests. Who has no weight or arrives after the
  // deadline arrives never: at infinity. Return how many do arrive.
  std::int64_t (*find_times)(double deadline, std::int64_t n, double* log_times, double* rests);
  // How many arrive before a time. Then write the items of those that do not come before `from`, but before `to`;
  // return how many they are. May write compressed_items more.
  std::int64_t (*count_before)(const double* log_times, std::int64_t n, double log_time);
  std::int64_t (*take_items)(const ArrivalColumns&, const Arrival& from, const Arrival& to, std::int64_t* items);
  // Write the codes of up to block_rows values, reading up to the next multiple of 8; tell whether any is missing.
  bool (*find_codes_of_floats)(const EdgeTable<float>&, const float* values, int n_values, std::uint8_t* codes);
  bool (*find_codes_of_doubles)(const EdgeTable<double>&, const double* values, int n_values, std::uint8_t* codes);
  // Fill the slots of the splits, from the last to the first: a row gets what it has in the slot of the child that it
  // goes to. Takes up to block_rows rows from `row` on, and may look at what follows up to a multiple of 64.
  void (*select_rows)(const Selection&, std::int64_t row, int n_rows, std::uint8_t* slots);
  // Add the votes of trees to the totals of up to line_rows rows from `row` on. May look at what follows up to a
  // multiple of line_bytes.
  void (*count_votes)(const BitForest&, std::int64_t row, int n_rows, std::uint8_t* lines, std::int32_t* totals);
  // The same for the votes of a single tree, which are written: 1 or -1, for whole parts of line_bytes rows.
  void (*write_votes)(const BitForest& tree, std::int64_t row, int n_rows, std::uint8_t* lines, std::int8_t* votes);
  bool marks_fast;  // whether bits are the fastest way to find the votes of a tree of some hundred leaves, too
  // Write the codes of rows side by side, [row][width], width a multiple of tile_rows; and those of some of these rows
  // one column after the other, [column][block_rows]. Both take rows up to the next multiple of tile_rows.
  void (*to_rows)(const std::uint8_t* const* columns, int width, std::int64_t row, std::int64_t n_rows,
                  std::uint8_t* rows);
  void (*to_columns)(const std::uint8_t* rows, int width, const std::uint16_t* which, int n_rows,
                     std::uint8_t* columns);
  // Write the bytes of rows one column after the other. There must be at least tile_rows rows and columns.
  void (*copy_bytes)(const ByteRows&, std::int64_t n_rows, std::int64_t n_columns, std::uint8_t* columns,
                     std::int64_t column_stride);
  // Add to each row's totals, [row][output], the values of its leaves, up to trees_together, in the order of the trees.
  void (*add_leaf_values)(const LeavesOfTree* trees, int n_trees, std::int64_t n_rows, std::int64_t n_outputs,
                          double* totals);
  void (*walk_contributions)(const ContributionWalk&);
  // Add the derivatives of rows, [row][output], to the sums of their leaves, [leaf][gradients, hessians][output].
  void (*add_derivatives)(const std::uint16_t* leaves, std::int64_t n_rows, const float* gradients,
                          const float* hessians, std::int64_t n_outputs, double* sums);
  // Add numbers of some rows, of all rows' [row][output], to the sums of their leaves, [leaf][output]. Leaves are those
  // of these rows alone.
  void (*add_numbers)(const std::uint16_t* leaves, const std::int64_t* rows, std::int64_t n_rows, const float* numbers,
                      std::int64_t n_outputs, double* sums);
  // Add the leaves' values to F and compute the derivatives of the loss. The first two return the weight of the rows
  // that are right, the last the weighted sum of squared errors.
  double (*log_loss)(const LossRows<std::int8_t>&);
  double (*softmax)(const LossRows<std::uint16_t>&);
  double (*value_loss)(ValueLoss, const LossRows<float>&);
  void (*gradient_sizes)(const GradientRows&, float* sizes);
  // Add up numbers, summed_rows for each sum.
  void (*sum_blocks)(const float* numbers, std::int64_t n_blocks, double* sums);
  // Find the first row that ends behind each of n places; those before its start do not. Ends ascend; eight numbers
  // from any start on can be read, and the last ones are behind all places.
  void (*find_rows)(const std::int64_t* ends, const std::int32_t* starts, const std::int64_t* places, std::int64_t n,
                    std::int32_t* rows);
};

inline constexpr std::int32_t max_pairs = 255;  // counts are bytes

// The kernels in use: the best that this processor can run, unless use_kernels said otherwise.
const Kernels& kernels();

// All that this processor can run, best first; and a way to choose one by name, for tests.
std::span<const Kernels* const> available_kernels();
bool use_kernels(std::string_view name);

}  // namespace mpboost
