// Grows trees for gradient boosting: leaf by leaf, the best split of all leaves first, from histograms of first and
// second derivatives over the bins of a minipatch. How splits are chosen is in gradient_grower_search.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

struct GradientLimits {
  std::int32_t max_leaf_nodes;  // at least 2
  std::int32_t max_depth;       // 0: no limit
  std::int32_t min_samples_leaf;
  double l2_regularization;
  int max_bins;  // of numeric features: where one has more, neighbours are merged, at another offset in each tree
};

// What a tree is grown on. Rows and features must be valid for the columns.
struct GradientPatch {
  std::span<const std::int64_t> rows, features;
  std::span<const double> gradients, hessians;  // of the patch's rows, times their weights; hessians are not negative
  const bool* is_categorical = nullptr;         // of all columns; null where none is
  const std::int8_t* monotonic = nullptr;       // of all columns, -1, 0 or 1; null where all are 0
  std::span<const double> weights{};            // of the patch's rows, for the covers of leaves; none where all are 1
  // The features on a path must all be in one of these sets. Set k has the members
  // [offsets[k], offsets[k + 1]).
  std::span<const std::int64_t> interaction_offsets{}, interaction_members{};
  // The numbers of the features in the whole table, on which draws depend; empty where these are the columns.
  std::span<const std::int64_t> numbers{};
};

struct GradientTree {
  Tree tree;                         // leaf values are Newton steps on the patch
  std::vector<double> split_values;  // the same for the rows of each split
  // Of the splits: twice what they lower the loss by on the patch, to second order; less, by categories, what these
  // gain by chance.
  std::vector<double> gains;
};

// The sums of a set of rows in one word: gradients in the highest bits, then hessians, then the number of rows.
// Derivatives are rounded to whole numbers, as large as fit, so that sums are exact in any order and a node's sums less
// those of one child are those of the other.
struct Packing {
  int count_bits, hessian_bits;
  double gradient_unit, hessian_unit;

  std::int64_t gradient(std::uint64_t sums) const {
    return static_cast<std::int64_t>(sums) >> (hessian_bits + count_bits);
  }
  std::int64_t hessian(std::uint64_t sums) const {
    return static_cast<std::int64_t>(sums >> count_bits & ((std::uint64_t{1} << hessian_bits) - 1));
  }
  std::int64_t count(std::uint64_t sums) const {
    return static_cast<std::int64_t>(sums & ((std::uint64_t{1} << count_bits) - 1));
  }
};

// Keeps its memory from one tree to the next. Ties between splits go to numeric features, then to the feature that
// comes first in the patch, then to the lower bin, then to missing values on the right.
class GradientGrower {
 public:
  explicit GradientGrower(const GradientLimits& limits) : limits_(limits) {}

  static constexpr std::int64_t max_rows = 1 << 22;

  // Calls `poll`, which may throw, after each split. Threads, if there are any, share the groups of large nodes.
  GradientTree grow(const BinnedColumns& columns, const GradientPatch& patch, const Stream& stream,
                    Threads* threads = nullptr, const std::function<void()>& poll = {});

 private:
  static constexpr int lanes = gradient_lanes;

  // A feature of the minipatch after the merging of bins. Values are in bins below n_bins.
  struct Feature {
    std::int32_t place = -1;  // in the patch; -1: none, to fill up a group
    std::int32_t column = -1;
    bool is_categorical = false, has_missing = false;
    int n_bins = 0, shift = 0, offset = 0;  // code c is in bin (c + offset) >> shift
    std::int8_t monotonic = 0;
  };
  // Features side by side: sums of a node [bin][lane].
  struct Group {
    std::size_t sums;  // where they begin, among the sums of a node
    int n_features;    // in its first lanes
    int n_bins;        // of values, the most of any of its features
    bool is_categorical, has_missing, has_monotonic;
  };
  struct Choice {
    double gain = 0;            // 0: there is no split
    std::int32_t feature = -1;  // its lane
    int bin = 0;
    bool missing_left = false, is_set = false;
    std::uint64_t left = 0;  // sums of the rows that go left
    CategorySet bins{};      // of a categorical feature, those that go left; 255 if missing values do
  };
  // Sums over the rows of a node, of products of derivatives in their units.
  struct Products {
    double gradients = 0, mixed = 0, hessians = 0;
  };
  struct Node {
    std::int32_t size, depth;
    std::int32_t leaf = 0;               // the number that its rows have
    std::int32_t left = -1, right = -1;  // nodes
    std::int32_t slot = -1;              // where its histograms are; -1: nowhere
    std::uint64_t sums;
    double value;
    // The bounds that monotonic features set to the values of leaves.
    double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
    Products products{};  // known only where a feature is categorical
    Choice choice{};
    std::vector<std::uint64_t> open_sets{};  // a bit for each set of interactions: has it all features of the path?
    bool is_bounded() const { return std::isfinite(lowest) || std::isfinite(highest); }
  };

