#include "mpboost/leaf_sums.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "leaf_finder.hpp"

namespace mpboost {
namespace {

using Pair [[gnu::vector_size(16)]] = double;  // gradient and hessian

// Call add(i, pair) for each row, or output, loading four of them at a time.
template <class Add>
[[gnu::always_inline]] inline void for_pairs(const float* gradients, const float* hessians, std::int64_t n, Add add) {
  using Four [[gnu::vector_size(16)]] = float;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Four g, h;
    __builtin_memcpy(&g, gradients + i, sizeof g);
    __builtin_memcpy(&h, hessians + i, sizeof h);
    const Four low = __builtin_shufflevector(g, h, 0, 4, 1, 5), high = __builtin_shufflevector(g, h, 2, 6, 3, 7);
    add(i, __builtin_convertvector(__builtin_shufflevector(low, low, 0, 1), Pair));
    add(i + 1, __builtin_convertvector(__builtin_shufflevector(low, low, 2, 3), Pair));
    add(i + 2, __builtin_convertvector(__builtin_shufflevector(high, high, 0, 1), Pair));
    add(i + 3, __builtin_convertvector(__builtin_shufflevector(high, high, 2, 3), Pair));
  }
  for (; i < n; ++i) add(i, Pair{gradients[i], hessians[i]});
}

// The sums of a chunk of rows. With a single output, rows take turns in four sets of sums: neighbours are often in one
// leaf, and an addition would have to wait for the one before.
class LeafSums {
 public:
  LeafSums(std::size_t n_leaves, std::int64_t n_outputs)
      : n_outputs_(n_outputs),
        size_(n_leaves * static_cast<std::size_t>(n_outputs)),
        sums_(size_ * (n_outputs == 1 ? 4 : 1)) {}

  void add(const std::uint16_t* leaves, const float* gradients, const float* hessians, std::int64_t n_rows) {
    Pair* sums = sums_.data();
    if (n_outputs_ == 1) {
      for_pairs(gradients, hessians, n_rows, [=](std::int64_t i, Pair pair) { sums[4 * leaves[i] + i % 4] += pair; });
      return;
    }
    for (std::int64_t row = 0; row < n_rows; ++row) {
      Pair* of_leaf = sums + leaves[row] * n_outputs_;
      for_pairs(gradients + row * n_outputs_, hessians + row * n_outputs_, n_outputs_,
                [=](std::int64_t k, Pair pair) { of_leaf[k] += pair; });
    }
  }

  // Write gradients and hessians in turn, and begin again.
  void flush(double* out) {
    for (std::size_t i = 0; i < size_; ++i) {
      const Pair sum =
          n_outputs_ == 1 ? (sums_[4 * i] + sums_[4 * i + 1]) + (sums_[4 * i + 2] + sums_[4 * i + 3]) : sums_[i];
      out[2 * i] = sum[0];
      out[2 * i + 1] = sum[1];
    }
    std::ranges::fill(sums_, Pair{});
  }

 private:
  std::int64_t n_outputs_;
  std::size_t size_;
  std::vector<Pair> sums_;  // [leaf][set] or [leaf][output]
};

// Rows that are summed together: the more sums there are, the longer it takes to join two pieces.
std::int64_t count_piece_rows(std::size_t n_sums) {
  std::int64_t n_rows = 2048;
  while (n_rows < chunk_rows && n_rows < 16 * static_cast<std::int64_t>(n_sums)) n_rows *= 2;
  return n_rows;
}

struct WeightedResidual {
  float residual, weight;
};

// Halve the rows that the quantile may be among until one is left.
double compute_quantile(std::span<WeightedResidual> rows, double alpha) {
  if (rows.empty()) return 0.0;
  const auto weigh = [](std::span<const WeightedResidual> some) {
    return std::accumulate(some.begin(), some.end(), 0.0,
                           [](double sum, WeightedResidual row) { return sum + row.weight; });
  };
  const double target = alpha * weigh(rows);
  double below = 0.0;
  while (rows.size() > 1) {
    const std::size_t half = rows.size() / 2;
    std::ranges::nth_element(rows, rows.begin() + static_cast<std::ptrdiff_t>(half), {}, &WeightedResidual::residual);
    const double weight = below + weigh(rows.first(half));
    const bool is_lower = weight >= target;
    if (!is_lower) below = weight;
    rows = is_lower ? rows.first(half) : rows.subspan(half);
  }
  return rows[0].residual;
}

}  // namespace

