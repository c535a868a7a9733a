// Grows trees for two classes. What concerns categorical features is in binary_grower_categories.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/grower.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {

struct BinaryGrowerOptions {
  std::int32_t max_depth;  // 0: no limit
  std::int32_t min_samples_leaf;
  double tie_value;  // of a leaf whose classes weigh the same
};

// Grows classification trees by Gini impurity; leaf values are +1 and -1. Keeps its memory from one tree to the next.
class BinaryGrower {
 public:
  explicit BinaryGrower(const BinaryGrowerOptions& options) : options_(options) {}

  // Splits no node of fewer than `min_samples_split` rows. Calls `poll`, which may throw, before each large node.
  GrownTree grow(const BinnedColumns& columns, const Minipatch<std::int8_t>& patch, std::int32_t min_samples_split = 2,
                 const std::function<void()>& poll = {});

 private:
  struct Node {
    std::int32_t begin, n_negative, n_positive;
    std::int64_t negative, positive;  // weights of the classes; where rows have none, their numbers
    std::int32_t depth;
    std::int32_t parent;  // -1 for the root
    bool is_left;
    std::int32_t counts = -1;  // the set of counts that it has, if it has one
    std::int32_t size() const { return n_negative + n_positive; }
    std::int64_t weight() const { return negative + positive; }
  };
  struct Choice {
    std::size_t lane;
    std::uint8_t bin;
    bool missing_left;
    double score;
    CategorySet set;  // of a categorical feature
  };

  struct Category {
    std::uint8_t code;
    std::int32_t n_rows;
    std::int64_t weight, positive;
    bool operator<(const Category& other) const;
  };
  struct CategoryCounts;

  bool has_weights() const { return !weights_.empty(); }
  std::int32_t row_weight(const Node& node, std::int32_t i) const {
    return has_weights() ? weights_[static_cast<std::size_t>(node.begin + i)] : 1;
  }
  bool is_categorical(std::size_t lane) const { return lane >= n_numeric_groups_ * group_lanes; }

  void lay_out(const Minipatch<std::int8_t>& patch);
  void order_rows(const Minipatch<std::int8_t>& patch);
  void gather(const BinnedColumns& columns, const Minipatch<std::int8_t>& patch);
  Node make_root() const;
  bool is_final(const Node& node) const;
  bool choose_split(Node& node, Choice& choice);
  GroupSplit search_group(Node& node, std::size_t group);
  NodeRows rows_of(const Node& node, std::size_t group) const;
  bool is_counted(const Node& node, std::size_t group, std::int32_t n_counted) const;
  bool is_counted(const Node& node, std::int32_t n_counted) const;
  void share_counts(Node& node, Node& left, Node& right);
  void list_side(const Node& node, bool is_left);
  void take_counts(Node& node);
  void drop_counts(Node& node);
  void search_categories(const Node& node, std::size_t first_lane, Choice& choice);
  void cut_categories(const Node& node, std::size_t lane, const CategoryCounts& counts, Choice& choice);
  void read_lane(const Node& node, std::size_t lane);
  void place_categories(const Node& node, Choice& choice) const;
  void partition(const Node& node, Choice& choice, Node& left, Node& right);
  void move_rows(const Node& node, Node& left, Node& right);
  void move_both(std::uint8_t* rows, std::int32_t n);
  void keep_side(std::uint8_t* rows, std::int32_t n, bool is_left);

  // Where the codes of a row begin in patch_.
  std::size_t offset(std::size_t group, std::int32_t row) const {
    return (group * static_cast<std::size_t>(n_rows_) + static_cast<std::size_t>(row)) * group_lanes;
  }
  std::uint8_t* codes(std::size_t group, std::int32_t row) { return patch_.data() + offset(group, row); }
  const std::uint8_t* codes(std::size_t group, std::int32_t row) const { return patch_.data() + offset(group, row); }
  // The codes of a node's rows in a lane are group_lanes apart.
  const std::uint8_t* lane_codes(std::size_t lane, const Node& node) const {
    return codes(lane / group_lanes, node.begin) + lane % group_lanes;
  }

  BinaryGrowerOptions options_;
  std::int32_t min_samples_split_ = 2;
  std::int32_t n_rows_ = 0, n_negative_ = 0;
  std::size_t n_groups_ = 0, n_numeric_groups_ = 0;  // groups of categorical features come last
  std::vector<std::size_t> lanes_;                   // the feature, by its place in the patch, of each lane
  std::vector<std::uint8_t> patch_;  // [group][row][lane]; the rows of a node are contiguous, negatives first
  std::vector<std::int32_t> weights_, right_weights_;  // of the rows, in the same order; empty where they have none
  double weight_unit_ = 1;                             // what one of them stands for, in weights as they were given
  std::vector<std::uint8_t> right_rows_, split_codes_, goes_left_;
  std::vector<std::int32_t> places_;  // of the rows of the minipatch, in their order
  std::vector<int> group_lanes_;      // in use, of the groups
  std::vector<CodeRange> ranges_;     // of the groups
  std::vector<Node> pending_;
  Histogram histogram_;

  // Sets of the counts of nodes that wait to be split, or of the one that is split; for each group some, if it has any.
  struct GroupCounts {
    BinCounts counts;
    bool is_known;
  };
  std::size_t n_counted_groups_ = 0;  // that sets have room for
  std::vector<std::unique_ptr<GroupCounts[]>> count_sets_;
  std::vector<std::int32_t> idle_sets_;
  std::vector<std::int32_t> all_places_, side_places_;  // of a node's rows, from its first on: all, or of one side
};

}  // namespace mpboost
