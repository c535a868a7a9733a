#include "mpboost/kernels.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace mpboost {

namespace portable {
extern const Kernels table;
}
#ifdef MPBOOST_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

namespace {

#ifdef MPBOOST_X86
// Those of AVX-512 but for what AVX2 does faster: comparisons of bytes that leave bytes, and loops over a few outputs.
const Kernels& mix_avx512() {
  static const Kernels mixed = [] {
    Kernels some = avx512::table;
    some.search_pairs = avx2::table.search_pairs;
    some.add_leaf_values = avx2::table.add_leaf_values;
    some.add_derivatives = avx2::table.add_derivatives;
    some.gradient_sizes = avx2::table.gradient_sizes;
    return some;
  }();
  return mixed;
}

// All sets of instructions that kernels_avx2.cpp is compiled for.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

// And kernels_avx512.cpp. The last two came with processors that run at full speed with vectors of 512 bits.
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2");
}
#endif

struct Choice {
  std::array<const Kernels*, 3> items;
  std::size_t n;
};

const Choice& runnable() {
  static const Choice choice = [] {
    Choice found{};
#ifdef MPBOOST_X86
    if (has_avx512()) found.items[found.n++] = &mix_avx512();
    if (has_avx2()) found.items[found.n++] = &avx2::table;
#endif
    found.items[found.n++] = &portable::table;
    return found;
  }();
  return choice;
}

std::atomic<const Kernels*> in_use{nullptr};

}  // namespace

std::span<const Kernels* const> available_kernels() { return {runnable().items.data(), runnable().n}; }

const Kernels& kernels() {
  const Kernels* chosen = in_use.load(std::memory_order_relaxed);
  return chosen ? *chosen : *runnable().items[0];
}

bool use_kernels(std::string_view name) {
  for (const Kernels* candidate : available_kernels()) {
    if (candidate->name == name) {
      in_use.store(candidate, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace mpboost
