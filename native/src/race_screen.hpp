// Which items of a race may be in time, as their weights and the first bits that they draw tell. Header-only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "mpboost/elementary.hpp"
#include "mpboost/kernels.hpp"
#include "mpboost/race.hpp"
#include "race_heats.hpp"

namespace mpboost {

inline constexpr std::int64_t batch_items = 512;

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

// Tells which items may have arrived by some time: those whose leading random bits reach the limit of their weight's
// level. Level k holds log-weights in (high - k * width, high - (k - 1) * width]; the first and the last level are
// open. Times are counted in units of exp(-origin), so that weights that are all huge or tiny lose no digits.
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
      limits_[level] = least > 0 ? static_cast<std::uint32_t>(least * 0x1p32) : 0;
    }
  }

  LevelLimits limits() const { return {origin_, per_width_, last_level_, limits_}; }
  bool is_open() const { return deadline_ == infinity; }
  double origin() const { return origin_; }

  // The logarithm of a time by which no item that does not pass arrives. Where weights are huge or tiny, times are
  // rounded to few digits: be early.
  double deadline() const { return deadline_ - origin_ - 0x1p-48 * std::abs(origin_); }

 private:
  double origin_, per_width_ = 0.0, last_level_ = 0.0, deadline_ = infinity;
  std::uint32_t limits_[max_levels + 1] = {};
};

// The sources of weights have in common: a log-weight by item; each(stride, take), which calls take(log-weight, how
// often) for all weights of every stride-th item; and a Limits, which writes the limits of up to batch_items items.

// Weights that are computed item by item.
template <class LogWeight>
struct ComputedSource {
  std::int64_t n_items;
  LogWeight log_weight;

  double operator[](std::int64_t i) const { return log_weight(i); }

  template <class Take>
  void each(std::int64_t stride, Take take) const {
    for (std::int64_t i = 0; i < n_items; i += stride) take(log_weight(i), 1);
  }

  struct Limits {
    const ComputedSource& weights;
    LevelLimits levels;

    Limits(const ComputedSource& source, const Screen& screen) : weights(source), levels(screen.limits()) {}

    void write(std::int64_t first, std::int64_t n, std::uint32_t* limits) const {
      double logs[batch_items];
      for (std::int64_t i = 0; i < n; ++i) logs[i] = weights.log_weight(first + i);
      kernels().find_limits(logs, n, levels, limits);
    }
  };
};

struct ArraySource {
  std::int64_t n_items;
  const double* logs;

  double operator[](std::int64_t i) const { return logs[i]; }

  template <class Take>
  void each(std::int64_t stride, Take take) const {
    for (std::int64_t i = 0; i < n_items; i += stride) take(logs[i], 1);
  }

  struct Limits {
    const double* logs;
    LevelLimits levels;

    Limits(const ArraySource& source, const Screen& screen) : logs(source.logs), levels(screen.limits()) {}

    void write(std::int64_t first, std::int64_t n, std::uint32_t* limits) const {
      kernels().find_limits(logs + first, n, levels, limits);
    }
  };
};

// Margins, label * votes, that have an entry in a table, which is counted from its middle.
template <class Count>
class Margins {
 public:
  explicit Margins(const VoteWeights<Count>& weights)
      : labels_(weights.labels), votes_(weights.votes), half_(static_cast<std::int32_t>(weights.table.size() / 2)) {}

  // The margin of a row.
  Count find(std::int64_t i) const {
    const Count margin = compute(i);
    check(margin, margin);
    return margin;
  }

  // Those of some rows.
  void find(std::int64_t first, std::int64_t n, Count* margins) const {
    Count least = 0, most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Count margin = compute(first + i);
      least = margin < least ? margin : least;
      most = margin > most ? margin : most;
      margins[i] = margin;
    }
    check(least, most);
  }

 private:
  Count compute(std::int64_t i) const {
    const auto sign = static_cast<Count>(labels_[i] >> 7);  // 0 or -1; (x ^ sign) - sign is label * x
    return static_cast<Count>((votes_[i] ^ sign) - sign);
  }
  void check(Count least, Count most) const {
    if (least < -half_ || most > half_) [[unlikely]]
      fail();
  }
  [[noreturn, gnu::noinline]] static void fail() {
    throw std::invalid_argument("the table of weights is too short for these votes");
  }

  const std::int8_t* labels_;
  const Count* votes_;
  std::int32_t half_;
};

// Few distinct weights: the limit of each is computed once.
template <class Count>
struct MarginSource {
  std::int64_t n_items;
  std::span<const double> table;
  Margins<Count> margins;

  explicit MarginSource(const VoteWeights<Count>& weights)
      : n_items(weights.n_items), table(weights.table), margins(weights) {}

  double operator[](std::int64_t i) const { return middle(table)[margins.find(i)]; }

