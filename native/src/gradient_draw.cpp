#include "mpboost/gradient_draw.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace mpboost {
namespace {

constexpr std::int64_t block_length = summed_rows;  // sizes are kept for blocks of rows, and computed again for rows
constexpr std::int64_t chunk_blocks = chunk_rows / block_length;
constexpr std::int64_t batch_blocks = 32, batch_rows = batch_blocks * block_length;

// Positions on the line are whole numbers, so that sums of lengths are exact, in any order: 2^shift is the distance of
// two points, on average. The line is shorter than 2^51, since 52 bits can be rounded without a branch.
std::int64_t to_units(double length) {
  return std::bit_cast<std::int64_t>(length + 0x1p52) - std::bit_cast<std::int64_t>(0x1p52);
}

// Turns sizes and weights of rows, of blocks or of chunks into lengths.
struct Scale {
  int shift;
  double per_size, per_weight;

  double length(double size, double weight) const { return per_size * size + per_weight * weight; }
};

// Lay n items end to end, from `start` on, and write where they end. Rounding must not open gaps: no item goes beyond
// `end`, and the last that has a length ends there.
void lay(std::int64_t n, const double* lengths, std::int64_t start, std::int64_t end, std::int64_t* ends) {
  for (std::int64_t i = 0; i < n; ++i) ends[i] = to_units(lengths[i]);
  for (std::int64_t i = 0; i < n; ++i) ends[i] = std::min(start += ends[i], end);
  for (std::int64_t i = n - 1; i >= 0 && ends[i] < end; --i) {
    ends[i] = end;
    if (lengths[i] > 0) break;
  }
}

Scale make_scale(std::span<const ChunkSize> chunks, double exploration, std::int64_t n_drawn, Threads& threads) {
  const auto n_chunks = static_cast<std::int64_t>(chunks.size());
  RowSums sums;
  sums.add_rows(n_chunks * chunk_rows, 2, chunk_rows, std::max<std::int64_t>(1, n_chunks), threads, [=] {
    return [=](std::int64_t first, std::int64_t, double* sum) {
      const ChunkSize& chunk = chunks[static_cast<std::size_t>(first / chunk_rows)];
      sum[0] = chunk.size;
      sum[1] = chunk.weight;
    };
  });
  const double size = sums.total()[0], weight = sums.total()[1];
  if (size == 0) exploration = 1;
  const int shift = std::countl_zero(static_cast<std::uint64_t>(n_drawn)) - 13;  // 51 bits, with those of n_drawn
  const auto length = static_cast<double>(n_drawn << shift);
  const Scale scale{shift, exploration < 1 ? (1 - exploration) * length / size : 0,
                    exploration > 0 ? exploration * length / weight : 0};
  const double total = scale.length(size, weight);
  if (!(total > 0 && std::isfinite(total)))
    throw std::invalid_argument("no row can be drawn: gradients or weights are all zero, or not finite");
  return scale;
}

// The sizes of rows, computed when they are asked for, and those of their blocks.
class Blocks {
 public:
  explicit Blocks(const GradientLine& line)
      : line_(line),
        is_sized_(line.exploration < 1),
        compute_sizes_(kernels().gradient_sizes),
        sizes_(static_cast<std::size_t>((line.rows.n_rows + block_length - 1) / block_length)),
        weights_(sizes_.size()) {}

  // Sum up the sizes and weights of some rows, from a whole batch on.
  void sum(std::int64_t begin, std::int64_t end) {
    const auto sum = kernels().sum_blocks;
    float row_sizes[batch_rows], row_weights[batch_rows];
    for (std::int64_t first = begin; first < end; first += batch_rows) {
      const std::int64_t n_blocks = std::min(batch_blocks, (end - first + block_length - 1) / block_length);
      const auto [read_sizes, read_weights] = read(first, n_blocks * block_length, row_sizes, row_weights);
      if (is_sized_) sum(read_sizes, n_blocks, sizes_.data() + first / block_length);
      sum(read_weights, n_blocks, weights_.data() + first / block_length);
    }
  }

  std::int64_t size() const { return std::ssize(sizes_); }

  std::vector<ChunkSize> sum_chunks() const {
    std::vector<ChunkSize> chunks((sizes_.size() + chunk_blocks - 1) / chunk_blocks);
    for (std::size_t block = 0; block < sizes_.size(); ++block) {
      ChunkSize& chunk = chunks[block / chunk_blocks];
      chunk.size += sizes_[block];
      chunk.weight += weights_[block];
    }
    return chunks;
  }

