// Sums of numbers that rows have: totals, means and class weights of which a model is made.
#pragma once

#include <cstdint>
#include <vector>

#include "mpboost/chunk_sums.hpp"

namespace mpboost {

// Add the numbers of n_rows rows to those of the rows before, and return the sum of all.
double sum_values(const double* values, std::int64_t n_rows, RowSums& sums, Threads& threads);
double sum_values(const float* values, std::int64_t n_rows, RowSums& sums, Threads& threads);

// The same for the rows of each class, which must be below n_classes.
std::vector<double> sum_by_class(const double* values, const std::uint16_t* classes, std::int64_t n_rows,
                                 std::int64_t n_classes, RowSums& sums, Threads& threads);

}  // namespace mpboost
