#include "mpboost/losses.hpp"

#include <vector>

namespace mpboost {
namespace {

// Call derive(rows) on batches of rows; add what it returns to the sums, and return their total.
template <class Label, class Derive>
double for_batches(const LossRows<Label>& rows, RowSums& sums, Threads& threads, Derive derive) {
  sums.add_rows(rows.n_rows, 1, max_loss_rows, 4, threads, [&] {
    return [&, derive](std::int64_t first, std::int64_t n, double* sum) mutable {  // a copy, with scratch memory
      *sum = derive(rows.from(first, n));
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