  // Find out where blocks end, given where the chunks do.
  std::vector<std::int64_t> lay_blocks(const Scale& scale, std::int64_t start,
                                       std::span<const std::int64_t> chunk_ends) const {
    std::vector<std::int64_t> ends(sizes_.size());
    double lengths[chunk_blocks];
    for (std::int64_t chunk = 0, first = 0; first < size(); ++chunk, first += chunk_blocks) {
      const std::int64_t n = std::min(chunk_blocks, size() - first);
      const double *sizes = sizes_.data() + first, *weights = weights_.data() + first;
      for (std::int64_t i = 0; i < n; ++i) lengths[i] = scale.length(sizes[i], weights[i]);
      const std::int64_t end = chunk_ends[static_cast<std::size_t>(chunk)];
      lay(n, lengths, start, end, ends.data() + first);
      start = end;
    }
    return ends;
  }

  // Compute the lengths of the rows of a block; 0 beyond the last row.
  void measure(std::int64_t block, const Scale& scale, double* lengths) const {
    float row_sizes[block_length], row_weights[block_length];
    const auto [sizes, weights] = read(block * block_length, block_length, row_sizes, row_weights);
    for (int i = 0; i < block_length; ++i) lengths[i] = scale.length(sizes[i], weights[i]);
  }

 private:
  struct Read {
    const float *sizes, *weights;
  };

  // The sizes and weights of n rows from `first` on, zeros beyond the last row, in memory that is given, or in place.
  Read read(std::int64_t first, std::int64_t n, float* sizes, float* weights) const {
    const GradientRows& rows = line_.rows;
    const std::int64_t n_read = std::min(n, rows.n_rows - first), start = first * rows.n_outputs;
    if (is_sized_)
      compute_sizes_({n_read, rows.n_outputs, rows.gradients + start, rows.hessians + start, rows.smoothing}, sizes);
    std::fill(is_sized_ ? sizes + n_read : sizes, sizes + n, 0.0f);
    if (line_.weights && n_read == n) return {sizes, line_.weights + first};
    line_.weights ? std::copy_n(line_.weights + first, n_read, weights) : std::fill_n(weights, n_read, 1.0f);
    std::fill(weights + n_read, weights + n, 0.0f);
    return {sizes, weights};
  }

  GradientLine line_;
  bool is_sized_;
  void (*compute_sizes_)(const GradientRows&, float*);
  std::vector<double> sizes_, weights_;
};

// The points of a draw: point j is at a random place of [j, j + 1) * 2^shift.
struct Points {
  Stream stream;
  int shift;

  std::int64_t place(std::int64_t j) const {
    return (j << shift) + static_cast<std::int64_t>(stream.bits(static_cast<std::uint64_t>(j)) >> (64 - shift));
  }
  // The number of points before a position.
  std::int64_t count(std::int64_t position) const {
    const std::int64_t j = position >> shift;
    return j + (place(j) < position);
  }
};

// Find the first of 32 items that ends behind a position, by halves, without a branch.
std::int64_t find_item(const std::int64_t* ends, std::int64_t position) {
  std::int64_t item = 0;
  for (int half = 16; half > 0; half /= 2) item += half * std::int64_t{ends[item + half - 1] <= position};
  return item;
}

// Up to 32 blocks of 32 rows. The rows of a block are measured when a draw has a point there.
class Stretch {
 public:
  static constexpr std::int64_t max_blocks = batch_blocks;
  static_assert(max_blocks == 32 && block_length == 32);

  Stretch(const Blocks& blocks, const Scale& scale) : blocks_(blocks), scale_(scale) {}

  // Go to n blocks, given where they end.
  void enter(std::int64_t first_block, std::int64_t n, std::int64_t start, const std::int64_t* ends) {
    first_block_ = first_block;
    n_blocks_ = n;
    start_ = start;
    std::copy_n(ends, n, block_ends_);
    std::fill(block_ends_ + n, block_ends_ + max_blocks, ends[n - 1]);
    std::fill(is_measured_, is_measured_ + n, false);
    starts_.clear();
  }

  std::int64_t end() const { return block_ends_[max_blocks - 1]; }

  // Write the rows that points fall on, and their weights; return how many rows there are, at most one for each point.
  std::int64_t draw(const Points& points, std::int64_t* rows, double* weights) {
    const std::int64_t first = points.count(start_), n_points = points.count(end()) - first;
    places_.resize(static_cast<std::size_t>(n_points));
    found_.resize(places_.size());
    for (std::int64_t i = 0; i < n_points; ++i) places_[static_cast<std::size_t>(i)] = points.place(first + i);
    n_points < batch_rows / 8 ? look_up() : find_all(points.shift, first);
    const auto unit = static_cast<double>(std::int64_t{1} << scale_.shift);
    std::int64_t n = -1;
    std::int32_t last_row = -1, n_own = 0;
    for (const std::int32_t row : found_) {  // as often as points fall on it
      n_own = row == last_row ? n_own + 1 : 1;
      n += row != last_row;
      last_row = row;
      rows[n] = first_block_ * block_length + row;
      weights[n] = n_own * unit / lengths_[row];
    }
    return n + 1;
  }

