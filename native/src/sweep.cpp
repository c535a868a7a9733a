#include "sweep.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mpboost {

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
  constexpr std::uint64_t ones = 0x0101010101010101ULL;
  for (int i = 0; i < 64; i += 8) {
    const std::uint64_t bits = (positive >> i) & 0xFF;
    // Bit k alone in byte k; then 1 in each byte that is not zero; then 255 (-1) in those that are.
    const std::uint64_t spread = (bits * ones) & 0x8040201008040201ULL;
    const std::uint64_t set = ((spread + 0x7F * ones) >> 7) & ones;
    const std::uint64_t signs = set | ((set ^ ones) * 0xFF);
    std::memcpy(votes + i, &signs, sizeof signs);
  }
}

}  // namespace mpboost
