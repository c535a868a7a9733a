#include "mpboost/race.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "mpboost/elementary.hpp"
#include "mpboost/kernels.hpp"

namespace mpboost {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t batch_items = 512;

// Items that a thread takes at a time: the more races there are, the longer an item takes.
std::int64_t choose_grain(std::size_t n_races) {
  return std::max<std::int64_t>(8, 64 / static_cast<std::int64_t>(n_races)) * batch_items;
}

constexpr std::int64_t no_item = std::numeric_limits<std::int64_t>::min();
constexpr Arrival never{infinity, -infinity, no_item};  // not even who never arrives comes before it

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

// Draw the logarithms of exponential numbers for items, whose numbers begin with first_item.
void draw_log_exponentials(std::span<const std::int64_t> items, std::int64_t first_item, const Stream& stream,
                           double* draws) {
  const Lots lots(stream);
  const auto number = [&](std::size_t k) { return static_cast<std::uint64_t>(first_item + items[k]); };
  for (std::size_t first = 0; first < items.size();) {  // as long as keys are the same, mostly to the end
    std::uint64_t difference = 0;
    for (std::size_t k = first; k < items.size(); ++k) difference |= number(k) ^ number(first);
    std::size_t end = items.size();
    if (difference >> 32) [[unlikely]]
      for (end = first; end < items.size() && (number(end) ^ number(first)) >> 32 == 0;) ++end;
    kernels().draw_log_exponentials(lots, lots.keys(number(first)), items.data() + first, first_item,
                                    static_cast<std::int64_t>(end - first), draws + first);
    first = end;
  }
}

// Find the items of a range that pass the screen, for each race: the limit of an item is looked up once. Items draw by
// their numbers, which begin with first_item: a whole number of batches.
template <class Limits>
std::vector<Heat> find_passing(const Limits& limits, std::int64_t begin, std::int64_t end,
                               std::span<const Stream> streams, std::int64_t first_item) {
  const auto screen_items = kernels().screen_items;
  std::vector<Heat> passing(streams.size());
  std::vector<Lots::Keys> keys(streams.size());
  std::uint32_t of_batch[batch_items] = {};
  for (std::int64_t first = begin; first < end; first += batch_items) {
    const std::int64_t n = std::min(batch_items, end - first);
    limits.write(first, n, of_batch);
    const std::int64_t number = first_item + first;
    if (first == begin || static_cast<std::uint32_t>(number) == 0)
      std::ranges::transform(streams, keys.begin(), [&](const Stream& stream) {
        return Lots(stream).keys(static_cast<std::uint64_t>(number));
      });
    for (std::size_t k = 0; k < streams.size(); ++k)
      passing[k].add_items(n, [&](std::int64_t* passed) {
        return screen_items(keys[k], static_cast<std::uint32_t>(number), of_batch, first, n, passed);
      });
  }
  return passing;
}

// Draw the arrivals before the screen's deadline, for each race.
template <class Source>
std::vector<Heat> draw_arrivals(const Source& source, const Screen& screen, std::span<const Stream> streams,
                                std::int64_t first_item, Threads& threads) {
  const typename Source::Limits limits(source, screen);
  struct Piece {
    std::int64_t begin;
    std::vector<Heat> heats;
  };
  std::vector<Piece> pieces;
  std::mutex mutex;
  threads.for_ranges(source.n_items, choose_grain(streams.size()), [&](std::int64_t begin, std::int64_t end) {
    Piece piece{begin, find_passing(limits, begin, end, streams, first_item)};
    for (std::size_t k = 0; k < streams.size(); ++k) {
      Heat& heat = piece.heats[k];
      const auto draw = [&](double* draws) {
        draw_log_exponentials({heat.items(), static_cast<std::size_t>(heat.size())}, first_item, streams[k], draws);
      };
      heat.find_times(screen.deadline(), draw, [&](std::int64_t item) { return source[item]; });
    }
    const std::scoped_lock lock(mutex);
    pieces.push_back(std::move(piece));
  });
  if (pieces.size() == 1) return std::move(pieces.front().heats);
  std::ranges::sort(pieces, {}, &Piece::begin);  // threads finish in any order
  std::vector<Heat> all(streams.size());
  threads.for_ranges(std::ssize(all), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      std::vector<const Heat*> parts;
      for (const Piece& piece : pieces) parts.push_back(&piece.heats[k]);
      all[k] = Heat::join(parts);
    }
  });
  return all;
}