 private:
  // Find the rows of few points, each alone, in blocks that are measured only if there is one.
  void look_up() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::int64_t block = find_item(block_ends_, places_[i]);
      if (!is_measured_[block]) measure(block);
      found_[i] = static_cast<std::int32_t>(block * block_length + find_item(ends_ + block * block_length, places_[i]));
    }
  }

  // Find the rows of many points: that of point j is not before the first that ends behind j * 2^shift, which is the
  // same for all draws.
  void find_all(int shift, std::int64_t first_point) {
    const std::int64_t first = start_ >> shift;
    if (starts_.empty()) {
      for (std::int64_t block = 0; block < n_blocks_; ++block)
        if (!is_measured_[block]) measure(block);
      std::fill_n(ends_ + n_blocks_ * block_length, n_read_ahead, std::numeric_limits<std::int64_t>::max());
      starts_.resize(static_cast<std::size_t>((end() >> shift) - first + 2));
      for (std::int32_t row = 0; row < n_blocks_ * block_length; ++row)
        starts_[static_cast<std::size_t>((ends_[row] >> shift) - first + 1)] = row + 1;
      for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] = std::max(starts_[i], starts_[i - 1]);
    }
    kernels().find_rows(ends_, starts_.data() + (first_point - first), places_.data(), std::ssize(places_),
                        found_.data());
  }

  void measure(std::int64_t block) {
    double* lengths = lengths_ + block * block_length;
    blocks_.measure(first_block_ + block, scale_, lengths);
    lay(block_length, lengths, block > 0 ? block_ends_[block - 1] : start_, block_ends_[block],
        ends_ + block * block_length);
    is_measured_[block] = true;
  }

  const Blocks& blocks_;
  Scale scale_;
  std::int64_t first_block_ = 0, n_blocks_ = 0, start_ = 0;
  std::int64_t block_ends_[max_blocks];
  bool is_measured_[max_blocks];
  double lengths_[batch_rows];
  static constexpr std::int64_t n_read_ahead = 8;
  std::int64_t ends_[batch_rows + n_read_ahead];
  std::vector<std::int32_t> starts_;  // of points, known once a draw has many
  std::vector<std::int64_t> places_;  // of the points of a draw
  std::vector<std::int32_t> found_;   // the rows that they fall on
};

// A draw of which threads write parts, all into the same memory: a part has room for a row for each of its points.
class PartedDraw {
 public:
  PartedDraw(const Points& points, std::span<const std::int64_t> part_ends)
      : points_(points), first_point_(points.count(part_ends.front())), n_rows_(part_ends.size() - 1) {
    for (const std::int64_t end : part_ends) starts_.push_back(points.count(end) - first_point_);
    drawn_.rows.resize(static_cast<std::size_t>(starts_.back()));
    drawn_.weights.resize(drawn_.rows.size());
  }

  // Add the rows of a stretch, the next one of a part.
  void add(Stretch& stretch, std::size_t part) {
    const std::int64_t at = starts_[part] + n_rows_[part];
    n_rows_[part] += stretch.draw(points_, drawn_.rows.data() + at, drawn_.weights.data() + at);
  }

  // Close the gaps between parts.
  GradientDraw finish() {
    std::int64_t n = 0;
    for (std::size_t part = 0; part < n_rows_.size(); n += n_rows_[part++]) {
      const auto move = [&](auto& numbers) {
        const auto from = numbers.begin() + starts_[part];
        if (n < starts_[part]) std::copy(from, from + n_rows_[part], numbers.begin() + n);
      };
      move(drawn_.rows);
      move(drawn_.weights);
    }
    drawn_.rows.resize(static_cast<std::size_t>(n));
    drawn_.weights.resize(drawn_.rows.size());
    return std::move(drawn_);
  }

 private:
  Points points_;
  std::int64_t first_point_;
  std::vector<std::int64_t> starts_, n_rows_;  // of parts; the former has one more, the end of all
  GradientDraw drawn_;
};

// Call work(line, begin, end) for the parts of all lines, some parts of a line at a time, in any order.
template <class Work>
void for_parts(std::int64_t n_lines, std::int64_t n_parts, Threads& threads, Work work) {
  threads.for_ranges(n_lines * n_parts, 1, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t line = begin / n_parts, next = std::min(end, (line + 1) * n_parts);
      work(static_cast<std::size_t>(line), begin - line * n_parts, next - line * n_parts);
      begin = next;
    }
  });
}

// Sum up the rows of lines that have equally many.
void sum_blocks(std::span<Blocks> lines, std::int64_t n_rows, Threads& threads) {
  constexpr std::int64_t part_rows = 4 * batch_rows;
  for_parts(std::ssize(lines), (n_rows + part_rows - 1) / part_rows, threads,
            [&](std::size_t k, std::int64_t begin, std::int64_t end) {
              lines[k].sum(begin * part_rows, std::min(end * part_rows, n_rows));
            });
}

