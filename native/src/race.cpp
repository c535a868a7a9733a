#include "mpboost/race.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

namespace mpboost {
namespace {

struct Arrival {
  double log_time;
  std::int64_t item;
  bool operator<(const Arrival& other) const {
    return log_time != other.log_time ? log_time < other.log_time : item < other.item;
  }
};

// The first `capacity` arrivals of those pushed, kept by cutting a buffer of twice that size.
class Leaders {
 public:
  explicit Leaders(std::int64_t capacity)
      : capacity_(static_cast<std::size_t>(capacity)), limit_(std::max<std::size_t>(2 * capacity_, 64)) {
    arrivals_.reserve(limit_);
  }

  // No arrival after this can be a leader.
  double deadline() const { return deadline_; }

  void push(const Arrival& arrival) {
    arrivals_.push_back(arrival);
    if (arrivals_.size() == limit_) cut();
  }

  std::vector<Arrival>& finish() {
    if (arrivals_.size() > capacity_) cut();
    return arrivals_;
  }

 private:
  void cut() {
    const auto last = arrivals_.begin() + static_cast<std::ptrdiff_t>(capacity_) - 1;
    std::nth_element(arrivals_.begin(), last, arrivals_.end());
    deadline_ = last->log_time;
    arrivals_.resize(capacity_);
  }

  std::size_t capacity_, limit_;
  std::vector<Arrival> arrivals_;
  double deadline_ = std::numeric_limits<double>::infinity();
};

template <class LogWeight>
void run(LogWeight log_weight, std::int64_t begin, std::int64_t end, const Stream& stream, Leaders& leaders) {
  for (std::int64_t i = begin; i < end; ++i) {
    const double u = uniform(stream.bits(static_cast<std::uint64_t>(i)));
    const double w = log_weight(i);
    // -log(u) >= 1 - u, so most items are known to be late before any logarithm is taken. The comparison
    // is also false for weight zero.
    if (!(log_lower_bound(1.0 - u) - w <= leaders.deadline()) || !(w > -std::numeric_limits<double>::infinity()))
      continue;
    const double log_time = log_positive(-log_positive(u)) - w;
    if (log_time <= leaders.deadline()) leaders.push({log_time, i});
  }
}

template <class LogWeight>
std::vector<Arrival> first_arrivals(LogWeight log_weight, std::int64_t n_items, std::int64_t n, const Stream& stream,
                                    Threads& threads) {
  Leaders all(n);
  std::mutex mutex;
  threads.for_ranges(n_items, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    Leaders leaders(n);
    run(log_weight, begin, end, stream, leaders);
    std::lock_guard lock(mutex);
    for (const Arrival& arrival : leaders.finish()) all.push(arrival);
  });
  return std::move(all.finish());
}

}  // namespace

std::vector<std::int64_t> race(const double* log_weights, std::int64_t n_items, std::int64_t n, const Stream& stream,
                               Threads& threads) {
  if (n <= 0) return {};
  auto winners = first_arrivals([=](std::int64_t i) { return log_weights[i]; }, n_items, n, stream, threads);
  std::vector<std::int64_t> items;
  items.reserve(static_cast<std::size_t>(n));
  for (const Arrival& winner : winners) items.push_back(winner.item);

  const std::int64_t n_left = n - static_cast<std::int64_t>(items.size());
  if (n_left > 0) {  // every item of positive weight is in
    constexpr double zero_weight = -std::numeric_limits<double>::infinity();
    auto rest = first_arrivals([=](std::int64_t i) { return log_weights[i] > zero_weight ? zero_weight : 0.0; },
                               n_items, n_left, stream, threads);
    for (const Arrival& arrival : rest) items.push_back(arrival.item);
  }
  std::sort(items.begin(), items.end());
  return items;
}

}  // namespace mpboost
