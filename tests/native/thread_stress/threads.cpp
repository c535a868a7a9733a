// Threads themselves.
#include <stdexcept>

#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

// Many short tasks, one after the other: threads are woken, or still look for the next one.
void share_short_tasks(const Data&, Threads& threads, Digest& digest) {
  std::vector<std::int64_t> counts(1000);
  for (int task = 0; task < 500; ++task)
    threads.for_ranges(std::ssize(counts), 10, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) counts[static_cast<std::size_t>(i)] += i;
    });
  digest.add(counts);
}

// An error in a task reaches the caller, and threads go on with the next task.
void share_tasks_that_fail(const Data&, Threads& threads, Digest& digest) {
  std::int64_t n_errors = 0;
  for (int task = 0; task < 50; ++task) {
    try {
      threads.for_ranges(100, 1, [](std::int64_t, std::int64_t end) {
        if (end > 50) throw std::runtime_error("on purpose");
      });
    } catch (const std::runtime_error&) {
      ++n_errors;
    }
  }
  digest.add(static_cast<double>(n_errors));
}

constexpr Case cases[] = {
    {"short tasks", true, share_short_tasks},
    {"tasks that fail", true, share_tasks_that_fail},
};

}  // namespace

std::span<const Case> list_thread_cases() { return cases; }

}  // namespace stress
