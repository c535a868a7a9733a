#include "mpboost/tree.hpp"

namespace mpboost {

bool is_valid(TreeView tree, std::int64_t n_features) {
  if (!values_fit(tree.leaf_values.size(), tree.n_leaves(), tree.n_outputs)) return false;
  std::vector<std::int32_t> pending;  // right children whose turn has not come
  std::int32_t n_splits = 0, n_leaves = 0, n_sets = 0;
  std::int32_t node = tree.splits.empty() ? ~0 : 0;
  while (true) {
    if (node >= 0) {
      if (node != n_splits || static_cast<std::size_t>(node) >= tree.splits.size()) return false;
      const Split& split = tree.splits[static_cast<std::size_t>(node)];
      if (split.feature < 0 || split.feature >= n_features || split.bin >= 255 || split.missing_left > 1) return false;
      if (split.categories >= 0) {
        if (split.categories != n_sets || static_cast<std::size_t>(n_sets) >= tree.category_sets.size()) return false;
        if (holds(tree.category_sets[static_cast<std::size_t>(n_sets++)], missing_code) != (split.missing_left != 0))
          return false;
      } else if (split.categories != -1) {
        return false;
      }
      ++n_splits;
      pending.push_back(split.right);
      node = split.left;
    } else {
      if (~node != n_leaves) return false;
      ++n_leaves;
      if (pending.empty()) break;
      node = pending.back();
      pending.pop_back();
    }
  }
  return static_cast<std::size_t>(n_splits) == tree.splits.size() &&
         static_cast<std::size_t>(n_sets) == tree.category_sets.size();
}

}  // namespace mpboost