  // Call work(group) for all groups: in several threads if n_rows rows of each are worth it.
  template <class Work>
  void for_groups(std::int64_t n_rows, Work work) {
    // So many additions to a histogram take about 30 us, some times what waking a thread takes (see threads.hpp).
    constexpr std::int64_t min_shared_cells = 1 << 16;
    const std::int64_t n_groups = std::ssize(groups_);
    const auto take = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) work(static_cast<std::size_t>(group));
    };
    const std::int64_t n_cells = n_rows * n_groups * lanes;
    if (threads_ != nullptr && n_cells >= min_shared_cells) {
      threads_->for_ranges(n_groups, 1, take);
    } else {
      take(0, n_groups);
    }
  }

  void lay_out(const BinnedColumns& columns, const GradientPatch& patch, const Stream& stream);
  void gather(const BinnedColumns& columns, const GradientPatch& patch);
  std::uint64_t pack(const GradientPatch& patch);
  Node& add_node(std::int32_t depth, std::uint64_t sums);
  std::int32_t index_of(const Node& node) const { return static_cast<std::int32_t>(&node - nodes_.data()); }

  void open_sets(const GradientPatch& patch, Node& root);
  void close_sets(Node& node, std::int32_t feature) const;
  bool may_use(const Node& node, std::int32_t feature) const;
  bool may_split(const Node& node) const;
  void split(Node& parent, bool goes_on);
  void bound(const Node& parent, Node& left, Node& right) const;
  using Rows = std::span<const std::uint32_t>;  // of the patch, ascending; until the next ones are listed
  Rows list_rows(const Node& node);
  Rows move_rows(const Choice& choice, bool left_moves, std::int32_t from, std::int32_t to);

  std::int32_t take_slot();
  void give_back(Node& node);
  std::uint64_t* histogram(const Node& node) { return sums_.data() + static_cast<std::size_t>(node.slot) * slot_size_; }
  void add_rows(Node& node, Rows rows);

  void choose_splits(Node& rest, Node* part);
  double gain_by_rounding(const Node& node) const;
  double gain_by_chance(const Node& node) const;
  bool offer_lanes(const Node& node, std::size_t group, const GradientLanes& found, Choice& best);
  void search_one_by_one(const Node& node, std::size_t group, Choice& best);
  void search_bounded(const Node& node, std::size_t lane, Choice& best);
  void search_categories(const Node& node, std::size_t lane, Choice& best);
  static void offer(double gain, const Choice& candidate, Choice& best);
  double step(double gradient, double hessian) const;
  double value_of(std::uint64_t sums) const;
  double gain_of(const Node& node, std::uint64_t left, double extra_l2 = 0.0) const;

  std::vector<double> sum_covers(std::span<const double> weights) const;
  GradientTree finish(std::span<const double> weights) const;
  Split make_split(const Node& node, std::vector<CategorySet>& sets) const;

  GradientLimits limits_;
  Threads* threads_ = nullptr;  // while a tree is grown
  Packing packing_{};
  std::int32_t n_rows_ = 0;
  std::vector<Feature> features_;  // lane by lane; numeric ones first
  std::vector<Group> groups_;
  std::vector<std::uint8_t> bins_;                  // of the patch's rows, [lane][row]; 255 is missing
  std::size_t stride_ = 0;                          // of bins_: rows, up to a multiple of 64
  std::vector<std::uint8_t> row_bins_;              // the same [group][row][lane]; missing is bin n_bins of the group
  std::vector<std::uint64_t> packed_;               // derivatives of the patch's rows
  std::vector<std::uint8_t> leaves_, high_leaves_;  // the bytes of the number of the leaf that a row is in
  std::int32_t n_leaves_ = 0;                       // that have rows of their own
  std::vector<std::uint32_t> listed_;               // rows of the node at hand, ascending
  std::vector<std::uint64_t> sums_;                 // histograms [slot][group][bin][lane]
  std::size_t slot_size_ = 0;
  std::vector<std::int32_t> free_slots_;
  std::int32_t n_slots_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::int32_t>> sets_of_;  // of each lane: its sets of interactions; empty without any
};

}  // namespace mpboost
