#include "mpboost/threads.hpp"

#include <stdexcept>
#include <string>

namespace mpboost {
namespace {

// Tasks often follow one another at once: look a few times before going to sleep, which takes longer to wake from.
template <class Condition>
void wait_a_little(Condition is_met) {
  for (int look = 0; look < 50 && !is_met(); ++look) std::this_thread::yield();
}

}  // namespace

Threads::Threads(int n_threads) {
  try {
    for (int i = 1; i < n_threads; ++i) workers_.emplace_back([this] { serve(); });
  } catch (const std::exception& error) {
    const auto n_started = workers_.size();
    close();
    throw std::runtime_error("the system gave only " + std::to_string(n_started) + " more threads of the " +
                             std::to_string(n_threads - 1) + " asked for (" + error.what() + "); lower n_jobs");
  }
}

void Threads::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Threads::share(std::int64_t n_ranges, const std::function<void(std::int64_t)>& task) {
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    n_ranges_ = n_ranges;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    ++round_;
  }
  wake_.notify_all();
  work_off();
  const auto is_done = [this] { return busy_ == 0; };
  wait_a_little(is_done);
  std::unique_lock lock(mutex_);
  done_.wait(lock, is_done);
  if (error_) std::rethrow_exception(error_);
}

void Threads::work_off() {
  try {
    while (true) {
      const std::int64_t range = next_.fetch_add(1, std::memory_order_relaxed);
      if (range >= n_ranges_) return;
      (*task_)(range);
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    next_.store(n_ranges_, std::memory_order_relaxed);
  }
}

void Threads::serve() {
  std::uint64_t seen = 0;
  const auto is_needed = [&] { return closing_ || round_ != seen; };
  while (true) {
    wait_a_little(is_needed);
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, is_needed);
      if (closing_) return;
      seen = round_;
    }
    work_off();
    {
      std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

}  // namespace mpboost