// At least the first n items to arrive in each race, or all that have a positive weight.
template <class Source>
std::vector<Heat> run_heats(const Source& source, std::int64_t n, std::span<const Stream> streams,
                            std::int64_t first_item, Threads& threads) {
  const Screen screen = choose_screen(source, n, static_cast<std::int64_t>(streams.size()));
  auto heats = draw_arrivals(source, screen, streams, first_item, threads);
  if (screen.is_open()) return heats;
  for (std::size_t k = 0; k < streams.size(); ++k)
    if (heats[k].n_arrived() < n)  // too few were in time: wait for all
      heats[k] =
          std::move(draw_arrivals(source, Screen(screen.origin()), streams.subspan(k, 1), first_item, threads).front());
  return heats;
}

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

// Add those items of a heat, n of them, that come neither before one arrival nor after another.
void add_items(const Heat& heat, const Arrival& from, const Arrival& to, std::int64_t n,
               std::vector<std::int64_t>& items) {
  const std::size_t size = items.size(), new_size = size + static_cast<std::size_t>(n);
  items.resize(new_size + compressed_items);
  kernels().take_items(heat.columns(), from, to, items.data() + size);
  items.resize(new_size);
}

// Fill up the arrivals with those of a heat, in the order of items.
void add_heat(const Heat& heat, std::int64_t n_first, std::int64_t n_next, Arrivals& arrivals) {
  n_first = std::min(n_first - static_cast<std::int64_t>(arrivals.first.size()), heat.n_arrived());
  n_next = std::min(n_next - static_cast<std::int64_t>(arrivals.next.size()), heat.n_arrived() - n_first);
  Ranking ranking(heat);
  const Arrival first_next = ranking.find(n_first);
  add_items(heat, {-infinity, -infinity, no_item}, first_next, n_first, arrivals.first);
  if (n_next > 0) add_items(heat, first_next, ranking.find(n_first + n_next), n_next, arrivals.next);
}

// The items that have weight zero race in a second heat, if all others are in.
template <class Source>
Heat run_second_heat(const Source& source, std::int64_t n, const Stream& stream, std::int64_t first_item,
                     Threads& threads) {
  const auto invert = [&](std::int64_t i) { return source[i] > -infinity ? -infinity : 0.0; };
  const ComputedSource<decltype(invert)> others{source.n_items, invert};
  return std::move(run_heats(others, n, {&stream, 1}, first_item, threads).front());
}

template <class Source>
std::vector<Arrivals> race_source(const Source& source, std::int64_t n_first, std::int64_t n_next,
                                  std::span<const Stream> streams, Threads& threads) {
  const std::int64_t n = n_first + n_next;
  std::vector<Arrivals> all(streams.size());
  if (n <= 0 || streams.empty()) return all;
  const auto heats = run_heats(source, n, streams, 0, threads);
  threads.for_ranges(std::ssize(heats), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
      add_heat(heats[k], n_first, n_next, all[k]);
  });
  for (std::size_t k = 0; k < streams.size(); ++k) {
    const std::int64_t n_left = n - heats[k].n_arrived();
    if (n_left <= 0) continue;
    add_heat(run_second_heat(source, n_left, streams[k], 0, threads), n_first, n_next, all[k]);
    std::ranges::sort(all[k].first);
    std::ranges::sort(all[k].next);
  }
  return all;
}