  template <class Take>
  void each(std::int64_t stride, Take take) const {
    if (counts_.empty()) {
      counts_.resize(table.size());
      std::int64_t* counts = middle(counts_);
      for (std::int64_t i = 0; i < n_items; i += stride) ++counts[margins.find(i)];
    }
    for (std::size_t k = 0; k < table.size(); ++k)
      if (counts_[k]) take(table[k], counts_[k]);
  }

  struct Limits {
    Margins<Count> margins;
    std::vector<std::uint32_t> by_margin;

    Limits(const MarginSource& source, const Screen& screen) : margins(source.margins), by_margin(source.table.size()) {
      kernels().find_limits(source.table.data(), static_cast<std::int64_t>(by_margin.size()), screen.limits(),
                            by_margin.data());
    }

    void write(std::int64_t first, std::int64_t n, std::uint32_t* limits) const {
      Count found[batch_items];
      margins.find(first, n, found);
      const std::uint32_t* limit_of = middle(by_margin);
      const auto write_some = [&](std::int64_t i) { limits[i] = limit_of[found[i]]; };
      std::int64_t i = 0;
      for (; i + 8 <= n; i += 8)  // without asking after each whether it is the last
#pragma GCC unroll 8
        for (std::int64_t k = i; k < i + 8; ++k) write_some(k);
      for (; i < n; ++i) write_some(i);
    }
  };

 private:
  template <class Entries>
  static auto middle(Entries& entries) {
    return entries.data() + entries.size() / 2;
  }

  mutable std::vector<std::int64_t> counts_;  // of the items that were looked at, by entry of the table
};

// The n-th largest of all weights that are not zero, or the smallest.
template <class Source>
double find_nth_largest(const Source& source, std::int64_t n) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < source.n_items; ++i)
    if (const double w = source[i]; w > -infinity) weights.push_back(w);
  if (weights.empty()) return 0.0;
  const auto nth = weights.begin() + std::min(n, static_cast<std::int64_t>(weights.size())) - 1;
  std::ranges::nth_element(weights, nth, std::ranges::greater());
  return std::isfinite(*nth) ? *nth : 0.0;
}

// Choose a screen that n items, but not many more, are likely to pass. Weights are rounded to levels, so the number of
// arrivals that is expected by some time is a sum over levels. Rounding lets up to exp(0.125) = 1.13 times as many pass
// as needed. Of many items only every stride-th is looked at: about 100 of those to be drawn, or more, are among these
// for each of the races that the screen is for; the more, the fewer pass in vain.
template <class Source>
Screen choose_screen(const Source& source, std::int64_t n, std::int64_t n_races) {
  constexpr double fine_width = 0.125;
  static const Chances fine_chances(fine_width);
  const std::int64_t most = std::max<std::int64_t>(16, source.n_items >> 16);
  const std::int64_t stride = std::clamp<std::int64_t>(n / (100 * n_races), 1, most);

  double low = infinity, high = -infinity;  // of finite log-weights
  source.each(stride, [&](double w, std::int64_t) {
    const double finite = w > -infinity ? w : infinity;
    low = finite < low ? finite : low;
    high = w > high ? w : high;
  });
  const double range = high - low;
  // Weights differ too much to be told apart on one scale: let the last item that may be drawn set the unit of time.
  if (!(range >= 0.0 && range < 1e6)) return Screen(find_nth_largest(source, n));
  const double width = std::max(fine_width, range / (Screen::max_levels - 2));
  const double per_width = 1.0 / width;
  const int n_levels = static_cast<int>(range * per_width) + 2;

  double counts[Screen::max_levels + 1] = {};
  source.each(stride, [&](double w, std::int64_t n_items) {
    if (w > -infinity) counts[static_cast<int>((high - w) * per_width) + 1] += static_cast<double>(n_items);
  });
  int levels[Screen::max_levels + 2];  // that have items, in ascending order
  int n_used = 0;
  for (int level = 1; level <= n_levels; ++level) {
    levels[n_used] = level;
    n_used += counts[level] > 0;
  }

  const std::optional<Chances> own_chances = width == fine_width ? std::nullopt : std::optional<Chances>(width);
  const Chances& chances = own_chances ? *own_chances : fine_chances;
  // Arrivals, if all have the least weight of their level; two sums at a time take half as long.
  const auto expected = [&](int deadline) {
    double even = 0.0, odd = 0.0;
    levels[n_used] = levels[n_used + 1] = 0;
    for (int k = 0; k < n_used && deadline - levels[k] >= chances.first(); k += 2) {
      even += counts[levels[k]] * chances(deadline - levels[k]);
      odd += counts[levels[k + 1]] * chances(deadline - levels[k + 1]);
    }
    return even + odd;
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

}  // namespace mpboost
