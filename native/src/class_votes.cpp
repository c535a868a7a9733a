#include "mpboost/class_votes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "mpboost/elementary.hpp"
#include "vote_reader.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t batch_rows = VoteReader<std::uint16_t>::batch_rows;
constexpr std::int64_t grain = 8 * batch_rows;  // fewer than for two classes: a row takes longer

template <class Count>
bool wins(const Count* votes, std::int64_t n_classes, std::uint16_t label, std::int32_t rival,
          const std::uint16_t* ranks) {
  const Count own = votes[label];
  if (own != rival) return own > rival;
  for (std::int64_t k = 0; k < n_classes; ++k)
    if (votes[k] == own && ranks[k] > ranks[label]) return false;
  return true;
}

// Call add(row, vote, whether it is out of the patch) for each row, then judge the row.
template <class Vote, class Count, class Add>
Correct add_rows(const LearnerVotes<Vote>& votes, std::span<const std::int64_t> patch,
                 const ClassOutputs<Count>& outputs, const ClassJudge& judge, RowSums& sums, Threads& threads,
                 Add add) {
  const std::int64_t n_classes = outputs.n_classes;
  const std::int64_t n_batches = VoteReader<Vote>::count_rows(votes) / batch_rows;
  sums.add_rows(outputs.n_rows, 2, batch_rows, n_batches, threads, [&] {
    return [&, reader = VoteReader(votes)](std::int64_t first, std::int64_t n, double* sum) mutable {
      const Vote* new_votes = reader.read(first);
      auto next = std::ranges::lower_bound(patch, first);
      for (std::int64_t i = first; i < first + n; ++i) {
        const bool is_in_patch = next != patch.end() && *next == i;
        next += is_in_patch;
        add(i, new_votes[i - first], !is_in_patch);
        const std::uint16_t label = outputs.labels[i];
        const double weight = judge.sample_weights ? judge.sample_weights[i] : 1.0;
        const bool train = wins(outputs.votes + i * n_classes, n_classes, label, outputs.rivals[i], judge.ranks);
        const bool out_of_patch = outputs.oop_votes[i * n_classes + label] > outputs.oop_rivals[i];
        sum[0] += train ? weight : 0.0;
        sum[1] += out_of_patch ? weight : 0.0;
      }
    };
  });
  const std::vector<double> total = sums.total();
  return {total[0], total[1]};
}

// Add to the votes of a row, and return those of the strongest class other than its own.
template <class Count>
std::int32_t add_counts(const Count* counts, Count* votes, std::int64_t n_classes, std::uint16_t label) {
  for (std::int64_t k = 0; k < n_classes; ++k) votes[k] = static_cast<Count>(votes[k] + counts[k]);
  const Count own = votes[label];
  Count most = votes[label] = 0;
  for (std::int64_t k = 0; k < n_classes; ++k) most = std::max(most, votes[k]);
  votes[label] = own;
  return most;
}

// log L(k) for a margin of k votes, and L(k) itself as fraction * 2^exponent, which cannot overflow.
class Table {
 public:
  Table(std::span<const double> logs, bool with_powers)
      : half_(static_cast<std::int64_t>(logs.size() / 2)), logs_(logs.data() + half_) {
    if (!with_powers) return;
    for (const double log : logs) powers_.push_back(split(log));
    falls_ = std::ranges::is_sorted(logs, std::ranges::greater());
  }

  void check(std::int64_t least, std::int64_t most) const {
    if (least < -half_ || most > half_)
      throw std::invalid_argument("the table of weights is too short for these votes");
  }
  double log(std::int64_t margin) const { return logs_[margin]; }
  bool falls() const { return falls_; }  // known with powers alone

  // L(margin) / 2^exponent.
  double scaled(std::int64_t margin, std::int64_t exponent) const {
    const auto& [fraction, own_exponent] = powers_[static_cast<std::size_t>(half_ + margin)];
    const std::int64_t biased = std::clamp<std::int64_t>(own_exponent - exponent + 1023, 0, 2046);
    return fraction * std::bit_cast<double>(biased << 52);
  }
  double fraction(std::int64_t margin) const { return powers_[static_cast<std::size_t>(half_ + margin)].fraction; }
  std::int64_t exponent(std::int64_t margin) const {
    return powers_[static_cast<std::size_t>(half_ + margin)].exponent;
  }

 private:
  struct Weight {
    double fraction;
    std::int64_t exponent;
  };

  static Weight split(double log) {
    if (!(std::abs(log) < 0x1p50)) return {0.0, std::numeric_limits<std::int32_t>::min()};
    const auto [fraction, exponent] = power_of(log);
    return {fraction, static_cast<std::int64_t>(exponent)};
  }

  std::int64_t half_;
  const double* logs_;
  bool falls_ = true;
  std::vector<Weight> powers_;
};

// Set log_weights[i] to weigh(i) plus the log-weight of the row itself.
template <class Weigh>
void weigh_rows(std::int64_t n_rows, const ClassWeights& weights, Threads& threads, Weigh weigh) {
  threads.for_ranges(n_rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double log_weight = weigh(i);
      weights.log_weights[i] = weights.log_sample_weights ? log_weight + weights.log_sample_weights[i] : log_weight;
    }
  });
}

