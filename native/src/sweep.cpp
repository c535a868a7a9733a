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

void BoundTree::bind(TreeView tree, const BinnedColumns& columns) {
  kernel_ = kernels().sweep_block;
  const auto n_splits = static_cast<std::int32_t>(tree.splits.size());
  const auto slot = [&](std::int32_t child) { return static_cast<std::uint32_t>(child >= 0 ? child : n_splits + ~child); };
  splits_.resize(tree.splits.size());
  masks_.resize((tree.splits.size() + tree.leaf_values.size()) * mask_words);
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
        .next = split.right >= 0 ? below(split.right).next : split.left >= 0 ? below(split.left).next : k + 1,
        .leaf_begin = split.left >= 0 ? below(split.left).leaf_begin : ~split.left,
        .leaf_end = split.right >= 0 ? below(split.right).leaf_end : ~split.right + 1,
    };
  }
  is_shifted_ = std::ranges::any_of(splits_, [](const SweepSplit& split) { return split.shift != 0; });
  has_sets_ = !tree.category_sets.empty();
  positive_leaves_.clear();
  for (std::size_t leaf = 0; leaf < tree.leaf_values.size(); ++leaf)
    if (tree.leaf_values[leaf] > 0) positive_leaves_.push_back(leaf);
}

void write_votes(std::uint64_t positive, std::int8_t* votes) {
  for (int i = 0; i < 64; i += 8) {
    const std::uint64_t set = to_bytes((positive >> i) & 0xFF);
    const std::uint64_t signs = set | ((set ^ ones) * 0xFF);  // 255 (-1) in the bytes that are zero
    std::memcpy(votes + i, &signs, sizeof signs);
  }
}

bool WalkedTree::pays(TreeView tree, const BinnedColumns& columns) {
  constexpr std::size_t min_leaves = 300;  // measured: from here on a walk is faster
  return tree.leaf_values.size() >= min_leaves && columns.n_blocks() * columns.n_columns() <= 0xFFFFFFFF;
}

void WalkedTree::bind(TreeView tree, const BinnedColumns& columns) {
  n_splits_ = static_cast<std::uint32_t>(tree.splits.size());
  codes_ = columns.column(0);
  nodes_.resize(tree.splits.size() + tree.leaf_values.size());
  sets_.assign(tree.category_sets.empty() ? 0 : nodes_.size(), nullptr);
  const auto place = [&](std::int32_t child) {
    return child >= 0 ? static_cast<std::uint32_t>(child) : n_splits_ + static_cast<std::uint32_t>(~child);
  };
  for (std::uint32_t k = 0; k < n_splits_; ++k) {
    const Split& split = tree.splits[k];
    const std::uint8_t shift = split.missing_left && columns.has_missing(split.feature);
    const auto column = static_cast<std::uint32_t>(split.feature * columns.n_blocks());
    nodes_[k] = {column, {place(split.left), place(split.right)}, shift, static_cast<std::uint8_t>(split.bin + shift)};
    if (split.categories >= 0) sets_[k] = tree.category_sets[static_cast<std::size_t>(split.categories)].data();
  }
  for (std::uint32_t k = n_splits_; k < nodes_.size(); ++k) nodes_[k] = {0, {k, k}, 0, 0};
}

// A step waits for three loads one after the other, so some rows go down side by side.
template <bool has_sets>
void WalkedTree::walk(const std::uint8_t* codes, std::int32_t* leaves) const {
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
        const std::uint8_t code = codes[node.column * block_rows + first + i];
        bool goes_right = static_cast<std::uint8_t>(code + node.shift) > node.last_left;
        if (has_sets && sets_[at[i]]) goes_right = !(sets_[at[i]][code / 8] >> (code % 8) & 1);
        at[i] = node.children[goes_right];
        is_done &= at[i] >= n_splits;
      }
    } while (!is_done);
    for (int i = 0; i < n_lanes; ++i) leaves[first + i] = static_cast<std::int32_t>(at[i] - n_splits);
  }
}

void WalkedTree::find_leaves(std::int64_t block, std::int32_t* leaves) const {
  const std::uint8_t* codes = codes_ + block * block_rows;
  sets_.empty() ? walk<false>(codes, leaves) : walk<true>(codes, leaves);
}

void LeafFinder::bind(TreeView tree, const BinnedColumns& columns) {
  walks_ = WalkedTree::pays(tree, columns);
  walks_ ? walked_.bind(tree, columns) : swept_.bind(tree, columns);
}

void LeafFinder::find(std::int64_t block, std::int32_t* leaves) {
  if (walks_) return walked_.find_leaves(block, leaves);
  swept_.sweep(block);
  for (int word = 0; word < mask_words; ++word)
    for (std::size_t leaf = 0; leaf < swept_.n_leaves(); ++leaf)
      for (std::uint64_t rows = swept_.rows_in_leaf(leaf, word); rows; rows &= rows - 1)
        leaves[64 * word + std::countr_zero(rows)] = static_cast<std::int32_t>(leaf);
}

void ClassFinder::bind(TreeView tree, const BinnedColumns& columns) {
  walks_ = WalkedTree::pays(tree, columns);
  walks_ ? walked_.bind(tree, columns) : swept_.bind(tree, columns);
  classes_.assign(tree.leaf_values.begin(), tree.leaf_values.end());
  if (walks_) return;
  planes_.resize(static_cast<std::size_t>(std::bit_width(std::ranges::max(classes_))));
  for (std::size_t bit = 0; bit < planes_.size(); ++bit) {
    planes_[bit].clear();
    for (std::size_t leaf = 0; leaf < classes_.size(); ++leaf)
      if (classes_[leaf] >> bit & 1) planes_[bit].push_back(leaf);
  }
}

void ClassFinder::find(std::int64_t block, std::uint16_t* classes) {
  if (walks_) {
    std::int32_t leaves[block_rows];
    walked_.find_leaves(block, leaves);
    for (int i = 0; i < block_rows; ++i) classes[i] = classes_[static_cast<std::size_t>(leaves[i])];
    return;
  }
  swept_.sweep(block);
  std::uint8_t bytes[2][block_rows]{};  // the lower and upper halves of classes
  for (std::size_t bit = 0; bit < planes_.size(); ++bit) {
    std::uint64_t plane[mask_words]{};
    for (const std::size_t leaf : planes_[bit])
      for (int word = 0; word < mask_words; ++word) plane[word] |= swept_.rows_in_leaf(leaf, word);
    for (int i = 0; i < block_rows; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes[bit / 8] + i, sizeof eight);
      eight |= to_bytes((plane[i / 64] >> i % 64) & 0xFF) << bit % 8;
      std::memcpy(bytes[bit / 8] + i, &eight, sizeof eight);
    }
  }
  for (int i = 0; i < block_rows; ++i) classes[i] = static_cast<std::uint16_t>(bytes[0][i] | bytes[1][i] << 8);
}

}  // namespace mpboost
