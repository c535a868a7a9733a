// Threads of our own, alive only as long as this object, which each call of fit or predict makes anew: a process may
// fork after them. (OpenMP's workers outlive a call, and forked children hang.) A child that inherits a living object,
// say in a half-consumed generator, does all the work itself: the threads stayed with its parent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace mpboost {

class Threads {
 public:
  // Starts so many threads, the caller's included, or as many of them as the system gives.
  explicit Threads(int n_threads);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int size() const;

  // How often work was spread over several threads, for tests.
  std::uint64_t n_shared() const;

  // Call work(begin, end) on disjoint ranges that cover [0, n_items). Every range but the last is a multiple of `grain`
  // long, so work smaller than a grain is not spread at all. Each thread begins with a share of its own, the same in
  // every call: what it wrote for some rows is likely to be in its cache when it reads it. Grains should take some
  // times longer than it takes to wake a thread: 5 us, in one of ten cases up to 25 us (measured on two x86 cores); 0.7
  // us if it has not gone to sleep yet.
  template <class Work>
  void for_ranges(std::int64_t n_items, std::int64_t grain, Work&& work) {
    spread(n_items, grain, [&](std::int64_t begin, std::int64_t end, std::size_t) { work(begin, end); });
  }

  // Call work(begin, end, state), where each thread that takes part has a state of its own, which it makes once.
  template <class Make, class Work>
  void for_ranges_with(std::int64_t n_items, std::int64_t grain, Make make, Work work) {
    std::vector<std::optional<std::invoke_result_t<Make&>>> states(static_cast<std::size_t>(size()));
    spread(n_items, grain, [&](std::int64_t begin, std::int64_t end, std::size_t thread) {
      if (!states[thread]) states[thread].emplace(make());
      work(begin, end, *states[thread]);
    });
  }

 private:
  class Team;

  // Call work(begin, end, number of the thread).
  template <class Work>
  void spread(std::int64_t n_items, std::int64_t grain, Work work) {
    if (n_items <= 0) return;
    const std::int64_t n_grains = (n_items + grain - 1) / grain;
    const int n_threads = n_grains > 1 ? size() : 1;
    if (n_threads == 1) {
      work(std::int64_t{0}, n_items, std::size_t{0});
      return;
    }
    // A few ranges per thread even out unequal speeds.
    const std::int64_t n_ranges = std::min<std::int64_t>(n_grains, 4 * n_threads);
    const auto end_of = [=](std::int64_t range) {
      return std::min(n_items, (range + 1) * n_grains / n_ranges * grain);
    };
    share(n_ranges,
          [&](std::int64_t range, std::size_t thread) { work(range ? end_of(range - 1) : 0, end_of(range), thread); });
  }

  bool is_inherited() const;
  void share(std::int64_t n_ranges, const std::function<void(std::int64_t, std::size_t)>& task);

  const std::int64_t owner_;  // the process that started the threads
  std::unique_ptr<Team> team_;
};

}  // namespace mpboost
