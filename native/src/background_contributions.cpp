// Contributions of features, where unknown features are those of a background row.
//
// A leaf, a row and a background row: of the features above the leaf, some let both rows through, some neither, a of
// them only the row, c of them only the background row. If one lets neither through, the leaf is never reached. Else it
// is reached just if the a features are those of the row and the c features those of the background row. Hence, by
// symmetry, each of the a contributes v (a - 1)! c! / (a + c)! and each of the c as much as - v a! (c - 1)! / (a + c)!.
//
// What lets a row through is a pattern of bits, one for each feature. Many rows share a pattern: it is compared with
// each pattern of the background once.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "leaf_outputs.hpp"
#include "mpboost/contributions.hpp"

namespace mpboost {
namespace {

constexpr std::size_t max_path_features = 64;
constexpr std::int64_t most_rows = 1024;  // that are explained at a time

using Pattern = std::uint64_t;

// (a - 1)! c! / (a + c)!, for a of at least 1.
class ShapleyWeights {
 public:
  ShapleyWeights() {
    for (std::size_t c = 0; c < n; ++c) weights_[1][c] = 1.0 / static_cast<double>(1 + c);
    for (std::size_t a = 2; a < n; ++a)
      for (std::size_t c = 0; c < n; ++c)
        weights_[a][c] = weights_[a - 1][c] * static_cast<double>(a - 1) / static_cast<double>(a + c);
  }
  double of(int a, int c) const { return weights_[static_cast<std::size_t>(a)][static_cast<std::size_t>(c)]; }

 private:
  static constexpr std::size_t n = max_path_features + 1;
  std::array<std::array<double, n>, n> weights_{};
};

// The path to a leaf.
struct Path {
  struct Edge {
    std::int32_t split;
    bool is_left;
    int bit;
  };
  std::vector<Edge> edges;
  std::vector<std::int32_t> features;  // of the bits

  Pattern all() const { return features.empty() ? 0 : ~Pattern{0} >> (max_path_features - features.size()); }
};

std::vector<Path> list_paths(TreeView tree) {
  const Parents parents(tree);
  std::vector<Path> paths(tree.n_leaves());
  const auto add = [&](Path& path, std::int32_t split, bool is_left) {
    const std::int32_t feature = tree.splits[static_cast<std::size_t>(split)].feature;
    const auto found = std::ranges::find(path.features, feature);
    const auto bit = static_cast<int>(found - path.features.begin());
    if (found == path.features.end()) path.features.push_back(feature);
    if (path.features.size() > max_path_features)
      throw std::invalid_argument("a path of a tree has more than 64 features, too many for a background");
    path.edges.push_back({split, is_left, bit});
  };
  for (std::size_t n = 0; n < tree.splits.size(); ++n)
    for (const bool is_left : {true, false}) {
      const std::int32_t child = is_left ? tree.splits[n].left : tree.splits[n].right;
      if (child >= 0) continue;
      Path& path = paths[static_cast<std::size_t>(~child)];
      bool goes_left = is_left;
      for (auto split = static_cast<std::int32_t>(n); split >= 0;
           split = parents.of_split[static_cast<std::size_t>(split)]) {
        add(path, split, goes_left);
        goes_left = parents.is_left[static_cast<std::size_t>(split)];
      }
    }
  return paths;
}

// The sides of rows at all splits of a tree, [split][row].
std::vector<std::uint8_t> find_all_sides(TreeView tree, const BinnedColumns& columns, std::int64_t row,
                                         std::int64_t n_rows) {
  std::vector<std::uint8_t> sides(tree.splits.size() * static_cast<std::size_t>(n_rows));
  for (std::size_t n = 0; n < tree.splits.size(); ++n)
    find_sides(tree, tree.splits[n], columns, row, n_rows, sides.data() + n * static_cast<std::size_t>(n_rows));
  return sides;
}

// The patterns of rows that occur, and which one each row has.
class Patterns {
 public:
  void read(const Path& path, const std::vector<std::uint8_t>& sides, std::int64_t n_rows) {
    of_rows_.assign(static_cast<std::size_t>(n_rows), path.all());
    for (const auto& [split, is_left, bit] : path.edges) {
      const std::uint8_t* goes_left = sides.data() + split * n_rows;
      const Pattern without = ~(Pattern{1} << bit);
      for (std::size_t i = 0; i < of_rows_.size(); ++i) of_rows_[i] &= goes_left[i] == is_left ? ~Pattern{0} : without;
    }
    // A hash table with room for twice the rows.
    const auto bits = static_cast<int>(std::bit_width(2 * of_rows_.size()));
    places_.assign(std::size_t{1} << bits, -1);
    found_.clear();
    numbers_.resize(of_rows_.size());
    for (std::size_t i = 0; i < of_rows_.size(); ++i) {
      std::size_t place = (of_rows_[i] * 0x9E3779B97F4A7C15U) >> (64 - bits);
      while (places_[place] >= 0 && found_[static_cast<std::size_t>(places_[place])].bits != of_rows_[i])
        place = (place + 1) & (places_.size() - 1);
      if (places_[place] < 0) {
        places_[place] = static_cast<std::int32_t>(found_.size());
        found_.push_back({of_rows_[i], 0});
      }
      numbers_[i] = places_[place];
      found_[static_cast<std::size_t>(places_[place])].n_rows += 1;
    }
  }

