#include "parted_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace mpboost {
namespace {

// Rows that are parted at a time: as many as make parts that fill vectors, while their codes stay in the cache.
constexpr std::int64_t max_rows = 16'384, min_rows = 2048, cached_codes = 1 << 19;
static_assert(max_rows <= 1 << 16, "rows are numbered in 16 bits");

// Parts of fewer rows would not fill vectors.
constexpr std::size_t rows_per_part = 32, min_parts = 8;

// Measured with AVX2 and trees of about 1000 leaves: 13 ns a row with 64 columns, 20 with 100 and 44 with 300; eight
// walks side by side take 35, 39 and 39.
constexpr std::size_t max_columns = 256;

std::int64_t round_up(std::int64_t n_rows) { return (n_rows + block_rows - 1) / block_rows * block_rows; }

template <class Line>
std::uint8_t* first_code(std::vector<Line>& lines) {
  return lines.data()->codes;
}

}  // namespace

// Columns side by side, those that the tree uses. The last is repeated up to a whole tile.
void PartedTree::place_columns(TreeView tree, const BinnedColumns& columns) {
  for (const std::int32_t feature : features_) places_[static_cast<std::size_t>(feature)] = -1;
  features_.clear();
  columns_.clear();
  places_.resize(static_cast<std::size_t>(columns.n_columns()), -1);
  for (const Split& split : tree.splits) {
    std::int32_t& place = places_[static_cast<std::size_t>(split.feature)];
    if (place >= 0) continue;
    place = static_cast<std::int32_t>(columns_.size());
    features_.push_back(split.feature);
    columns_.push_back(columns.column(split.feature));
  }
  while (columns_.size() % tile_rows != 0) columns_.push_back(columns_.back());
}

// All splits, as they look at the codes of a part; slots are still to be written.
void PartedTree::bind_splits(TreeView tree, const BinnedColumns& columns) {
  const std::size_t n_splits = tree.splits.size();
  next_.resize(n_splits);
  splits_.resize(n_splits);
  has_shifts_ = false;
  for (std::size_t k = n_splits; k-- > 0;) {
    const Split& split = tree.splits[k];
    const std::int32_t last = split.right >= 0 ? split.right : split.left;
    next_[k] = last >= 0 ? next_[static_cast<std::size_t>(last)] : static_cast<std::int32_t>(k) + 1;
    const std::int64_t place = places_[static_cast<std::size_t>(split.feature)];
    splits_[k] = bind_split(tree, split, columns, first_code(part_columns_) + place * block_rows);
    has_shifts_ |= splits_[k].shift != 0;
  }
}

// About as many splits as there will be below each exit, unless rows are few: always the one with most splits below it.
void PartedTree::choose_splits(TreeView tree, std::int32_t root, std::size_t max_parts) {
  const auto enough =
      std::min({max_selected_leaves - 1, static_cast<std::size_t>(std::sqrt(count_splits(root))), max_parts});
  std::priority_queue<std::pair<std::int32_t, std::int32_t>> open;
  open.push({count_splits(root), root});
  chosen_.clear();
  while (chosen_.size() < enough) {
    const std::int32_t k = open.top().second;
    open.pop();
    chosen_.push_back(k);
    const Split& split = tree.splits[static_cast<std::size_t>(k)];
    for (const std::int32_t child : {split.left, split.right})
      if (child >= 0) open.push({count_splits(child), child});
  }
  std::ranges::sort(chosen_);  // preorder
}

PartedTree::Piece PartedTree::make_piece(TreeView tree, const BinnedColumns& columns) {
  const std::size_t first_split = top_splits_.size(), first_exit = exits_.size();
  const auto slot = [&](std::int32_t child) {
    if (child >= 0) {
      const auto found = std::ranges::lower_bound(chosen_, child);
      if (found != chosen_.end() && *found == child) return static_cast<std::uint32_t>(found - chosen_.begin());
    }
    exits_.push_back(child < 0 ? child : static_cast<std::int32_t>(roots_.size()));
    if (child >= 0) roots_.push_back(child);
    return static_cast<std::uint32_t>(chosen_.size() + exits_.size() - 1 - first_exit);
  };
  for (const std::int32_t k : chosen_) {
    const Split& split = tree.splits[static_cast<std::size_t>(k)];
    SelectSplit& bound = top_splits_.emplace_back(splits_[static_cast<std::size_t>(k)]);
    if (pieces_.empty()) bound.column = columns.column(split.feature);
    bound.left_slot = slot(split.left);
    bound.other_slot = slot(split.right);
  }
  chain(std::span(top_splits_).subspan(first_split));
  return {{top_splits_.data() + first_split, static_cast<std::int32_t>(chosen_.size()), has_shifts_,
           !tree.category_sets.empty()},
          false,
          0,
          first_exit};
}

PartedTree::Piece PartedTree::make_last_piece(TreeView tree, std::int32_t root) {
  const std::int32_t n_splits = count_splits(root);
  std::int32_t first = root;
  while (tree.splits[static_cast<std::size_t>(first)].left >= 0)
    first = tree.splits[static_cast<std::size_t>(first)].left;
  const std::int32_t first_leaf = ~tree.splits[static_cast<std::size_t>(first)].left;
  const auto slot = [=](std::int32_t child) {
    return static_cast<std::uint32_t>(child >= 0 ? child - root : n_splits + ~child - first_leaf);
  };
  for (std::int32_t k = root; k < root + n_splits; ++k) {
    const Split& split = tree.splits[static_cast<std::size_t>(k)];
    splits_[static_cast<std::size_t>(k)].left_slot = slot(split.left);
    splits_[static_cast<std::size_t>(k)].other_slot = slot(split.right);
  }
  chain(std::span(splits_).subspan(static_cast<std::size_t>(root), static_cast<std::size_t>(n_splits)));
  return {{splits_.data() + root, n_splits, has_shifts_, !tree.category_sets.empty()}, true, first_leaf, 0};
}

