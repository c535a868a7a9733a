// Gradient boosting, before a tree is grown: draw rows by the sizes of their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// Rows, ascending, and their weights: a weighted sum over drawn rows has the sum over all rows as its expectation.
struct GradientDraw {
  std::vector<std::int64_t> rows;
  std::vector<double> weights;
};

// Draw rows by s = (1 - exploration) * size / mean(size) + exploration * weight / mean(weight): n_drawn points, one
// in each of as many equal parts of the line on which row i has length s_i. `weights` may be null, which means 1.
GradientDraw draw_by_gradient(const GradientRows& rows, const float* weights, double exploration, std::int64_t n_drawn,
                              Stream stream, Threads& threads);

}  // namespace mpboost
