#include "sweep.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mpboost {
namespace {

constexpr std::uint64_t ones = 0x0101010101010101ULL;

// Eight bits to eight bytes of 0 or 1.
std::uint64_t to_bytes(std::uint64_t bits) {
  const std::uint64_t spread = (bits * ones) & 0x8040201008040201ULL;  // bit k alone in byte k
  return ((spread + 0x7F * ones) >> 7) & ones;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "masks and bytes are matched in little-endian order");

void BoundSplits::bind(TreeView tree, const BinnedColumns& columns) {
  const auto n_splits = static_cast<std::int32_t>(tree.splits.size());
  const auto slot = [&](std::int32_t child) {
    return static_cast<std::uint32_t>(child >= 0 ? child : n_splits + ~child);
  };
  splits_.resize(tree.splits.size());
  for (std::int32_t k = n_splits - 1; k >= 0; --k) {  // children before parents
    const Split& split = tree.splits[static_cast<std::size_t>(k)];
    const std::uint8_t shift = split.missing_left && columns.has_missing(split.feature);
    const auto below = [&](std::int32_t child) { return splits_[static_cast<std::size_t>(child)]; };
    splits_[static_cast<std::size_t>(k)] = {
        .column = columns.column(split.feature),
        .left_slot = slot(split.left),
        .right_slot = slot(split.right),
        .shift = shift,
        .last_left = static_cast<std::uint8_t>(split.bin + shift),
        .set = split.categories >= 0 ? tree.category_sets[static_cast<std::size_t>(split.categories)].data() : nullptr,
        .next = split.right >= 0  ? below(split.right).next
                : split.left >= 0 ? below(split.left).next
                                  : k + 1,
        .leaf_begin = split.left >= 0 ? below(split.left).leaf_begin : ~split.left,
        .leaf_end = split.right >= 0 ? below(split.right).leaf_end : ~split.right + 1,
    };
  }
  is_shifted_ = std::ranges::any_of(splits_, [](const SweepSplit& split) { return split.shift != 0; });
  has_sets_ = !tree.category_sets.empty();
}

void BoundTree::bind(TreeView tree, const BinnedColumns& columns) {
  kernel_ = kernels().sweep_block;
  BoundSplits::bind(tree, columns);
  masks_.resize((tree.splits.size() + tree.n_leaves()) * mask_words);
  positive_leaves_.clear();
  for (std::size_t leaf = 0; tree.n_outputs == 1 && leaf < tree.n_leaves(); ++leaf)
    if (tree.leaf_values[leaf] > 0) positive_leaves_.push_back(leaf);
}

void SelectedTree::bind(TreeView tree, const BinnedColumns& columns) {
  kernel_ = kernels().select_block;
  BoundSplits::bind(tree, columns);
  slots_.resize(tree.splits.size() + tree.n_leaves());
  for (std::size_t leaf = 0; leaf < tree.n_leaves(); ++leaf)
    std::ranges::fill(slots_[tree.splits.size() + leaf].bytes, static_cast<std::uint8_t>(leaf));
}

void write_votes(std::uint64_t positive, std::int8_t* votes) {
  for (int i = 0; i < 64; i += 8) {
    const std::uint64_t set = to_bytes((positive >> i) & 0xFF);
    const std::uint64_t signs = set | ((set ^ ones) * 0xFF);  // 255 (-1) in the bytes that are zero
    std::memcpy(votes + i, &signs, sizeof signs);
  }
}

void WalkedTree::bind(TreeView tree, const BinnedColumns& columns) {
  n_splits_ = static_cast<std::uint32_t>(tree.splits.size());
  codes_ = columns.column(0);
  nodes_.resize(tree.splits.size() + tree.n_leaves());
  sets_.assign(tree.category_sets.empty() ? 0 : nodes_.size(), nullptr);
  const auto place = [&](std::int32_t child) {
    return child >= 0 ? static_cast<std::uint32_t>(child) : n_splits_ + static_cast<std::uint32_t>(~child);
  };
  for (std::uint32_t k = 0; k < n_splits_; ++k) {
    const Split& split = tree.splits[k];
    const std::uint8_t shift = split.missing_left && columns.has_missing(split.feature);
    nodes_[k] = {split.feature * columns.stride(),
                 {place(split.left), place(split.right)},
                 shift,
                 static_cast<std::uint8_t>(split.bin + shift)};
    if (split.categories >= 0) sets_[k] = tree.category_sets[static_cast<std::size_t>(split.categories)].data();
  }
  for (std::uint32_t k = n_splits_; k < nodes_.size(); ++k) nodes_[k] = {0, {k, k}, 0, 0};
}

// A step waits for three loads one after the other, so eight rows go down side by side.
template <bool has_sets, class Leaf>
void WalkedTree::walk(const std::uint8_t* codes, Leaf* leaves) const {
  constexpr int n_lanes = 8;
  const Node* nodes = nodes_.data();
  const std::uint32_t n_splits = n_splits_;
  for (int first = 0; first < block_rows; first += n_lanes) {
    std::uint32_t at[n_lanes]{};
    bool is_done;
    do {
      is_done = true;
#pragma GCC unroll 8
      for (int i = 0; i < n_lanes; ++i) {
        const Node& node = nodes[at[i]];
        const std::uint8_t code = codes[node.column + first + i];
        bool goes_right = static_cast<std::uint8_t>(code + node.shift) > node.last_left;
        if (has_sets && sets_[at[i]]) goes_right = !(sets_[at[i]][code / 8] >> (code % 8) & 1);
        at[i] = node.children[goes_right];
        is_done &= at[i] >= n_splits;
      }
    } while (!is_done);
    for (int i = 0; i < n_lanes; ++i) leaves[first + i] = static_cast<Leaf>(at[i] - n_splits);
  }
}

template <class Leaf>
void WalkedTree::find_leaves(std::int64_t block, Leaf* leaves) const {
  const std::uint8_t* codes = codes_ + block * block_rows;
  sets_.empty() ? walk<false>(codes, leaves) : walk<true>(codes, leaves);
}

// A sweep takes time by the number of leaves, a walk by the depth. Measured with AVX2 on one table of 20 columns, with
// trees grown to the end: they are even at 430 leaves and a depth of 21, or, where three columns have categories, at
// 590 leaves and a depth of 22. At 1600 leaves a walk takes a third to a half of the time. A chain of splits is as deep
// as it has leaves, and is swept.
bool VoteFinder::is_walked_faster(TreeView tree) {
  constexpr std::int64_t leaves_per_level = 24, min_leaves = 256;
  const auto n_leaves = static_cast<std::int64_t>(tree.n_leaves());
  if (n_leaves < min_leaves || tree.n_outputs != 1) return false;
  std::int32_t depth = 0;
  depths_.assign(tree.splits.size(), 1);
  for (std::size_t k = 0; k < tree.splits.size(); ++k) {  // parents before children
    depth = std::max(depth, depths_[k]);
    for (const std::int32_t child : {tree.splits[k].left, tree.splits[k].right})
      if (child >= 0) depths_[static_cast<std::size_t>(child)] = depths_[k] + 1;
  }
  return n_leaves > leaves_per_level * depth;
}

void VoteFinder::bind(TreeView tree, const BinnedColumns& columns) {
  walks_ = is_walked_faster(tree);
  if (!walks_) return swept_.bind(tree, columns);
  walked_.bind(tree, columns);
  votes_.resize(tree.n_leaves());
  std::ranges::transform(tree.leaf_values, votes_.begin(),
                         [](double value) { return static_cast<std::int8_t>(value > 0 ? 1 : -1); });
}

void VoteFinder::find(std::int64_t block, std::int8_t* votes) {
  if (walks_) {
    std::int32_t leaves[block_rows];
    walked_.find_leaves(block, leaves);
    for (int i = 0; i < block_rows; ++i) votes[i] = votes_[static_cast<std::size_t>(leaves[i])];
    return;
  }
  swept_.sweep(block);
  for (int word = 0; word < mask_words; ++word) write_votes(swept_.positive_rows(word), votes + 64 * word);
}

void LeafFinder::bind(TreeView tree, const BinnedColumns& columns) {
  walks_ = !SelectedTree::can_bind(tree);
  walks_ ? walked_.bind(tree, columns) : selected_.bind(tree, columns);
}

template <class Leaf>
void LeafFinder::find(std::int64_t block, Leaf* leaves) {
  if (walks_) return walked_.find_leaves(block, leaves);
  std::copy_n(selected_.find_leaves(block), block_rows, leaves);
}

template void LeafFinder::find(std::int64_t, std::uint16_t*);
template void LeafFinder::find(std::int64_t, std::int32_t*);

void ClassFinder::bind(TreeView tree, const BinnedColumns& columns) {
  finder_.bind(tree, columns);
  classes_.assign(tree.leaf_values.begin(), tree.leaf_values.end());
}

void ClassFinder::find(std::int64_t block, std::uint16_t* classes) {
  std::int32_t leaves[block_rows];
  finder_.find(block, leaves);
  for (int i = 0; i < block_rows; ++i) classes[i] = classes_[static_cast<std::size_t>(leaves[i])];
}

}  // namespace mpboost