bool PartedTree::bind(TreeView tree, const BinnedColumns& columns, std::int64_t n_rows) {
  place_columns(tree, columns);
  if (columns_.size() > max_columns) return false;
  part_columns_.resize(columns_.size() * block_rows / sizeof(Line));
  slots_.fill_all();
  bind_splits(tree, columns);
  pieces_.clear();
  top_splits_.clear();
  top_splits_.reserve(tree.splits.size());  // pieces point to them
  exits_.clear();
  roots_.assign(1, 0);
  for (std::size_t k = 0; k < roots_.size(); ++k) {
    if (static_cast<std::size_t>(count_splits(roots_[k])) < max_selected_leaves && k > 0) {
      pieces_.push_back(make_last_piece(tree, roots_[k]));
    } else {
      choose_splits(tree, roots_[k],
                    std::max<std::size_t>(min_parts, static_cast<std::size_t>(n_rows) / rows_per_part));
      pieces_.push_back(make_piece(tree, columns));
    }
  }
  return true;
}

void PartedTree::find_exits(const Part& part, std::int64_t first_row) {
  const Selection& selection = pieces_[part.piece].selection;
  const auto width = static_cast<int>(columns_.size());
  for (std::int64_t i = part.begin; i < part.end; i += block_rows) {
    const auto n = static_cast<int>(std::min(block_rows, part.end - i));
    const std::uint8_t* exits;
    if (part.piece == 0) {
      exits = slots_.select(selection, first_row + i, static_cast<int>(block_rows));
    } else {
      std::uint16_t which[block_rows];
      std::copy_n(order_.data() + i, n, which);
      std::fill(which + n, which + (n + tile_rows - 1) / tile_rows * tile_rows, which[0]);
      kernels().to_columns(first_code(rows_), width, which, n, first_code(part_columns_));
      exits = slots_.select(selection, 0, n);
    }
    std::copy_n(exits, n, found_.data() + i);
  }
}

// By counting; rows of the same exit stay in order.
template <class Take>
void PartedTree::sort_rows(const Part& part, Take take) {
  const Piece& piece = pieces_[part.piece];
  const auto n_exits = static_cast<std::size_t>(piece.selection.n_splits) + 1;
  const std::uint8_t* found = found_.data();
  std::uint16_t *order = order_.data(), *sorted = sorted_.data();
  std::int64_t ends[max_selected_leaves]{};
  for (std::int64_t i = part.begin; i < part.end; ++i) ++ends[found[i]];
  std::exclusive_scan(ends, ends + n_exits, ends, part.begin);
  for (std::int64_t i = part.begin; i < part.end; ++i) sorted[ends[found[i]]++] = order[i];
  std::copy(sorted + part.begin, sorted + part.end, order + part.begin);
  std::int64_t begin = part.begin;
  for (std::size_t exit = 0; exit < n_exits; begin = ends[exit++])
    if (begin < ends[exit]) take(exits_[piece.first_exit + exit], begin, ends[exit]);
}

template <class Leaf>
void PartedTree::find_some(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves) {
  kernels().to_rows(columns_.data(), static_cast<int>(columns_.size()), first_row, n_rows, first_code(rows_));
  std::iota(order_.begin(), order_.begin() + n_rows, std::uint16_t{0});
  parts_.assign(1, {0, 0, n_rows});
  while (!parts_.empty()) {
    const Part part = parts_.back();
    const Piece& piece = pieces_[part.piece];
    parts_.pop_back();
    find_exits(part, first_row);
    if (piece.is_last) {
      for (auto i = static_cast<std::size_t>(part.begin); i < static_cast<std::size_t>(part.end); ++i)
        leaves[order_[i]] = static_cast<Leaf>(piece.first_leaf + found_[i]);
      continue;
    }
    sort_rows(part, [&](std::int32_t exit, std::int64_t begin, std::int64_t end) {
      if (exit >= 0) return parts_.push_back({static_cast<std::size_t>(exit), begin, end});
      for (std::int64_t i = begin; i < end; ++i) leaves[order_[static_cast<std::size_t>(i)]] = static_cast<Leaf>(~exit);
    });
  }
}

template <class Leaf>
void PartedTree::find_leaves(std::int64_t first_row, std::int64_t n_rows, Leaf* leaves) {
  // As few times as the cache allows, equally many rows each time.
  const auto width = static_cast<std::int64_t>(columns_.size());
  const std::int64_t limit = std::clamp(cached_codes / width, min_rows, max_rows);
  const std::int64_t n_steps = (n_rows + limit - 1) / limit;
  const std::int64_t step = round_up((n_rows + n_steps - 1) / n_steps);
  rows_.resize(static_cast<std::size_t>(step * width) / sizeof(Line));
  order_.resize(static_cast<std::size_t>(step));
  sorted_.resize(static_cast<std::size_t>(step));
  found_.resize(static_cast<std::size_t>(step));
  for (std::int64_t done = 0; done < n_rows; done += step)
    find_some(first_row + done, std::min(step, n_rows - done), leaves + done);
}

template void PartedTree::find_leaves(std::int64_t, std::int64_t, std::uint16_t*);
template void PartedTree::find_leaves(std::int64_t, std::int64_t, std::int32_t*);

}  // namespace mpboost
