// The trees of an ensemble, end to end in memory; all have the same number of outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "mpboost/columns.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace mpboost {

class Forest {
 public:
  Forest() = default;
  // The splits of tree t are at [offsets[t], offsets[t + 1]); throws if they are no valid trees.
  Forest(std::vector<Split> splits, std::vector<double> leaf_values, std::vector<std::int64_t> split_offsets,
         std::vector<CategorySet> category_sets, std::int64_t n_features, std::int64_t n_outputs = 1,
         std::vector<float> leaf_covers = {});

  std::int64_t size() const { return static_cast<std::int64_t>(split_offsets_.size()) - 1; }
  std::int64_t n_outputs() const { return n_outputs_; }
  TreeView tree(std::int64_t t) const;
  std::int64_t n_needed_columns(std::int64_t t) const { return n_needed_columns_[static_cast<std::size_t>(t)]; }
  void append(TreeView tree);  // the first tree sets the number of outputs; throws if another has a different one
  Forest first(std::int64_t n_trees) const;

  // Add the votes (+1 or -1) of trees [begin, end) to each row's total.
  void add_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int32_t* totals,
                 Threads& threads) const;

  // Count the classes that trees [begin, end) vote for: totals are [n_rows][n_classes]. Leaf values are classes.
  void add_class_votes(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, std::int64_t n_classes,
                       std::int32_t* totals, Threads& threads) const;

  // Add the leaf values of trees [begin, end), in their order, to each row's totals, which are [n_rows][n_outputs].
  void add_values(const BinnedColumns& columns, std::int64_t begin, std::int64_t end, double* totals,
                  Threads& threads) const;

  const std::vector<Split>& splits() const { return splits_; }
  const std::vector<double>& leaf_values() const { return leaf_values_; }
  const std::vector<std::int64_t>& split_offsets() const { return split_offsets_; }
  const std::vector<CategorySet>& category_sets() const { return category_sets_; }
  const std::vector<float>& leaf_covers() const { return leaf_covers_; }  // of all leaves of all trees, or none
  bool has_covers() const { return leaf_covers_.size() == splits_.size() + split_offsets_.size() - 1; }

 private:
  std::vector<Split> splits_;
  std::vector<double> leaf_values_;  // a tree has one leaf more than splits: no offsets needed
  std::vector<std::int64_t> split_offsets_{0};
  std::vector<CategorySet> category_sets_;
  std::vector<std::int64_t> set_offsets_{0};
  std::vector<float> leaf_covers_;
  std::vector<std::int64_t> n_needed_columns_;  // of each tree: the last feature that it uses, plus one
  std::int64_t n_outputs_ = 1;
};

}  // namespace mpboost