std::vector<double> sum_leaves(TreeView tree, const BinnedColumns& columns, const float* gradients,
                               const float* hessians, std::int64_t n_outputs, std::uint16_t* leaves, RowSums& sums,
                               Threads& threads) {
  const std::size_t n_leaves = tree.n_leaves(), n_sums = n_leaves * static_cast<std::size_t>(n_outputs);
  const std::int64_t piece_rows = count_piece_rows(n_sums);
  // Large trees are applied to many rows at a time.
  const std::int64_t found_rows = SelectedTree::can_bind(tree) ? piece_rows : chunk_rows;
  const std::int64_t grain = std::max<std::int64_t>(1, std::max<std::int64_t>(4096, found_rows) / piece_rows);
  sums.add_rows(columns.n_rows(), 2 * n_sums, piece_rows, grain, threads, [&] {
    LeafFinder finder;
    finder.bind(tree, columns, columns.n_rows());
    return [&, finder = std::move(finder), leaf_sums = LeafSums(n_leaves, n_outputs)](
               std::int64_t first, std::int64_t n, double* out) mutable {
      if (first % found_rows == 0) finder.find(first, std::min(found_rows, columns.n_rows() - first), leaves + first);
      leaf_sums.add(leaves + first, gradients + first * n_outputs, hessians + first * n_outputs, n);
      leaf_sums.flush(out);
    };
  });
  return sums.total();
}

std::vector<double> sum_rows(std::span<const std::int64_t> rows, const double* weights, const std::uint16_t* leaves,
                             const float* gradients, const float* hessians, std::int64_t n_outputs,
                             std::int64_t n_leaves) {
  std::vector<double> sums(static_cast<std::size_t>(2 * n_outputs * n_leaves));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double weight = weights ? weights[i] : 1.0;
    const std::int64_t row = rows[i];
    double* sum = sums.data() + 2 * n_outputs * leaves[row];
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      sum[2 * k] += weight * static_cast<double>(gradients[row * n_outputs + k]);
      sum[2 * k + 1] += weight * static_cast<double>(hessians[row * n_outputs + k]);
    }
  }
  return sums;
}

std::vector<double> leaf_quantiles(const std::uint16_t* leaves, const float* residuals, const float* weights,
                                   std::int64_t n_rows, double alpha, std::int64_t n_leaves, Threads& threads) {
  // Sort rows with weight by leaf, by counting: ends[k] is where the next row of leaf k goes.
  std::vector<std::size_t> ends(static_cast<std::size_t>(n_leaves) + 1);
  const auto weight_of = [=](std::int64_t i) { return weights ? weights[i] : 1.0f; };
  for (std::int64_t i = 0; i < n_rows; ++i) {
    if (residuals[i] != residuals[i]) throw std::invalid_argument("a residual is no number");
    ends[leaves[i] + std::size_t{1}] += weight_of(i) > 0;
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<WeightedResidual> rows(ends.back());
  for (std::int64_t i = 0; i < n_rows; ++i)
    if (weight_of(i) > 0) rows[ends[leaves[i]]++] = {residuals[i], weight_of(i)};
  std::vector<double> quantiles(static_cast<std::size_t>(n_leaves));
  threads.for_ranges(n_leaves, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto leaf = static_cast<std::size_t>(begin); leaf < static_cast<std::size_t>(end); ++leaf) {
      const std::size_t first = leaf ? ends[leaf - 1] : 0;
      quantiles[leaf] = compute_quantile(std::span(rows).subspan(first, ends[leaf] - first), alpha);
    }
  });
  return quantiles;
}

}  // namespace mpboost
