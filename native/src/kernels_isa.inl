// The inner loops, written once with the compiler's vector types and compiled once per instruction set
// (kernels_portable.cpp, kernels_avx2.cpp). Only raw memory in here: a library template compiled with
// AVX2 could be linked into code that must run without it.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mpboost/columns.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/random.hpp"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace mpboost {
namespace MPBOOST_ISA {
namespace {

#include "vectors.inl"

#include "search.inl"

#include "weighted_search.inl"

#include "gradient_search.inl"

#include "sweep.inl"

#include "losses.inl"

void log_exponential(double* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = log_positive(-log_positive(values[i]));
}

}  // namespace
}  // namespace MPBOOST_ISA
}  // namespace mpboost
