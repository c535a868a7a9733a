// Who takes part in a race, and when they arrive. Header-only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "mpboost/elementary.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline constexpr std::int64_t no_item = std::numeric_limits<std::int64_t>::min();
inline constexpr Arrival never{infinity, -infinity, no_item};  // not even who never arrives comes before it

// The items that race, in their order, and when they arrive; in memory that grows without being cleared.
class Heat {
 public:
  std::int64_t size() const { return size_; }
  std::int64_t n_arrived() const { return n_arrived_; }
  const std::int64_t* items() const { return items_.get(); }
  ArrivalColumns columns() const { return {log_times_.get(), rests_.get(), items_.get(), size_}; }
  Arrival operator[](std::int64_t k) const { return {log_times_[k], rests_[k], items_[k]}; }

  // Add items: write(where) writes up to n of them, and up to compressed_items more that do not count.
  template <class Write>
  void add_items(std::int64_t n, Write write) {
    if (size_ + n + compressed_items > room_) {
      room_ = std::max(2 * room_, size_ + n + compressed_items);
      auto items = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(room_));
      std::copy_n(items_.get(), size_, items.get());
      items_ = std::move(items);
    }
    size_ += write(items_.get() + size_);
  }

  // Find out when the items arrive, if they do so before a deadline: draw(log_exponentials) draws for all of them.
  template <class Draw, class LogWeight>
  void find_times(double deadline, Draw draw, LogWeight log_weight) {
    log_times_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(size_));
    rests_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(size_));
    draw(log_times_.get());
    for (std::int64_t k = 0; k < size_; ++k) rests_[k] = log_weight(items_[k]);
    deadline_ = deadline;
    n_arrived_ = kernels().find_times(deadline, size_, log_times_.get(), rests_.get());
  }

  // The deadline, by which the last of them arrives; then when that is, to look up if there is no deadline.
  double deadline() const { return deadline_; }
  double find_latest() const {
    double latest = -infinity;
    for (std::int64_t k = 0; k < size_; ++k)
      if (const double time = log_times_[static_cast<std::size_t>(k)]; time < infinity) latest = std::max(latest, time);
    return latest;
  }

  // Join the heats of parts of the items, in their order.
  static Heat join(std::span<const Heat* const> parts) {
    Heat all;
    for (const Heat* part : parts) all.size_ += part->size_;
    all.items_ = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(all.size_));
    all.log_times_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(all.size_));
    all.rests_ = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(all.size_));
    std::int64_t first = 0;
    for (const Heat* part : parts) {
      std::copy_n(part->items_.get(), part->size_, all.items_.get() + first);
      std::copy_n(part->log_times_.get(), part->size_, all.log_times_.get() + first);
      std::copy_n(part->rests_.get(), part->size_, all.rests_.get() + first);
      first += part->size_;
      all.n_arrived_ += part->n_arrived_;
      all.deadline_ = part->deadline_;
    }
    return all;
  }

 private:
  std::int64_t size_ = 0, room_ = 0, n_arrived_ = 0;
  double deadline_ = infinity;
  std::unique_ptr<std::int64_t[]> items_;
  std::unique_ptr<double[]> log_times_, rests_;
};

// Finds who is the n-th to arrive: counts who comes before some times, which takes vectors only, until few are left
// between two of these. It may be asked for ever later ones.
class Ranking {
 public:
  explicit Ranking(const Heat& heat)
      : heat_(heat), arrivals_(heat.columns()), count_before_(kernels().count_before), latest_(heat.deadline()) {
    if (latest_ == infinity) latest_ = heat.find_latest();
  }

  // The arrival that n others come before.
  Arrival find(std::int64_t n) {
    if (n >= heat_.n_arrived()) return never;
    narrow(n);
    std::vector<Arrival> some(static_cast<std::size_t>(n_high_ - n_low_ + 1));
    std::size_t n_some = 0;
    for (std::int64_t k = 0; k < arrivals_.size; ++k) {
      some[n_some] = heat_[k];  // kept only if the next line counts it: no branch
      n_some += (low_ <= arrivals_.log_times[k]) & (arrivals_.log_times[k] < high_);
    }
    const auto nth = some.begin() + (n - n_low_);
    std::nth_element(some.begin(), nth, some.end() - 1);
    return *nth;
  }

 private:
  static constexpr std::int64_t n_few = 24;
  static constexpr int most_steps = 24;  // enough, unless times are far apart or equal

  // Arrivals by some time are at first in proportion to it, and times are known by their logarithms.
  void narrow(std::int64_t n) {
    high_ = infinity;
    n_high_ = heat_.n_arrived();
    double distance = 1.0 / 16;
    double pivot = latest_ + log_of(static_cast<double>(n + 1) / static_cast<double>(n_high_));
    for (int step = 0; step < most_steps && n_high_ - n_low_ > n_few; ++step) {
      const std::int64_t n_before = count_before_(arrivals_.log_times, arrivals_.size, pivot);
      const bool is_low = n_before <= n;
      (is_low ? low_ : high_) = pivot;
      (is_low ? n_low_ : n_high_) = n_before;
      if (std::isfinite(low_) && std::isfinite(high_)) {
        pivot = interpolate(n);
      } else {
        pivot += is_low ? distance : -distance;
        distance *= 2;
      }
    }
  }

  // A time between the two that is likely to be on the other side of the n-th arrival than the one that is farther.
  double interpolate(std::int64_t n) const {
    const auto size = static_cast<double>(n_high_ - n_low_), place = static_cast<double>(n - n_low_) + 0.5;
    const double error = 0.5 * std::sqrt(size) + 1.0;
    const double aim = place > 0.5 * size ? place - error : place + error;
    return low_ + (high_ - low_) * std::clamp(aim / size, 0.05, 0.95);
  }

  const Heat& heat_;
  ArrivalColumns arrivals_;
  std::int64_t (*count_before_)(const double*, std::int64_t, double);
  double latest_, low_ = -infinity, high_ = infinity;
  std::int64_t n_low_ = 0, n_high_ = 0;  // who come before these times
};

}  // namespace mpboost