  struct Found {
    Pattern bits;
    double n_rows;
  };
  const std::vector<Found>& found() const { return found_; }
  std::size_t number_of(std::int64_t row) const {
    return static_cast<std::size_t>(numbers_[static_cast<std::size_t>(row)]);
  }

 private:
  std::vector<Pattern> of_rows_;
  std::vector<std::int32_t> places_, numbers_;
  std::vector<Found> found_;
};

void add_to_bits(Pattern bits, double amount, double* sums) {
  for (; bits != 0; bits &= bits - 1) sums[std::countr_zero(bits)] += amount;
}

// Computes contributions of some rows.
class Contributor {
 public:
  Contributor(const BinnedColumns& columns, const BinnedColumns& background, const Explained& explained, double* out)
      : columns_(&columns), background_(&background), explained_(explained), out_(out) {}

  void add(TreeView tree, std::int64_t index, std::int64_t row, std::int64_t n_rows) {
    const std::vector<Path> paths = list_paths(tree);
    const auto sides = find_all_sides(tree, *columns_, row, n_rows);
    const auto background_sides = find_all_sides(tree, *background_, 0, background_->n_rows());
    for (std::size_t leaf = 0; leaf < paths.size(); ++leaf) {
      const Path& path = paths[leaf];
      patterns_.read(path, sides, n_rows);
      of_background_.read(path, background_sides, background_->n_rows());
      const double reached = compare(path);
      for (std::int64_t output = 0; output < explained_.n_outputs; ++output) {
        const double factor = explained_.factors ? explained_.factors[index * explained_.n_outputs + output] : 1.0;
        const double value = factor * value_of(tree, explained_, leaf, explained_.kind == LeafKind::signs ? 0 : output);
        if (value != 0) add_value(path, row, n_rows, output, value, reached);
      }
    }
  }

 private:
  // For each pattern of the rows, contributions of the path's features if the leaf's value is 1. Return the share of
  // the background that reaches the leaf.
  double compare(const Path& path) {
    const std::size_t n_features = path.features.size();
    const auto n_background = static_cast<double>(background_->n_rows());
    contributions_.assign(patterns_.found().size() * n_features, 0.0);
    double reached = 0;
    for (const auto& [other, n_rows] : of_background_.found()) {
      const double share = n_rows / n_background;
      if (other == path.all()) reached = share;
      for (std::size_t k = 0; k < patterns_.found().size(); ++k) {
        const Pattern own = patterns_.found()[k].bits;
        if ((own | other) != path.all()) continue;
        const Pattern own_only = own & ~other, other_only = other & ~own;
        const int a = std::popcount(own_only), c = std::popcount(other_only);
        if (a > 0) add_to_bits(own_only, share * weights_.of(a, c), &contributions_[k * n_features]);
        if (c > 0) add_to_bits(other_only, -share * weights_.of(c, a), &contributions_[k * n_features]);
      }
    }
    return reached;
  }

  void add_value(const Path& path, std::int64_t row, std::int64_t n_rows, std::int64_t output, double value,
                 double reached) {
    const std::int64_t width = columns_->n_columns() + 1;
    const std::size_t n_features = path.features.size();
    for (std::int64_t i = 0; i < n_rows; ++i) {
      double* to = out_ + ((row + i) * explained_.n_outputs + output) * width;
      const double* from = contributions_.data() + patterns_.number_of(i) * n_features;
      for (std::size_t j = 0; j < n_features; ++j) to[path.features[j]] += value * from[j];
      to[width - 1] += value * reached;
    }
  }

  const BinnedColumns *columns_, *background_;
  Explained explained_;
  double* out_;
  ShapleyWeights weights_;
  Patterns patterns_, of_background_;
  std::vector<double> contributions_;
};

}  // namespace

void add_background_contributions(const Forest& forest, const BinnedColumns& columns, const BinnedColumns& background,
                                  const Explained& explained, double* out, Threads& threads) {
  for (std::int64_t t = 0; t < forest.size(); ++t) list_paths(forest.tree(t));  // throws before a thread would
  threads.for_ranges(columns.n_rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    Contributor contributor(columns, background, explained, out);
    for (std::int64_t row = begin; row < end; row += most_rows)
      for (std::int64_t t = 0; t < forest.size(); ++t)
        contributor.add(forest.tree(t), t, row, std::min(most_rows, end - row));
  });
}

}  // namespace mpboost
