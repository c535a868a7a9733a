#include "mpboost/race.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "mpboost/kernels.hpp"
#include "race_heats.hpp"
#include "race_screen.hpp"

namespace mpboost {
namespace {

// Items that a thread takes at a time: the more races there are, the longer an item takes.
std::int64_t choose_grain(std::size_t n_races) {
  return std::max<std::int64_t>(8, 64 / static_cast<std::int64_t>(n_races)) * batch_items;
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
