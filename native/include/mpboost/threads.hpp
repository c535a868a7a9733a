// Threads of our own, alive only as long as this object: nothing outlives a call of fit or predict, so
// a process may fork after it. (OpenMP's workers do outlive it, and their forked children hang.)
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mpboost {

class Threads {
 public:
  explicit Threads(int n_threads);
  ~Threads() { close(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Call work(begin, end) on disjoint ranges that cover [0, n_items). Every range but the last is
  // a multiple of `grain` long, so work smaller than a grain is not spread at all.
  template <class Work>
  void for_ranges(std::int64_t n_items, std::int64_t grain, Work&& work) {
    if (n_items <= 0) return;
    const std::int64_t n_grains = (n_items + grain - 1) / grain;
    if (workers_.empty() || n_grains == 1) {
      work(std::int64_t{0}, n_items);
      return;
    }
    // A few ranges per thread even out unequal speeds.
    const std::int64_t n_ranges = std::min<std::int64_t>(n_grains, 4 * size());
    const std::int64_t length = (n_grains + n_ranges - 1) / n_ranges * grain;
    share((n_items + length - 1) / length, [&](std::int64_t range) {
      work(range * length, std::min(n_items, (range + 1) * length));
    });
  }

 private:
  void share(std::int64_t n_ranges, const std::function<void(std::int64_t)>& task);
  void work_off();
  void close();
  void serve();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::atomic<std::int64_t> next_{0};
  std::int64_t n_ranges_ = 0;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> closing_{false};
  std::exception_ptr error_;
};

}  // namespace mpboost
