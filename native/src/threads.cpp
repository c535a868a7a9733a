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
    shares_ = std::vector<Share>(workers_.size() + 1);  // nobody looks before there is work
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

  void share(std::int64_t n_ranges, const std::function<void(std::int64_t, std::size_t)>& task) {
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      for (std::size_t k = 0; k < shares_.size(); ++k) {
        const auto n = static_cast<std::int64_t>(shares_.size()), place = static_cast<std::int64_t>(k);
        shares_[k].next.store(place * n_ranges / n, std::memory_order_relaxed);
        shares_[k].end = (place + 1) * n_ranges / n;
      }
      busy_ = size();
      error_ = nullptr;
      ++round_;
    }
    wake_.notify_all();
    work_off(0);
    const auto is_done = [this] { return busy_ == 0; };
    wait_a_little(is_done);
    std::unique_lock lock(mutex_);
    done_.wait(lock, is_done);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Ranges that one thread begins with; on a line of the cache of its own, since threads count them all the time.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  // Start another thread; return false if the system refuses.
  bool start_worker() {
    try {
      workers_.emplace_back([this, place = workers_.size() + 1] { serve(place); });
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  // Tasks often follow one another, those of an iteration within some ten microseconds: look for a while before going
  // to sleep, and let others run meanwhile. Sharing a task with a thread that still looks took 0.7 us, with one asleep
  // 5 us or more. Fits with two threads took 1 to 4 % less with a millisecond than with a tenth of it.
  template <class Condition>
  static void wait_a_little(Condition is_met) {
    using namespace std::chrono_literals;
    const auto end = std::chrono::steady_clock::now() + 1000us;
    while (!is_met() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  // Do what is left of a thread's own share, then help the others.
  void work_off(std::size_t place) {
    try {
      for (std::size_t k = 0; k < shares_.size(); ++k) {
        Share& share = shares_[(place + k) % shares_.size()];
        for (std::int64_t range; (range = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
          (*task_)(range, place);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      error_ = std::current_exception();
      for (Share& share : shares_) share.next.store(share.end, std::memory_order_relaxed);
    }
  }

  void serve(std::size_t place) {
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
      work_off(place);
      {
        const std::scoped_lock lock(mutex_);
        --busy_;
      }
      done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::int64_t, std::size_t)>* task_ = nullptr;
  std::vector<Share> shares_;  // of the ranges: the caller's, then those of the other threads
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

void Threads::share(std::int64_t n_ranges, const std::function<void(std::int64_t, std::size_t)>& task) {
  team_->share(n_ranges, task);
}

}  // namespace mpboost
