// Floating-point sums over rows that have the same bits however rows are cut into parts: threads, machines, pieces of a
// file. Rows are summed in pieces of a fixed length, and the sums of pieces are joined by a binary tree over the
// numbers of the pieces, counted from row 0 of all parts. A part may begin at any whole chunk. Header-only.
//
//  piece   0   1   2   3   4        node = left + right; a node without a sibling on its right goes up unchanged
//           \ /     \ /    |
//            *       *     |
//             \     /      |
//              \   /       |
//                *         |
//                 \       /
//                  \     /
//                     *
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "mpboost/threads.hpp"

namespace mpboost {

inline constexpr std::int64_t chunk_rows = 16'384;  // parts of the rows begin at multiples of it

// Eight sums side by side, which need not wait for each other: vectors of any length give the same bits.
template <class T>
double sum_numbers(const T* numbers, std::int64_t n) {
  double sums[8]{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) sums[lane] += static_cast<double>(numbers[i + lane]);
  for (; i < n; ++i) sums[0] += static_cast<double>(numbers[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// One or several sums over consecutive rows. Only the roots of complete subtrees are kept: about as many as the number
// of pieces has binary digits.
class RowSums {
 public:
  explicit RowSums(std::int64_t first_row = 0) : first_row_(first_row), end_row_(first_row) { check_start(first_row); }

  std::int64_t first_row() const { return first_row_; }
  std::int64_t end_row() const { return end_row_; }

  // Sum the next n_rows rows, `width` sums at once, in pieces of piece_rows rows: a power of two, up to chunk_rows, and
  // the same for all parts. Threads take at least `grain` pieces at a time. Each calls make_adder() once, which returns
  // add(first, n, sums): it adds n rows, of which the first is counted from the beginning of these n_rows, to sums that
  // are zero.
  template <class MakeAdder>
  void add_rows(std::int64_t n_rows, std::size_t width, std::int64_t piece_rows, std::int64_t grain, Threads& threads,
                MakeAdder make_adder) {
    set_width(width);
    if (n_rows <= 0) return;
    const std::int64_t n_pieces = (n_rows + piece_rows - 1) / piece_rows;
    std::vector<RowSums> ranges(static_cast<std::size_t>((n_pieces + grain - 1) / grain));
    threads.for_ranges_with(n_pieces, grain, make_adder, [&](std::int64_t begin, std::int64_t end, auto& add) {
      ranges[static_cast<std::size_t>(begin / grain)] =
          sum_rows(begin * piece_rows, std::min(end * piece_rows, n_rows), width, piece_rows, add);
    });
    for (const RowSums& range : ranges)
      if (range.end_row_ > range.first_row_) append(range);
  }

  // Sum some of the next rows, which begin with a piece: a part to append in its turn. `add` is as above.
  template <class Add>
  RowSums sum_rows(std::int64_t begin, std::int64_t end, std::size_t width, std::int64_t piece_rows, Add& add) const {
    if (begin < end) check_start(end_row_);
    RowSums part;
    part.set_width(width);
    part.first_row_ = part.end_row_ = end_row_ + begin;
    for (std::int64_t first = begin; first < end; first += piece_rows) {
      const std::int64_t n = std::min(piece_rows, end - first);
      part.sums_.resize(part.sums_.size() + width);
      add(first, n, part.sums_.data() + part.sums_.size() - width);
      part.push({part.end_row_, piece_rows});
      part.end_row_ += n;
    }
    return part;
  }

  // Add the sums of the rows that follow.
  void append(const RowSums& next) {
    if (next.first_row_ != end_row_) throw std::invalid_argument("parts of the rows must follow one another");
    if (next.width_) set_width(next.width_);
    for (std::size_t k = 0; k < next.nodes_.size(); ++k) {
      const auto sums = next.sums_.begin() + static_cast<std::ptrdiff_t>(k * width_);
      sums_.insert(sums_.end(), sums, sums + static_cast<std::ptrdiff_t>(width_));
      push(next.nodes_[k]);
    }
    end_row_ = next.end_row_;
  }

  // What these sums consist of, to be sent elsewhere: first and last row, width, nodes; and the sums themselves.
  struct State {
    std::vector<std::int64_t> integers;
    std::vector<double> sums;
  };
  State state() const {
    State state{{first_row_, end_row_, static_cast<std::int64_t>(width_)}, sums_};
    for (const Node& node : nodes_) state.integers.insert(state.integers.end(), {node.first_row, node.length});
    return state;
  }
  static RowSums from_state(const State& state) {
    const auto& [integers, sums] = state;
    const std::size_t n_nodes = (integers.size() - 3) / 2;
    if (integers.size() < 3 || integers.size() % 2 == 0 || integers[2] < 0 ||
        sums.size() != n_nodes * static_cast<std::size_t>(integers[2]))
      throw std::invalid_argument("these are not the sums of rows");
    RowSums all(integers[0]);
    all.end_row_ = integers[1];
    all.width_ = static_cast<std::size_t>(integers[2]);
    for (std::size_t k = 0; k < n_nodes; ++k) all.nodes_.push_back({integers[3 + 2 * k], integers[4 + 2 * k]});
    all.sums_ = sums;
    return all;
  }

  // The sums of all rows; those of a part that does not begin with row 0 are not what they add to a total.
  std::vector<double> total() const {
    std::vector<double> total(width_);
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      const double* left = sums_.data() + k * width_;
      for (std::size_t i = 0; i < width_; ++i) total[i] = k + 1 < nodes_.size() ? left[i] + total[i] : left[i];
    }
    return total;
  }

 private:
  struct Node {
    std::int64_t first_row, length;  // as if the last piece had all its rows
  };

  static void check_start(std::int64_t row) {
    if (row < 0 || row % chunk_rows != 0) throw std::invalid_argument("parts of the rows must begin at whole chunks");
  }

  void set_width(std::size_t width) {
    if (width_ && width_ != width) throw std::invalid_argument("all parts must have equally many sums");
    width_ = width;
  }

  // Put a node, whose sums are there already, beside the others, and join it with its left siblings.
  void push(Node node) {
    while (!nodes_.empty() && nodes_.back().length == node.length && nodes_.back().first_row % (2 * node.length) == 0) {
      double* right = sums_.data() + sums_.size() - width_;
      double* left = right - width_;
      for (std::size_t i = 0; i < width_; ++i) left[i] += right[i];
      sums_.resize(sums_.size() - width_);
      node = {nodes_.back().first_row, 2 * node.length};
      nodes_.pop_back();
    }
    nodes_.push_back(node);
  }

  std::int64_t first_row_, end_row_;
  std::size_t width_ = 0;
  std::vector<Node> nodes_;
  std::vector<double> sums_;  // [node][sum]
};

}  // namespace mpboost
