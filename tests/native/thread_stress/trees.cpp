// Trees and forests applied to all rows.
#include "mpboost/apply.hpp"
#include "mpboost/contributions.hpp"
#include "mpboost/forest.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

// Apply a small and a large tree.
template <class Out, auto apply>
void apply_both(const Data& data, const Tree& small, const Tree& large, Threads& threads, Digest& digest) {
  for (const Tree* tree : {&small, &large}) {
    std::vector<Out> out(static_cast<std::size_t>(n_rows * tree->n_outputs));
    apply(*tree, data.columns, out.data(), threads);
    digest.add(out);
  }
}

void find_leaves(const Data& data, Threads& threads, Digest& digest) {
  apply_both<std::int32_t, apply_leaves>(data, data.small, data.large, threads, digest);
}

void find_leaf_numbers(const Data& data, Threads& threads, Digest& digest) {
  apply_both<std::uint16_t, apply_leaf_numbers>(data, data.small, data.large, threads, digest);
}

void find_votes(const Data& data, Threads& threads, Digest& digest) {
  apply_both<std::int8_t, apply_votes>(data, data.small, data.large, threads, digest);
}

void find_classes(const Data& data, Threads& threads, Digest& digest) {
  apply_both<std::uint16_t, apply_classes>(data, data.small_class, data.large_class, threads, digest);
}

void find_values(const Data& data, Threads& threads, Digest& digest) {
  apply_both<double, apply_values>(data, data.small, data.large, threads, digest);
}

void find_vectors(const Data& data, Threads& threads, Digest& digest) {
  apply_both<double, apply_values>(data, data.small_vector, data.large_vector, threads, digest);
}

Forest make_forest(const Tree& small, const Tree& large) {
  Forest forest;
  for (const Tree* tree : {&small, &large, &small}) forest.append(*tree);
  return forest;
}

void sum_votes(const Data& data, Threads& threads, Digest& digest) {
  std::vector<std::int32_t> totals(n_rows);
  make_forest(data.small, data.large).add_votes(data.columns, 0, 3, totals.data(), threads);
  digest.add(totals);
}

void sum_class_votes(const Data& data, Threads& threads, Digest& digest) {
  std::vector<std::int32_t> totals(n_rows * n_classes);
  const Forest forest = make_forest(data.small_class, data.large_class);
  forest.add_class_votes(data.columns, 0, 3, n_classes, totals.data(), threads);
  digest.add(totals);
}

void sum_values(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> totals(n_rows);
  make_forest(data.small, data.large).add_values(data.columns, 0, 3, totals.data(), threads);
  digest.add(totals);
}

void sum_vectors(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> totals(n_rows * n_outputs);
  make_forest(data.small_vector, data.large_vector).add_values(data.columns, 0, 3, totals.data(), threads);
  digest.add(totals);
}

// Contributions to two outputs, for some of the rows: they take long.
enum class Asked { contributions, against_background, interactions };

template <Asked asked>
void explain(const Data& data, Threads& threads, Digest& digest) {
  Forest forest;
  for (Tree tree : {data.small, data.large}) {
    tree.leaf_covers.resize(tree.n_leaves());
    for (std::size_t leaf = 0; leaf < tree.n_leaves(); ++leaf)
      tree.leaf_covers[leaf] = static_cast<float>(1 + leaf % 7);
    forest.append(tree);
  }
  const BinnedColumns rows = data.columns.slice(0, 1000), background = data.columns.slice(1024, 50);
  const double factors[]{1, -1, 0.5, 2};
  const Explained explained{LeafKind::signs, 2, factors};
  const std::int64_t width = rows.n_columns() + 1, size = asked == Asked::interactions ? width * width : width;
  std::vector<double> out(static_cast<std::size_t>(rows.n_rows() * 2 * size));
  if constexpr (asked == Asked::interactions)
    add_interactions(forest, rows, explained, out.data(), threads);
  else if constexpr (asked == Asked::against_background)
    add_background_contributions(forest, rows, background, explained, out.data(), threads);
  else
    add_contributions(forest, rows, explained, out.data(), threads);
  digest.add(out);
}

constexpr Case cases[] = {
    {"contributions", true, explain<Asked::contributions>},
    {"contributions, background", true, explain<Asked::against_background>},
    {"interactions", true, explain<Asked::interactions>},
    {"leaves", true, find_leaves},
    {"leaf numbers", true, find_leaf_numbers},
    {"votes", true, find_votes},
    {"classes", true, find_classes},
    {"values", true, find_values},
    {"values, many outputs", true, find_vectors},
    {"forest: votes", true, sum_votes},
    {"forest: class votes", true, sum_class_votes},
    {"forest: values", true, sum_values},
    {"forest: values, many outputs", true, sum_vectors},
};

}  // namespace

std::span<const Case> list_tree_cases() { return cases; }

}  // namespace stress
