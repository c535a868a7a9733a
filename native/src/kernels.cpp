#include "mpboost/kernels.hpp"

#include <array>
#include <atomic>
#include <cstddef>

namespace mpboost {

namespace portable {
extern const Kernels table;
}
#ifdef MPBOOST_AVX2
namespace avx2 {
extern const Kernels table;
}
#endif

namespace {

struct Choice {
  std::array<const Kernels*, 2> items;
  std::size_t n;
};

const Choice& runnable() {
  static const Choice choice = [] {
    Choice found{};
#ifdef MPBOOST_AVX2
    // All sets of instructions that kernels_avx2.cpp is compiled for.
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt"))
      found.items[found.n++] = &avx2::table;
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
