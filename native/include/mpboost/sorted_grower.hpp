// Grows trees for many classes and for numbers, on rows that are kept sorted by every feature.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/criteria.hpp"
#include "mpboost/grower.hpp"

namespace mpboost {

struct TreeLimits {
  std::int32_t max_depth;  // 0: no limit
  std::int32_t min_samples_leaf;
};

// Keeps its memory from one tree to the next. Ties between splits go to numeric features, then to the feature that
// comes first in the patch, then to the lower bin, then to missing values on the right. A minipatch has at most 2^24
// rows.
template <class Criterion>
class SortedGrower {
 public:
  using Label = Criterion::Label;

  SortedGrower(const TreeLimits& limits, Criterion criterion) : limits_(limits), criterion_(std::move(criterion)) {}

  const Criterion& criterion() const { return criterion_; }

  // Splits no node of fewer than `min_samples_split` rows. Calls `poll`, which may throw, before each large node.
  GrownTree grow(const BinnedColumns& columns, const Minipatch<Label>& patch, std::int32_t min_samples_split = 2,
                 const std::function<void()>& poll = {});

 private:
  struct Node {
    std::int32_t begin, end;
    std::int32_t depth;
    std::int32_t parent;  // -1 for the root
    bool is_left;
    std::size_t list;  // one that has the node's rows from `begin` to `end`
    bool is_final;
    std::int32_t size() const { return end - begin; }
  };
  struct Choice {
    std::size_t list;
    double score;
    std::uint8_t bin;
    bool missing_left;
    bool is_set;
    CategorySet set;  // of a categorical feature
    bool goes_left(std::uint8_t code) const {
      if (code == missing_code) return missing_left;
      return is_set ? holds(set, code) : code <= bin;
    }
  };

  void lay_out(const BinnedColumns& columns, const Minipatch<Label>& patch);
  Node make_root() const;
  bool is_final(const Node& node) const;
  bool choose_split(const Node& node, Choice& choice);
  template <bool has_weights>
  void search(const Node& node, std::size_t list, Choice& choice);
  template <class Side>
  void search_values(const Node& node, std::size_t list, std::int32_t n_values, Choice& choice);
  template <class Side>
  void search_categories(const Node& node, std::size_t list, std::int32_t n_values, Choice& choice);
  void settle(const Node& node, Choice& choice) const;
  void partition(const Node& node, const Choice& choice, Node& left, Node& right);
  std::int32_t move_rows(const Node& node, std::size_t list);

  std::span<const Entry> rows(const Node& node, std::size_t list) const {
    return {entries_.data() + list * n_rows_ + static_cast<std::size_t>(node.begin),
            static_cast<std::size_t>(node.size())};
  }

  TreeLimits limits_;
  std::int32_t min_samples_split_ = 2;
  Criterion criterion_;
  std::size_t n_rows_ = 0, n_numeric_ = 0;
  std::vector<std::size_t> features_;  // of each list, by their place in the patch: numeric ones first
  std::vector<Entry> entries_;         // [list][row]: the rows of a node are contiguous, in the order of their codes
  std::vector<Entry> right_rows_;
  std::vector<std::uint8_t> goes_left_;  // of the minipatch's rows
  std::vector<Node> pending_;
  std::vector<std::uint8_t> varies_;          // whether each list has more than one code in the node
  std::vector<std::uint8_t> pending_varies_;  // the same for the pending nodes, as a stack
  std::vector<Category> categories_;
};

using ClassGrower = SortedGrower<ClassCriterion>;
using ValueGrower = SortedGrower<ValueCriterion>;

}  // namespace mpboost
