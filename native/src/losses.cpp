#include "mpboost/losses.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace mpboost {
namespace {

// No leaf may lack a value: threads look as they go, since a pass over all rows beforehand would not be shared.
template <class Label>
void check_leaves(const LossRows<Label>& rows) {
  if (!rows.leaves) return;
  std::uint16_t most = 0;
  for (std::int64_t i = 0; i < rows.n_rows; ++i) most = std::max(most, rows.leaves[i]);
  if (rows.n_rows > 0 && most >= rows.n_leaves) throw std::invalid_argument("there is a leaf without value");
}

// Call derive(rows) on batches of rows; add what it returns to the sums, and return their total.
template <class Label, class Derive>
double for_batches(const LossRows<Label>& rows, RowSums& sums, Threads& threads, Derive derive) {
  const std::int64_t grain = std::max<std::int64_t>(1, 4 / rows.n_outputs);
  sums.add_rows(rows.n_rows, 1, max_loss_rows, grain, threads, [&] {
    return [&, derive](std::int64_t first, std::int64_t n, double* sum) mutable {  // a copy, with scratch memory
      const LossRows<Label> batch = rows.from(first, n);
      check_leaves(batch);
      *sum = derive(batch);
    };
  });
  return sums.total()[0];
}

}  // namespace

double step_log_loss(const LossRows<std::int8_t>& rows, RowSums& sums, Threads& threads) {
  return for_batches(rows, sums, threads, kernels().log_loss);
}

double step_softmax(LossRows<std::uint16_t> rows, RowSums& sums, Threads& threads) {
  std::vector<float> scratch(static_cast<std::size_t>(3 * softmax_rows * rows.n_outputs));
  return for_batches(rows, sums, threads, [kernel = kernels().softmax, scratch](LossRows<std::uint16_t> batch) mutable {
    batch.scratch = scratch.data();
    return kernel(batch);
  });
}

double step_values(ValueLoss loss, const LossRows<float>& rows, RowSums& sums, Threads& threads) {
  return for_batches(rows, sums, threads, [loss, kernel = kernels().value_loss](const LossRows<float>& batch) {
    return kernel(loss, batch);
  });
}

}  // namespace mpboost
