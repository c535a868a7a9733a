#include "mpboost/losses.hpp"

#include <vector>

namespace mpboost {
namespace {

// Call derive(rows) on batches of rows, and add up what it returns, in their order.
template <class Label, class Derive>
double for_batches(const LossRows<Label>& rows, Threads& threads, Derive derive) {
  std::vector<double> sums(static_cast<std::size_t>((rows.n_rows + max_loss_rows - 1) / max_loss_rows));
  threads.for_ranges(rows.n_rows, 16 * max_loss_rows, [&](std::int64_t begin, std::int64_t end) {
    auto sum = derive;  // a copy, whose scratch memory is this thread's
    for (std::int64_t first = begin; first < end; first += max_loss_rows)
      sums[static_cast<std::size_t>(first / max_loss_rows)] = sum(rows.from(first, max_loss_rows));
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

double step_log_loss(const LossRows<std::int8_t>& rows, Threads& threads) {
  return for_batches(rows, threads, kernels().log_loss);
}

double step_softmax(LossRows<std::uint16_t> rows, Threads& threads) {
  std::vector<float> scratch(static_cast<std::size_t>(3 * softmax_rows * rows.n_outputs));
  return for_batches(rows, threads, [kernel = kernels().softmax, scratch](LossRows<std::uint16_t> batch) mutable {
    batch.scratch = scratch.data();
    return kernel(batch);
  });
}

double step_values(ValueLoss loss, const LossRows<float>& rows, Threads& threads) {
  return for_batches(rows, threads, [loss, kernel = kernels().value_loss](const LossRows<float>& batch) {
    return kernel(loss, batch);
  });
}

}  // namespace mpboost
