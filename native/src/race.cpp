#include "mpboost/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "mpboost/elementary.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t grain = 1 << 15;  // items

struct Arrival {
  double log_time;
  std::int64_t item;
  bool operator<(const Arrival& other) const {
    return log_time != other.log_time ? log_time < other.log_time : item < other.item;
  }
};

// The chance that an item has arrived by the time exp(d * width) / weight. The table begins at exp(-45), before the
// least time that can be drawn, 2^-53 = exp(-36.7), and ends at exp(4), when all but exp(-54) have arrived.
class Chances {
 public:
  explicit Chances(double width)
      : first_(static_cast<int>(-45.0 / width) - 1), last_(static_cast<int>(4.0 / width) + 1) {
    for (int d = first_; d <= last_; ++d) chances_.push_back(-expm1_of(-exp_of(d * width)));
  }
  int first() const { return first_; }
  int last() const { return last_; }
  double operator()(int d) const {
    return d < first_ ? 0.0 : chances_[static_cast<std::size_t>(std::min(d, last_) - first_)];
  }

 private:
  int first_, last_;
  std::vector<double> chances_;
};

// Tells which items may have arrived by some time: those whose random bits exceed the limit of their weight's level.
// Level k holds log-weights in (high - k * width, high - (k - 1) * width]; the first and the last level are open. Times
// are counted in units of exp(-origin), so that weights that are all huge or tiny lose no digits.
class Screen {
 public:
  static constexpr int max_levels = 1024;

  // Lets all items pass.
  explicit Screen(double origin) : origin_(origin) {}

  // Lets those items pass that may arrive by exp(deadline * width - high).
  Screen(double high, double width, int n_levels, int deadline, const Chances& chances)
      : origin_(high), per_width_(1.0 / width), last_level_(n_levels), deadline_(deadline * width) {
    for (int level = 1; level <= n_levels; ++level) {
      // An item with the largest weight of its level is in time if its uniform number exceeds this.
      const double least = 1.0 - chances(deadline - level + 1) * (1.0 + 1e-9) - 0x1p-50;
      limits_[level] = least > 0 ? static_cast<std::uint64_t>(least * 0x1p64) : 0;
    }
  }

  bool passes(double log_weight, std::uint64_t bits) const {
    double level = (origin_ - log_weight) * per_width_ + 1.0;
    level = level < last_level_ ? level : last_level_;  // also if it is NaN
    level = level > 0.0 ? level : 0.0;
    return bits >= limits_[static_cast<int>(level)];
  }

  bool is_open() const { return deadline_ == infinity; }
  double origin() const { return origin_; }
  double deadline() const { return deadline_; }  // logarithm of a time

 private:
  double origin_, per_width_ = 0.0, last_level_ = 0.0, deadline_ = infinity;
  std::uint64_t limits_[max_levels + 1] = {};
};

// The n-th largest of all weights that are not zero, or the smallest.
template <class LogWeight>
double find_nth_largest(LogWeight log_weight, std::int64_t n_items, std::int64_t n) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < n_items; ++i)
    if (const double w = log_weight(i); w > -infinity) weights.push_back(w);
  if (weights.empty()) return 0.0;
  const auto nth = weights.begin() + std::min(n, static_cast<std::int64_t>(weights.size())) - 1;
  std::ranges::nth_element(weights, nth, std::ranges::greater());
  return std::isfinite(*nth) ? *nth : 0.0;
}

// Every stride-th item.
template <class LogWeight>
struct Sample {
  LogWeight log_weight;
  std::int64_t stride, size;

  double operator[](std::int64_t i) const { return log_weight(i * stride); }
};

struct Extent {
  double low = infinity, high = -infinity;  // of finite log-weights
};

template <class LogWeight>
Extent compute_extent(const Sample<LogWeight>& sample, Threads& threads) {
  Extent all;
  std::mutex mutex;
  threads.for_ranges(sample.size, grain, [&](std::int64_t begin, std::int64_t end) {
    Extent extent[4];  // four chains of comparisons, which need not wait for each other
    for (std::int64_t i = begin; i < end; ++i) {
      auto& [lowest, highest] = extent[i % 4];
      const double w = sample[i];
      const double finite = w > -infinity ? w : infinity;
      lowest = finite < lowest ? finite : lowest;
      highest = w > highest ? w : highest;
    }
    const std::scoped_lock lock(mutex);
    for (const auto& [lowest, highest] : extent) all = {std::min(all.low, lowest), std::max(all.high, highest)};
  });
  return all;
}

