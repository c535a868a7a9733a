// Trees grown on a minipatch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

struct GrowerOptions {
  std::int32_t max_depth;         // 0: no limit
  std::int32_t min_samples_leaf;
  double tie_value;               // value of a leaf with as many positive rows as negative ones
};

struct GrownTree {
  Tree tree;
  std::vector<double> importances;  // of the patch's features: share of the impurity decrease, or all zero
};

// Grows classification trees by Gini impurity; leaf values are +1 and -1. Keeps its memory from one tree
// to the next.
class TreeGrower {
 public:
  explicit TreeGrower(const GrowerOptions& options) : options_(options) {}

  // `labels` of all rows are +1 or -1. Rows and features must be valid for `columns`.
  GrownTree grow(const BinnedColumns& columns, std::span<const std::int64_t> rows,
                 std::span<const std::int64_t> features, const std::int8_t* labels);

 private:
  struct Node {
    std::int32_t begin, n_negative, n_positive;
    std::int32_t depth;
    std::int32_t parent;  // -1 for the root
    bool is_left;
    std::int32_t size() const { return n_negative + n_positive; }
  };
  struct Choice {
    std::size_t feature;
    std::uint8_t bin;
    bool missing_left;
    double score;
  };

  void gather(const BinnedColumns& columns, std::span<const std::int64_t> rows, std::span<const std::int64_t> features,
              const std::int8_t* labels);
  bool is_final(const Node& node) const;
  bool find_split(const Node& node, Choice& choice);
  void partition(const Node& node, const Choice& choice, Node& left, Node& right);
  void place_threshold(const Node& node, Choice& choice) const;

  std::uint8_t* codes(std::size_t group, std::int32_t row) {
    return patch_.data() + (group * static_cast<std::size_t>(n_rows_) + static_cast<std::size_t>(row)) * group_lanes;
  }
  const std::uint8_t* codes(std::size_t group, std::int32_t row) const {
    return const_cast<TreeGrower*>(this)->codes(group, row);
  }

  GrowerOptions options_;
  std::int32_t n_rows_ = 0, n_negative_ = 0;
  std::size_t n_groups_ = 0;
  std::vector<std::uint8_t> patch_;  // [group][row][lane]; the rows of a node are contiguous, negatives first
  std::vector<std::uint8_t> right_rows_, goes_left_;
  std::vector<std::int64_t> order_;
  std::vector<int> group_bins_;
  std::vector<char> group_has_missing_;
  std::vector<Node> pending_;
  Histogram histogram_;
};

}  // namespace mpboost
