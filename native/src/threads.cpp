#include "mpboost/threads.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mpboost {

// The threads besides the caller's, and what they share.
class Threads::Team {
 public:
  explicit Team(int n_workers) {
    bool may_start = true;
    while (may_start && size() < n_workers) may_start = start_worker();
  }

  ~Team() {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  int size() const { return static_cast<int>(workers_.size()); }
  std::uint64_t n_shared() const { return round_; }

  void share(std::int64_t n_ranges, const std::function<void(std::int64_t)>& task) {
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      n_ranges_ = n_ranges;
      next_.store(0, std::memory_order_relaxed);
      busy_ = size();
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

 private:
  // Start another thread; return false if the system refuses.
  bool start_worker() {
    try {
      workers_.emplace_back([this] { serve(); });
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  // Tasks often follow one another, those of an iteration within some ten microseconds: look for a while before going
  // to sleep, and let others run meanwhile. Sharing a task with a thread that still looks took 0.7 us, with one asleep
  // 5 us or more.
  template <class Condition>
  static void wait_a_little(Condition is_met) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 100us;
    while (!is_met() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  void work_off() {
    try {
      while (true) {
        const std::int64_t range = next_.fetch_add(1, std::memory_order_relaxed);
        if (range >= n_ranges_) return;
        (*task_)(range);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      error_ = std::current_exception();
      next_.store(n_ranges_, std::memory_order_relaxed);
    }
  }

  void serve() {
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
        const std::scoped_lock lock(mutex_);
        --busy_;
      }
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::atomic<std::int64_t> next_{0};
  std::int64_t n_ranges_ = 0;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> closing_{false};
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

Threads::Threads(int n_threads)
    : owner_(::getpid()), team_(n_threads > 1 ? std::make_unique<Team>(n_threads - 1) : nullptr) {}

Threads::~Threads() {
  // In a forked child there are no threads to join, and locks may be held by threads that it has not: leave the team
  // alone.
  if (is_inherited()) static_cast<void>(team_.release());
}

bool Threads::is_inherited() const { return ::getpid() != owner_; }

int Threads::size() const { return team_ && !is_inherited() ? team_->size() + 1 : 1; }

std::uint64_t Threads::n_shared() const { return team_ ? team_->n_shared() : 0; }

void Threads::share(std::int64_t n_ranges, const std::function<void(std::int64_t)>& task) {
  team_->share(n_ranges, task);
}

}  // namespace mpboost
