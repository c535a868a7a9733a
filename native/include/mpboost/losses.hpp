// Gradient boosting, after leaves have their values: add these to the outputs F of all rows, and compute the
// derivatives of the loss there. Sums are made in double and do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "mpboost/chunk_sums.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/threads.hpp"

namespace mpboost {

// Add the values of their leaves to F of all rows, and compute the derivatives. Add the weight of rows that are
// right to that of the rows before, and return all of it: labels are -1 and +1, where an F of 0 counts as +1, or they
// are classes, of which the lowest wins at a tie. All three throw if there is a leaf without value.
double step_log_loss(const LossRows<std::int8_t>& rows, RowSums& sums, Threads& threads);
double step_softmax(LossRows<std::uint16_t> rows, RowSums& sums, Threads& threads);

// The same for numbers and the weighted sum of squared errors. Poisson and gamma losses take F for a logarithm.
double step_values(ValueLoss loss, const LossRows<float>& rows, RowSums& sums, Threads& threads);

}  // namespace mpboost