// The first n of a heat, in the order of items.
void add_times(const Heat& heat, double number, std::int64_t n, Candidates& candidates) {
  const Arrival first_loser = Ranking(heat).find(n);
  for (std::int64_t k = 0; k < heat.size(); ++k) {
    const Arrival arrival = heat[k];
    if (!(arrival < first_loser)) continue;
    candidates.items.push_back(arrival.item);
    candidates.times.insert(candidates.times.end(), {number, arrival.log_time, arrival.rest});
  }
}

template <class Source>
std::vector<Candidates> race_part_of(const Source& source, std::int64_t n, std::int64_t first_item,
                                     std::span<const Stream> streams, Threads& threads) {
  std::vector<Candidates> all(streams.size());
  if (n <= 0 || streams.empty()) return all;
  const auto heats = run_heats(source, n, streams, first_item, threads);
  for (std::size_t k = 0; k < streams.size(); ++k) {
    const std::int64_t n_left = n - heats[k].n_arrived();
    add_times(heats[k], 0.0, n, all[k]);
    if (n_left > 0) add_times(run_second_heat(source, n_left, streams[k], first_item, threads), 1.0, n_left, all[k]);
  }
  return all;
}

// Call run with the source of some weights.
template <class Run>
auto with_source(const LogWeights& weights, Run run) {
  return run(ArraySource{weights.n_items, weights.logs});
}

template <class Count, class Run>
auto with_source(const VoteWeights<Count>& weights, Run run) {
  if (!weights.log_sample_weights) return run(MarginSource(weights));
  const Margins margins(weights);
  const double* middle = weights.table.data() + weights.table.size() / 2;
  const auto log_weight = [&](std::int64_t i) { return middle[margins.find(i)] + weights.log_sample_weights[i]; };
  return run(ComputedSource<decltype(log_weight)>{weights.n_items, log_weight});
}

}  // namespace

template <class Weights>
std::vector<Arrivals> race(const Weights& weights, std::int64_t n_first, std::int64_t n_next,
                           std::span<const Stream> streams, Threads& threads) {
  return with_source(weights,
                     [&](const auto& source) { return race_source(source, n_first, n_next, streams, threads); });
}

template <class Weights>
std::vector<Candidates> race_part(const Weights& weights, std::int64_t n, std::int64_t first_item,
                                  std::span<const Stream> streams, Threads& threads) {
  if (first_item % batch_items != 0) throw std::invalid_argument("parts of the items must begin at whole batches");
  return with_source(weights,
                     [&](const auto& source) { return race_part_of(source, n, first_item, streams, threads); });
}

template std::vector<Arrivals> race(const LogWeights&, std::int64_t, std::int64_t, std::span<const Stream>, Threads&);
template std::vector<Arrivals> race(const VoteWeights<std::int16_t>&, std::int64_t, std::int64_t,
                                    std::span<const Stream>, Threads&);
template std::vector<Arrivals> race(const VoteWeights<std::int32_t>&, std::int64_t, std::int64_t,
                                    std::span<const Stream>, Threads&);
template std::vector<Candidates> race_part(const LogWeights&, std::int64_t, std::int64_t, std::span<const Stream>,
                                           Threads&);
template std::vector<Candidates> race_part(const VoteWeights<std::int16_t>&, std::int64_t, std::int64_t,
                                           std::span<const Stream>, Threads&);
template std::vector<Candidates> race_part(const VoteWeights<std::int32_t>&, std::int64_t, std::int64_t,
                                           std::span<const Stream>, Threads&);

std::vector<double> log_arrivals(const double* log_weights, std::span<const std::int64_t> items, const Stream& stream) {
  std::vector<double> log_times(items.size());
  draw_log_exponentials(items, 0, stream, log_times.data());
  for (std::size_t k = 0; k < items.size(); ++k) log_times[k] -= log_weights[k];
  return log_times;
}

}  // namespace mpboost
