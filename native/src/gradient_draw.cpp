#include "mpboost/gradient_draw.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace mpboost {
namespace {

constexpr std::int64_t block_length = summed_rows;  // lengths are kept for blocks of rows, and computed again for rows
constexpr std::int64_t batch_blocks = 32, batch_rows = batch_blocks * block_length;

struct Place {
  std::int64_t row;
  double length;
};

// All rows laid end to end, each as long as it is likely to be drawn.
class Line {
 public:
  Line(const GradientRows& rows, const float* weights, double exploration, Threads& threads)
      : rows_(rows), weights_(weights), is_sized_(exploration < 1), compute_sizes_(kernels().gradient_sizes) {
    const auto n_blocks = static_cast<std::size_t>((rows.n_rows + block_length - 1) / block_length);
    std::vector<double> sizes(n_blocks), block_weights(n_blocks);
    sum_blocks(sizes.data(), block_weights.data(), threads);
    const double size = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    const double weight = std::accumulate(block_weights.begin(), block_weights.end(), 0.0);
    if (size == 0) exploration = 1;
    const auto n_rows = static_cast<double>(rows.n_rows);
    per_size_ = exploration < 1 ? (1 - exploration) * n_rows / size : 0;
    per_weight_ = exploration > 0 ? exploration * n_rows / weight : 0;
    ends_ = std::move(sizes);
    double end = 0;
    for (std::size_t block = 0; block < n_blocks; ++block)
      ends_[block] = end += per_size_ * ends_[block] + per_weight_ * block_weights[block];
    if (!(end > 0 && std::isfinite(end)))
      throw std::invalid_argument("no row can be drawn: gradients or weights are all zero, or not finite");
  }

  double length() const { return ends_.back(); }

  // Finds the rows that points fall on; points must ascend. Lengths are added up from the beginning of a block, so that
  // it does not matter with which point a walk begins.
  class Walk {
   public:
    Walk(const Line& line, double first)
        : line_(line), block_(std::ranges::upper_bound(line.ends_, first) - line.ends_.begin()) {
      block_ = std::min(block_, std::ssize(line.ends_) - 1);
      enter();
    }

    Place find(double point) {
      const double* ends = line_.ends_.data();
      point = std::min(point, std::nextafter(line_.length(), 0.0));
      if (ends[block_] <= point) {
        while (ends[block_] <= point) ++block_;
        enter();
      }
      const double rest = point - start_;
      while (end_ <= rest && row_ + 1 < block_length) end_ += lengths_[++row_];
      // Rounding may put the point behind the last row; rows of length zero must not be drawn.
      std::int64_t row = row_;
      while (row > 0 && lengths_[row] <= 0) --row;
      return {block_ * block_length + row, lengths_[row]};
    }

   private:
    void enter() {
      line_.measure(block_, lengths_);
      start_ = block_ > 0 ? line_.ends_[static_cast<std::size_t>(block_ - 1)] : 0.0;
      row_ = 0;
      end_ = lengths_[0];
    }

    const Line& line_;
    std::int64_t block_, row_ = 0;
    double start_ = 0, end_ = 0;  // where the block begins, and from there on where the row ends
    double lengths_[block_length];
  };

 private:
  // Write the sizes and weights of n rows from `first` on; zeros beyond the last row.
  void read(std::int64_t first, std::int64_t n, float* sizes, float* weights) const {
    const std::int64_t n_read = std::min(n, rows_.n_rows - first), start = first * rows_.n_outputs;
    if (is_sized_)
      compute_sizes_({n_read, rows_.n_outputs, rows_.gradients + start, rows_.hessians + start, rows_.smoothing},
                     sizes);
    weights_ ? std::copy_n(weights_ + first, n_read, weights) : std::fill_n(weights, n_read, 1.0f);
    std::fill(is_sized_ ? sizes + n_read : sizes, sizes + n, 0.0f);
    std::fill(weights + n_read, weights + n, 0.0f);
  }

  void sum_blocks(double* sizes, double* weights, Threads& threads) const {
    const auto sum = kernels().sum_blocks;
    threads.for_ranges(rows_.n_rows, 16 * batch_rows, [&](std::int64_t begin, std::int64_t end) {
      float row_sizes[batch_rows], row_weights[batch_rows];
      for (std::int64_t first = begin; first < end; first += batch_rows) {
        const std::int64_t n_blocks = std::min(batch_blocks, (end - first + block_length - 1) / block_length);
        read(first, n_blocks * block_length, row_sizes, row_weights);
        if (is_sized_) sum(row_sizes, n_blocks, sizes + first / block_length);
        sum(row_weights, n_blocks, weights + first / block_length);
      }
    });
  }

  void measure(std::int64_t block, double* lengths) const {
    float sizes[block_length], weights[block_length];
    read(block * block_length, block_length, sizes, weights);
    for (int i = 0; i < block_length; ++i) lengths[i] = per_size_ * sizes[i] + per_weight_ * weights[i];
  }

  GradientRows rows_;
  const float* weights_;
  bool is_sized_;
  void (*compute_sizes_)(const GradientRows&, float*);
  double per_size_, per_weight_;
  std::vector<double> ends_;  // of the blocks
};

}  // namespace

GradientDraw draw_by_gradient(const GradientRows& rows, const float* weights, double exploration, std::int64_t n_drawn,
                              Stream stream, Threads& threads) {
  const Line line(rows, weights, exploration, threads);
  const double step = line.length() / static_cast<double>(n_drawn);
  std::vector<Place> places(static_cast<std::size_t>(n_drawn));
  threads.for_ranges(n_drawn, 512, [&](std::int64_t begin, std::int64_t end) {
    Line::Walk walk(line, static_cast<double>(begin) * step);
    for (std::int64_t j = begin; j < end; ++j) {
      const double u = uniform(stream.bits(static_cast<std::uint64_t>(j)));
      places[static_cast<std::size_t>(j)] = walk.find((static_cast<double>(j) + u) * step);
    }
  });
  GradientDraw draw;
  draw.rows.reserve(places.size());
  draw.weights.reserve(places.size());
  for (const auto& [row, length] : places) {
    if (draw.rows.empty() || draw.rows.back() != row) {
      draw.rows.push_back(row);
      draw.weights.push_back(0.0);
    }
    draw.weights.back() += step / length;
  }
  return draw;
}

}  // namespace mpboost