// A line whose blocks have their places. Threads draw parts of it.
class LaidLine {
 public:
  static constexpr std::int64_t part_blocks = 2048 / block_length;

  LaidLine(const Blocks& blocks, const Scale& scale, std::span<const ChunkSize> chunks, std::int64_t first_chunk,
           std::int64_t n_drawn, std::span<const Stream> streams)
      : blocks_(blocks), scale_(scale) {
    std::vector<double> chunk_lengths;
    for (const auto& [size, weight] : chunks) chunk_lengths.push_back(scale.length(size, weight));
    std::vector<std::int64_t> chunk_ends(chunks.size() + 1);  // that of no chunk is where the line begins
    lay(std::ssize(chunks), chunk_lengths.data(), 0, n_drawn << scale.shift, chunk_ends.data() + 1);
    const std::int64_t start = chunk_ends[static_cast<std::size_t>(first_chunk)];
    ends_ = blocks.lay_blocks(scale, start, std::span(chunk_ends).subspan(static_cast<std::size_t>(first_chunk) + 1));
    part_ends_.push_back(start);
    for (std::int64_t end = part_blocks; end < blocks.size() + part_blocks; end += part_blocks)
      part_ends_.push_back(ends_[static_cast<std::size_t>(std::min(end, blocks.size()) - 1)]);
    for (const Stream& stream : streams) draws_.emplace_back(Points{stream, scale.shift}, part_ends_);
  }

  // Draw some parts.
  void draw(std::int64_t begin, std::int64_t end) {
    Stretch stretch(blocks_, scale_);
    for (std::int64_t part = begin; part < end; ++part) {
      std::int64_t position = part_ends_[static_cast<std::size_t>(part)];
      const std::int64_t last = std::min((part + 1) * part_blocks, blocks_.size());
      for (std::int64_t block = part * part_blocks; block < last; block += Stretch::max_blocks) {
        stretch.enter(block, std::min(Stretch::max_blocks, last - block), position, ends_.data() + block);
        for (PartedDraw& draw : draws_) draw.add(stretch, static_cast<std::size_t>(part));
        position = stretch.end();
      }
    }
  }

  std::span<PartedDraw> draws() { return draws_; }

 private:
  const Blocks& blocks_;
  Scale scale_;
  std::vector<std::int64_t> ends_, part_ends_;  // of blocks and of parts; the latter has one more, the start
  std::vector<PartedDraw> draws_;
};

}  // namespace

std::vector<ChunkSize> measure_chunks(const GradientLine& line, Threads& threads) {
  Blocks blocks(line);
  sum_blocks({&blocks, 1}, line.rows.n_rows, threads);
  return blocks.sum_chunks();
}

std::vector<std::vector<GradientDraw>> draw_by_gradient(std::span<const LineDraws> lines, std::int64_t first_chunk,
                                                        std::int64_t n_drawn, Threads& threads) {
  std::vector<std::vector<GradientDraw>> drawn(lines.size());
  if (lines.empty()) return drawn;
  std::vector<Blocks> blocks;
  for (const LineDraws& one : lines) blocks.emplace_back(one.line);
  sum_blocks(blocks, lines.front().line.rows.n_rows, threads);
  std::vector<std::vector<ChunkSize>> chunks;
  std::vector<Scale> scales;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    chunks.push_back(lines[k].chunks.empty() ? blocks[k].sum_chunks() : lines[k].chunks);
    scales.push_back(make_scale(chunks[k], lines[k].line.exploration, n_drawn, threads));
  }
  std::vector<std::optional<LaidLine>> laid(lines.size());
  for_parts(std::ssize(lines), 1, threads, [&](std::size_t k, std::int64_t, std::int64_t) {
    laid[k].emplace(blocks[k], scales[k], chunks[k], first_chunk, n_drawn, lines[k].streams);
  });
  const std::int64_t n_parts = (blocks.front().size() + LaidLine::part_blocks - 1) / LaidLine::part_blocks;
  for_parts(std::ssize(lines), n_parts, threads,
            [&](std::size_t k, std::int64_t begin, std::int64_t end) { laid[k]->draw(begin, end); });
  std::vector<std::pair<PartedDraw*, GradientDraw*>> parted;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    drawn[k].resize(lines[k].streams.size());
    for (std::size_t j = 0; j < drawn[k].size(); ++j) parted.emplace_back(&laid[k]->draws()[j], &drawn[k][j]);
  }
  threads.for_ranges(std::ssize(parted), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const auto [from, to] = parted[static_cast<std::size_t>(k)];
      *to = from->finish();
    }
  });
  return drawn;
}

}  // namespace mpboost