// The logarithm of a sum of L over margins. The largest L is factored out, so that a single margin gives its log L to
// the last bit. It is that of the least margin, unless a user's L does not fall. `for_margins` calls its argument with
// each margin.
template <class ForMargins>
double log_sum(const Table& table, ForMargins for_margins) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
  for_margins([&](std::int64_t margin) {
    least = std::min(least, margin);
    most = std::max(most, margin);
  });
  if (least > most) return -std::numeric_limits<double>::infinity();  // no margin at all
  table.check(least, most);
  std::int64_t largest = least;
  if (!table.falls())
    for_margins([&](std::int64_t margin) { largest = table.log(margin) > table.log(largest) ? margin : largest; });
  if (table.fraction(largest) == 0.0) return table.log(largest);
  const std::int64_t exponent = table.exponent(largest);
  double sum = 0.0;
  for_margins([&](std::int64_t margin) { sum += table.scaled(margin, exponent); });
  return table.log(largest) + log_of(sum / table.fraction(largest));
}

}  // namespace

template <class Count>
Correct add_class_votes(const LearnerVotes<std::uint16_t>& votes, std::span<const std::int64_t> patch,
                        const ClassOutputs<Count>& outputs, const ClassJudge& judge, RowSums& sums, Threads& threads) {
  const auto add = [&, outputs](std::int64_t i, std::uint16_t vote, bool is_out_of_patch) {
    const auto count = [&](Count* counts, std::int32_t* rivals) {
      const Count n = ++counts[i * outputs.n_classes + vote];
      if (vote != outputs.labels[i]) rivals[i] = std::max<std::int32_t>(rivals[i], n);
    };
    count(outputs.votes, outputs.rivals);
    if (is_out_of_patch) count(outputs.oop_votes, outputs.oop_rivals);
  };
  return add_rows(votes, patch, outputs, judge, sums, threads, add);
}

template <class Count>
Correct add_colour_votes(const LearnerVotes<std::int8_t>& votes, const std::int8_t* colours,
                         std::span<const std::int64_t> patch, const ClassOutputs<Count>& outputs,
                         const ClassJudge& judge, RowSums& sums, Threads& threads) {
  std::vector<Count> counts[2];  // what a vote of -1, of +1 adds to each class
  for (std::int64_t k = 0; k < outputs.n_classes; ++k) {
    counts[0].push_back(colours[k] < 0);
    counts[1].push_back(colours[k] > 0);
  }
  const auto add = [&, outputs](std::int64_t i, std::int8_t vote, bool is_out_of_patch) {
    const Count* added = counts[vote > 0].data();
    const std::int64_t n_classes = outputs.n_classes;
    outputs.rivals[i] = add_counts(added, outputs.votes + i * n_classes, n_classes, outputs.labels[i]);
    if (is_out_of_patch)
      outputs.oop_rivals[i] = add_counts(added, outputs.oop_votes + i * n_classes, n_classes, outputs.labels[i]);
  };
  return add_rows(votes, patch, outputs, judge, sums, threads, add);
}

template <class Count>
void weigh_margins(const ClassVotes<Count>& outputs, const ClassWeights& weights, Threads& threads) {
  const Table table(weights.table, false);
  weigh_rows(outputs.n_rows, weights, threads, [&](std::int64_t i) {
    const std::int64_t own = outputs.votes[i * outputs.n_classes + outputs.labels[i]];
    const std::int64_t margin = own - outputs.rivals[i];
    table.check(margin, margin);
    return table.log(margin);
  });
}

template <class Count>
void weigh_confusions(const ClassVotes<Count>& outputs, const std::int8_t* colours, const ClassWeights& weights,
                      Threads& threads) {
  const Table table(weights.table, true);
  weigh_rows(outputs.n_rows, weights, threads, [&](std::int64_t i) {
    const Count* votes = outputs.votes + i * outputs.n_classes;
    const std::int64_t label = outputs.labels[i];
    return log_sum(table, [&](auto take) {
      for (std::int64_t k = 0; k < outputs.n_classes; ++k)
        if (colours ? colours[k] != colours[label] : k != label) take(std::int64_t{votes[label]} - votes[k]);
    });
  });
}

template <class Count>
void weigh_one_against_rest(const ClassVotes<Count>& outputs, std::int64_t n_learners, const ClassWeights& weights,
                            Threads& threads) {
  const Table table(weights.table, true);
  weigh_rows(outputs.n_rows, weights, threads, [&](std::int64_t i) {
    const Count* votes = outputs.votes + i * outputs.n_classes;
    const std::int64_t label = outputs.labels[i];
    return log_sum(table, [&](auto take) {
      for (std::int64_t k = 0; k < outputs.n_classes; ++k) {
        const std::int64_t margin = n_learners - 2 * std::int64_t{votes[k]};
        take(k == label ? -margin : margin);
      }
    });
  });
}

#define MPBOOST_INSTANTIATE(Count)                                                                                \
  template Correct add_class_votes(const LearnerVotes<std::uint16_t>&, std::span<const std::int64_t>,             \
                                   const ClassOutputs<Count>&, const ClassJudge&, RowSums&, Threads&);            \
  template Correct add_colour_votes(const LearnerVotes<std::int8_t>&, const std::int8_t*,                         \
                                    std::span<const std::int64_t>, const ClassOutputs<Count>&, const ClassJudge&, \
                                    RowSums&, Threads&);                                                          \
  template void weigh_margins(const ClassVotes<Count>&, const ClassWeights&, Threads&);                           \
  template void weigh_confusions(const ClassVotes<Count>&, const std::int8_t*, const ClassWeights&, Threads&);    \
  template void weigh_one_against_rest(const ClassVotes<Count>&, std::int64_t, const ClassWeights&, Threads&);

MPBOOST_INSTANTIATE(std::uint16_t)
MPBOOST_INSTANTIATE(std::int32_t)
#undef MPBOOST_INSTANTIATE

}  // namespace mpboost
