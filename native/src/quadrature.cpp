#include "quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace mpboost {
namespace {

// The C library's has other bits on other processors. For 0 <= x <= pi / 2.
double cosine(double x) {
  double term = 1, sum = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -x * x / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  return sum;
}

}  // namespace

Quadrature make_quadrature(int n) {
  Quadrature made{std::vector<double>(static_cast<std::size_t>(n)), std::vector<double>(static_cast<std::size_t>(n))};
  for (int i = 0; i < (n + 1) / 2; ++i) {
    // Newton's method, from a guess that is close to the i-th largest root of the Legendre polynomial of degree n.
    double x = cosine(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 1;
    for (int turn = 0; turn < 100; ++turn) {
      double before = 1, value = x;
      for (int k = 2; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      const double step = value / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    const double weight = 1 / ((1 - x * x) * slope * slope);
    const auto low = static_cast<std::size_t>(i), high = static_cast<std::size_t>(n - 1 - i);
    made.points[low] = (1 - x) / 2;
    made.points[high] = (1 + x) / 2;
    made.weights[low] = made.weights[high] = weight;
  }
  return made;
}

}  // namespace mpboost
