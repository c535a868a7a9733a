// Gradient boosting, before trees are grown: draw rows by the sizes of their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// Rows, ascending, and their weights: a weighted sum over drawn rows has the sum over all rows as its expectation.
struct GradientDraw {
  std::vector<std::int64_t> rows;
  std::vector<double> weights;
};

// The sums of the sizes and of the weights of a chunk of rows.
struct ChunkSize {
  double size, weight;
};

// Rows that are laid end to end: row i has the length
// s = (1 - exploration) * size / mean(size) + exploration * weight / mean(weight).
struct GradientLine {
  GradientRows rows;
  const float* weights;  // null: all 1
  double exploration;
};

// The sizes of the chunks of these rows.
std::vector<ChunkSize> measure_chunks(const GradientLine& line, Threads& threads);

// Draws from a line, one for each stream. If its rows are a part of all, `chunks` has the sizes of the chunks of all
// rows; else it is empty.
struct LineDraws {
  GradientLine line;
  std::vector<Stream> streams;
  std::vector<ChunkSize> chunks;
};

// For each line and stream, divide the line into n_drawn equal parts and draw a point in each of them; return the rows
// that points fall on. Lines have equally many rows; a part of the rows begins with chunk first_chunk. Rows are
// numbered from the beginning of the part.
std::vector<std::vector<GradientDraw>> draw_by_gradient(std::span<const LineDraws> lines, std::int64_t first_chunk,
                                                        std::int64_t n_drawn, Threads& threads);

}  // namespace mpboost
