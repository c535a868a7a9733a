#include "mpboost/leaf_sums.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "leaf_finder.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

using Pair [[gnu::vector_size(16)]] = double;  // gradient and hessian

// Call add(i, pair) for each row, loading four of them at a time.
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

// The sums of a piece of rows.
class LeafSums {
 public:
  LeafSums(std::size_t n_leaves, std::int64_t n_outputs)
      : n_leaves_(n_leaves), n_outputs_(n_outputs), sums_(n_leaves * (n_outputs == 1 ? 8 : 2 * size(n_outputs))) {}

  void add(const std::uint16_t* leaves, const float* gradients, const float* hessians, std::int64_t n_rows) {
    if (n_outputs_ > 1) return add_derivatives_(leaves, n_rows, gradients, hessians, n_outputs_, sums_.data());
    // Rows take turns in four sets of sums: neighbours are often in one leaf, and an addition would have to wait for
    // the one before.
    double* sums = sums_.data();
    for_pairs(gradients, hessians, n_rows, [=](std::int64_t i, Pair pair) {
      double* at = sums + 8 * leaves[i] + 2 * (i % 4);
      Pair sum;
      __builtin_memcpy(&sum, at, sizeof sum);
      sum += pair;
      __builtin_memcpy(at, &sum, sizeof sum);
    });
  }

  // Write gradients and hessians in turn, and begin again.
  void flush(double* out) {
    const double* sums = sums_.data();
    if (n_outputs_ == 1) {
      for (std::size_t i = 0; i < n_leaves_; ++i, sums += 8)
        for (int j = 0; j < 2; ++j) out[2 * i + size(j)] = (sums[j] + sums[2 + j]) + (sums[4 + j] + sums[6 + j]);
    } else {
      for (std::size_t i = 0; i < n_leaves_; ++i, sums += 2 * n_outputs_)
        for (std::int64_t k = 0; k < n_outputs_; ++k) *out++ = sums[k], *out++ = sums[n_outputs_ + k];
    }
    std::ranges::fill(sums_, 0.0);
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  std::size_t n_leaves_;
  std::int64_t n_outputs_;
  std::vector<double> sums_;  // [leaf][set][2] or [leaf][2][output]
  void (*add_derivatives_)(const std::uint16_t*, std::int64_t, const float*, const float*, std::int64_t,
                           double*) = kernels().add_derivatives;
};

// How the rows of a tree are cut: into pieces that are summed together, of which threads take some at a time. The more
// leaves there are, the longer it takes to join two pieces. Large trees are applied to many rows at a time.
struct Cut {
  explicit Cut(const TreeRows& rows) {
    const auto n_leaves = static_cast<std::int64_t>(rows.tree.n_leaves());
    while (piece_rows < chunk_rows && piece_rows < 16 * n_leaves) piece_rows *= 2;
    found_rows = SelectedTree::can_bind(rows.tree) ? piece_rows : chunk_rows;
    part_rows = std::max(found_rows, rows.n_outputs == 1 ? std::int64_t{4096} : piece_rows);
  }

  std::int64_t piece_rows = 2048, found_rows, part_rows;
};

// Applies a tree to some of its rows, and sums their derivatives.
class TreeSummer {
 public:
  TreeSummer(const TreeRows& rows, const RowSums& before)
      : rows_(&rows), before_(&before), cut_(rows), leaf_sums_(rows.tree.n_leaves(), rows.n_outputs) {
    finder_.bind(rows.tree, *rows.columns, rows.columns->n_rows());
  }

  bool is_for(const TreeRows& rows) const { return rows_ == &rows; }

  RowSums sum_part(std::int64_t part) {
    const auto& [tree, columns, gradients, hessians, n_outputs, leaves] = *rows_;
    const std::int64_t begin = part * cut_.part_rows, end = std::min(begin + cut_.part_rows, columns->n_rows());
    for (std::int64_t first = begin; first < end; first += cut_.found_rows)
      finder_.find(first, std::min(cut_.found_rows, end - first), leaves + first);
    const auto add = [&](std::int64_t first, std::int64_t n, double* out) {
      leaf_sums_.add(leaves + first, gradients + first * n_outputs, hessians + first * n_outputs, n);
      leaf_sums_.flush(out);
    };
    return before_->sum_rows(begin, end, 2 * tree.n_leaves() * static_cast<std::size_t>(n_outputs), cut_.piece_rows,
                             add);
  }

 private:
  const TreeRows* rows_;
  const RowSums* before_;
  Cut cut_;
  LeafFinder finder_;
  LeafSums leaf_sums_;
};

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

void sum_leaves(std::span<const TreeRows> trees, std::span<RowSums* const> sums, Threads& threads) {
  struct Part {
    std::size_t tree;
    std::int64_t number;
    RowSums sums;
  };
  std::vector<Part> parts;
  for (std::size_t k = 0; k < trees.size(); ++k) {
    const std::int64_t n_rows = trees[k].columns->n_rows(), part_rows = Cut(trees[k]).part_rows;
    for (std::int64_t i = 0; i == 0 || i * part_rows < n_rows; ++i) parts.push_back({k, i, RowSums()});
  }
  const auto make = [] { return std::optional<TreeSummer>(); };
  threads.for_ranges_with(std::ssize(parts), 1, make, [&](std::int64_t begin, std::int64_t end, auto& summer) {
    for (auto part = parts.begin() + begin; part < parts.begin() + end; ++part) {
      const TreeRows& rows = trees[part->tree];
      if (!summer || !summer->is_for(rows)) summer.emplace(rows, *sums[part->tree]);
      part->sums = summer->sum_part(part->number);
    }
  });
  for (const Part& part : parts) sums[part.tree]->append(part.sums);
}

std::vector<double> fit_newton(std::span<const double> sums, double l2, double factor) {
  std::vector<double> steps(sums.size() / 2);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double hessian = sums[2 * i + 1] + l2;
    steps[i] = hessian > 0 ? -sums[2 * i] / hessian * factor : 0.0;
  }
  return steps;
}

std::vector<double> sum_rows(std::span<const std::int64_t> rows, const double* weights, const std::uint16_t* leaves,
                             const float* gradients, const float* hessians, std::int64_t n_outputs,
                             std::int64_t n_leaves) {
  std::vector<double> total(static_cast<std::size_t>(2 * n_outputs * n_leaves));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t row = rows[i], start = row * n_outputs;
    if (leaves[row] >= n_leaves) throw std::invalid_argument("there is a leaf that does not exist");
    const double weight = weights ? weights[i] : 1.0;
    double* sum = total.data() + 2 * n_outputs * leaves[row];
    for (std::int64_t k = 0; k < n_outputs; ++k) {
      sum[2 * k] += weight * static_cast<double>(gradients[start + k]);
      sum[2 * k + 1] += weight * static_cast<double>(hessians[start + k]);
    }
  }
  return total;
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
