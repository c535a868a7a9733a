// Gauss-Legendre quadrature on [0, 1].
#pragma once

#include <vector>

namespace mpboost {

struct Quadrature {
  std::vector<double> points, weights;  // points ascend
};

// n points integrate polynomials of a degree below 2 n exactly. The same bits on every processor.
Quadrature make_quadrature(int n);

}  // namespace mpboost
