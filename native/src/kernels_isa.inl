// The inner loops, written once with the compiler's vector types and compiled once per instruction set
// (kernels_portable.cpp, kernels_avx2.cpp, kernels_avx512.cpp), in a namespace named after it (MPBOOST_ISA). Only raw
// memory in here: a library template compiled with AVX2 could be linked into code that must run without it.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mpboost/columns.hpp"
#include "mpboost/elementary.hpp"
#include "mpboost/kernels.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace mpboost::MPBOOST_ISA {
namespace {

#include "vectors.inl"

#include "search.inl"

#include "count_search.inl"

#include "weighted_search.inl"

#include "gradient_search.inl"

#include "select.inl"

#include "vote_bits.inl"

#include "gradient_rows.inl"

#include "losses.inl"

#include "gradient_draw.inl"

#include "race.inl"

#include "code_search.inl"

#include "contributions.inl"

template <class Function>
[[gnu::always_inline]] inline void replace_each(double* values, std::int64_t n, Function function) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = function(values[i]);
}

void replace_by_log(double* values, std::int64_t n) {
  replace_each(values, n, [](double x) { return log_of(x); });
}
void replace_by_log1p(double* values, std::int64_t n) {
  replace_each(values, n, [](double x) { return log1p_of(x); });
}
void replace_by_exp(double* values, std::int64_t n) {
  replace_each(values, n, [](double x) { return exp_of(x); });
}
void replace_by_expm1(double* values, std::int64_t n) {
  replace_each(values, n, [](double x) { return expm1_of(x); });
}
void replace_by_logistic(double* values, std::int64_t n) {
  replace_each(values, n, [](double x) { return logistic_of(x); });
}
// In two steps: chains of operations that are half as long let the processor work on more numbers at a time.
void replace_by_softplus(double* values, std::int64_t n) {
  constexpr std::int64_t batch = 512;
  double exps[batch];
  for (std::int64_t first = 0; first < n; first += batch, values += batch) {
    const std::int64_t size = n - first < batch ? n - first : batch;
    for (std::int64_t i = 0; i < size; ++i) exps[i] = exp_of(-__builtin_fabs(values[i]));
    for (std::int64_t i = 0; i < size; ++i) values[i] = softplus_of(values[i], exps[i]);
  }
}
template <int n_trees>
void add_values_of(const LeavesOfTree* trees, std::int64_t n_rows, std::int64_t n_outputs, double* totals) {
  for (std::int64_t i = 0; i < n_rows; ++i, totals += n_outputs) {
    const double* values[n_trees];
    for (int t = 0; t < n_trees; ++t) values[t] = trees[t].values + trees[t].leaves[i] * n_outputs;
    const auto add = [&]<class Real>(Real total, std::int64_t k) {
      for (int t = 0; t < n_trees; ++t) total += load<Real>(values[t] + k);
      std::memcpy(totals + k, &total, sizeof(Real));
    };
    std::int64_t k = 0;
    for (; k + Double::lanes <= n_outputs; k += Double::lanes) add(load<Double::Real>(totals + k), k);
    for (; k < n_outputs; ++k) add(totals[k], k);
  }
}

template <int n_trees>
void add_values_of(const LeavesOfTree* trees, std::int64_t n_rows, double* totals) {
  LeavesOfTree of[n_trees];
  for (int t = 0; t < n_trees; ++t) of[t] = trees[t];
  for (std::int64_t i = 0; i < n_rows; ++i) {
    double total = totals[i];
    for (int t = 0; t < n_trees; ++t) total += of[t].values[of[t].leaves[i]];
    totals[i] = total;
  }
}

void add_leaf_values(const LeavesOfTree* trees, int n_trees, std::int64_t n_rows, std::int64_t n_outputs,
                     double* totals) {
  const auto add = [=]<int n>(const LeavesOfTree* some) {
    n_outputs == 1 ? add_values_of<n>(some, n_rows, totals) : add_values_of<n>(some, n_rows, n_outputs, totals);
  };
  if (n_trees == trees_together) return add.template operator()<trees_together>(trees);
  for (int t = 0; t < n_trees; ++t) add.template operator()<1>(trees + t);
}

void add_derivatives(const std::uint16_t* leaves, std::int64_t n_rows, const float* gradients, const float* hessians,
                     std::int64_t n_outputs, double* sums) {
  for (std::int64_t i = 0; i < n_rows; ++i, gradients += n_outputs, hessians += n_outputs) {
    double* __restrict of_gradients = sums + 2 * leaves[i] * n_outputs;
    double* __restrict of_hessians = of_gradients + n_outputs;
    for (std::int64_t k = 0; k < n_outputs; ++k) of_gradients[k] += static_cast<double>(gradients[k]);
    for (std::int64_t k = 0; k < n_outputs; ++k) of_hessians[k] += static_cast<double>(hessians[k]);
  }
}

void add_numbers(const std::uint16_t* leaves, const std::int64_t* rows, std::int64_t n_rows, const float* numbers,
                 std::int64_t n_outputs, double* sums) {
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const float* __restrict of_row = numbers + rows[i] * n_outputs;
    double* __restrict of_leaf = sums + leaves[i] * n_outputs;
    for (std::int64_t k = 0; k < n_outputs; ++k) of_leaf[k] += static_cast<double>(of_row[k]);
  }
}

}  // namespace

#define MPBOOST_QUOTE(name) #name
#define MPBOOST_NAME_OF(isa) MPBOOST_QUOTE(isa)

extern const Kernels table;  // a constant is its file's own unless declared so: kernels.cpp needs it
const Kernels table{
    .name = MPBOOST_NAME_OF(MPBOOST_ISA),
    .search_pairs = search_pairs,
    .search_bins = search_bins,
    .search_counts = search_counts,
    .count_bins = count_bins,
    .take_off_bins = take_off_bins,
    .search_weighted_pairs = search_weighted_pairs,
    .search_weighted_bins = search_weighted_bins,
    .find_code_range = find_code_range,
    .find_neighbours = find_neighbours,
    .search_gradients = search_gradients,
    .move_rows = move_rows,
    .merge_bins = merge_bins,
    .interleave_bins = interleave_bins,
    .pack_derivatives = pack_derivatives,
    .log_of = replace_by_log,
    .log1p_of = replace_by_log1p,
    .exp_of = replace_by_exp,
    .expm1_of = replace_by_expm1,
    .logistic_of = replace_by_logistic,
    .softplus_of = replace_by_softplus,
    .find_limits = find_limits,
    .screen_items = screen_items,
    .draw_log_exponentials = draw_log_exponentials,
    .find_times = find_times,
    .count_before = count_before,
    .take_items = take_items,
    .find_codes_of_floats = find_codes<float>,
    .find_codes_of_doubles = find_codes<double>,
    .select_rows = select_rows,
    .count_votes = count_votes,
    .write_votes = write_votes,
#if defined(__AVX512BW__)
    .marks_fast = true,
#else
    .marks_fast = false,
#endif
    .to_rows = to_rows,
    .to_columns = to_columns,
    .copy_bytes = copy_bytes,
    .add_leaf_values = add_leaf_values,
    .walk_contributions = walk_contributions,
    .add_derivatives = add_derivatives,
    .add_numbers = add_numbers,
    .log_loss = log_loss,
    .softmax = softmax,
    .value_loss = value_loss,
    .gradient_sizes = gradient_sizes,
    .sum_blocks = sum_blocks,
    .find_rows = find_rows,
};

}  // namespace mpboost::MPBOOST_ISA