// Choose a screen that n items, but not many more, are likely to pass. Weights are rounded to levels, so the number of
// arrivals that is expected by some time is a sum over levels. Rounding lets up to exp(0.25) = 1.28 times as many pass
// as needed. Of many items only every stride-th is looked at: about 100 of those to be drawn, or more, are among these.
template <class LogWeight>
Screen choose_screen(LogWeight log_weight, std::int64_t n_items, std::int64_t n, Threads& threads) {
  constexpr double fine_width = 0.25;
  static const Chances fine_chances(fine_width);
  const std::int64_t stride = std::clamp<std::int64_t>(n / 100, 1, 16);
  const Sample<LogWeight> sample{log_weight, stride, (n_items + stride - 1) / stride};

  const Extent extent = compute_extent(sample, threads);
  const double high = extent.high, range = extent.high - extent.low;
  // Weights differ too much to be told apart on one scale: let the last item that may be drawn set the unit of time.
  if (!(range >= 0.0 && range < 1e6)) return Screen(find_nth_largest(log_weight, n_items, n));
  const double width = std::max(fine_width, range / (Screen::max_levels - 2));
  const double per_width = 1.0 / width;
  const int n_levels = static_cast<int>(range * per_width) + 2;

  std::int64_t counts[Screen::max_levels + 1] = {};
  std::mutex mutex;
  threads.for_ranges(sample.size, grain, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t here[Screen::max_levels + 1] = {};
    for (std::int64_t i = begin; i < end; ++i)
      if (const double w = sample[i]; w > -infinity) ++here[static_cast<int>((high - w) * per_width) + 1];
    const std::scoped_lock lock(mutex);
    for (int level = 1; level <= n_levels; ++level) counts[level] += here[level];
  });

  const std::optional<Chances> own_chances = width == fine_width ? std::nullopt : std::optional<Chances>(width);
  const Chances& chances = own_chances ? *own_chances : fine_chances;
  const auto expected = [&](int deadline) {  // arrivals, if all have the least weight of their level
    double sum = 0.0;
    for (int level = 1; level <= n_levels; ++level)
      sum += static_cast<double>(counts[level]) * chances(deadline - level);
    return sum;
  };
  const double share = static_cast<double>(n) / static_cast<double>(stride);
  // Four standard deviations more: in about 1 of 30 000 draws too few pass, and all items must be looked at again.
  const double wanted = share + 4.0 * std::sqrt(share) + 4.0;
  int early = chances.first(), late = n_levels + chances.last();
  if (expected(late) < wanted) return Screen(high);
  while (late - early > 1) {
    const int middle = early + (late - early) / 2;
    (expected(middle) < wanted ? early : late) = middle;
  }
  return {high, width, n_levels, late, chances};
}

// The logarithms of the exponential numbers that items draw.
std::vector<double> draw_log_exponentials(std::span<const std::int64_t> items, const Stream& stream) {
  std::vector<double> draws(items.size());
  for (std::size_t k = 0; k < items.size(); ++k) draws[k] = uniform(stream.bits(static_cast<std::uint64_t>(items[k])));
  kernels().log_exponential(draws.data(), static_cast<std::int64_t>(items.size()));
  return draws;
}

// Draw the arrivals, before the screen's deadline, of a range of items.
template <class LogWeight>
std::vector<Arrival> draw_arrivals(LogWeight log_weight, const Screen& screen, std::int64_t begin, std::int64_t end,
                                   const Stream& stream) {
  std::vector<std::int64_t> items;
  constexpr std::int64_t batch = 512;
  for (std::int64_t first = begin; first < end; first += batch) {
    std::int64_t passed[batch];
    std::size_t n_passed = 0;
    for (std::int64_t i = first; i < std::min(first + batch, end); ++i) {
      passed[n_passed] = i;  // kept only if the next line counts it: no branch
      n_passed += screen.passes(log_weight(i), stream.bits(static_cast<std::uint64_t>(i)));
    }
    items.insert(items.end(), passed, passed + n_passed);
  }
  const std::vector<double> log_times = draw_log_exponentials(items, stream);
  std::vector<Arrival> arrivals;
  arrivals.reserve(items.size());
  for (std::size_t k = 0; k < items.size(); ++k) {
    const double w = log_weight(items[k]);
    const double log_time = log_times[k] - (w - screen.origin());
    if (log_time <= screen.deadline() && w > -infinity) arrivals.push_back({log_time, items[k]});
  }
  return arrivals;
}

// The first n items to arrive, or all that have a positive weight.
template <class LogWeight>
std::vector<std::int64_t> first_items(LogWeight log_weight, std::int64_t n_items, std::int64_t n, const Stream& stream,
                                      Threads& threads) {
  Screen screen = choose_screen(log_weight, n_items, n, threads);
  std::vector<Arrival> all;
  while (true) {
    std::mutex mutex;
    threads.for_ranges(n_items, grain, [&](std::int64_t begin, std::int64_t end) {
      const auto arrivals = draw_arrivals(log_weight, screen, begin, end, stream);
      const std::scoped_lock lock(mutex);
      all.insert(all.end(), arrivals.begin(), arrivals.end());
    });
    if (static_cast<std::int64_t>(all.size()) >= n || screen.is_open()) break;
    all.clear();
    screen = Screen(screen.origin());  // too few were in time: wait for all
  }
  if (static_cast<std::int64_t>(all.size()) > n) {
    auto order = all;
    std::nth_element(order.begin(), order.begin() + n, order.end());
    const Arrival first_loser = order[static_cast<std::size_t>(n)];
    std::erase_if(all, [&](const Arrival& arrival) { return !(arrival < first_loser); });
  }
  std::vector<std::int64_t> items(all.size());
  std::ranges::transform(all, items.begin(), &Arrival::item);
  if (!std::ranges::is_sorted(items)) std::ranges::sort(items);  // threads finish in any order
  return items;
}

}  // namespace

std::vector<std::int64_t> race(const double* log_weights, std::int64_t n_items, std::int64_t n, const Stream& stream,
                               Threads& threads) {
  if (n <= 0) return {};
  auto items = first_items([=](std::int64_t i) { return log_weights[i]; }, n_items, n, stream, threads);
  const std::int64_t n_left = n - static_cast<std::int64_t>(items.size());
  if (n_left > 0) {  // every item of positive weight is in
    const auto rest = first_items([=](std::int64_t i) { return log_weights[i] > -infinity ? -infinity : 0.0; }, n_items,
                                  n_left, stream, threads);
    items.insert(items.end(), rest.begin(), rest.end());
    std::ranges::sort(items);
  }
  return items;
}

std::vector<double> log_arrivals(const double* log_weights, std::span<const std::int64_t> items, const Stream& stream) {
  std::vector<double> log_times = draw_log_exponentials(items, stream);
  for (std::size_t k = 0; k < items.size(); ++k) log_times[k] -= log_weights[items[k]];
  return log_times;
}

}  // namespace mpboost
