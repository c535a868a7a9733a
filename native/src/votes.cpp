#include "mpboost/votes.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "vote_reader.hpp"

namespace mpboost {
namespace {

constexpr std::int64_t batch_rows = VoteReader<std::int8_t>::batch_rows;

// What is noted about the rows of a batch.
struct Batch {
  std::uint8_t train[batch_rows], out_of_patch[batch_rows];  // 1 where right
  std::int32_t n_train, n_out_of_patch;
};

// Counts have as many bits as sums of votes, so that the loop is vectorised.
template <bool has_weights, class Count>
void add_batch(const std::int8_t* votes, const BinaryOutputs<Count>& outputs, std::int64_t first, std::int64_t n,
               std::int8_t tie_label, Batch& batch) {
  const std::int8_t* labels = outputs.labels + first;
  const Count* in_patch = outputs.in_patch_votes + first;
  Count* totals = outputs.votes + first;
  Count n_train = 0, n_out_of_patch = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto sign = static_cast<Count>(labels[i] >> 7);  // 0 or -1; (x ^ sign) - sign is label * x
    const auto f = static_cast<Count>(totals[i] + votes[i]);
    const auto g = static_cast<Count>(f - in_patch[i]);
    const auto margin = static_cast<Count>((f ^ sign) - sign), oop_margin = static_cast<Count>((g ^ sign) - sign);
    totals[i] = f;
    const bool train = (margin > 0) | ((f == 0) & (labels[i] == tie_label));
    const bool out_of_patch = oop_margin > 0;
    n_train = static_cast<Count>(n_train + train);
    n_out_of_patch = static_cast<Count>(n_out_of_patch + out_of_patch);
    if constexpr (has_weights) {
      batch.train[i] = train;
      batch.out_of_patch[i] = out_of_patch;
    }
  }
  batch.n_train = n_train;
  batch.n_out_of_patch = n_out_of_patch;
}

Correct sum_correct(const Batch& batch, const double* weights, std::int64_t n) {
  if (!weights) return {static_cast<double>(batch.n_train), static_cast<double>(batch.n_out_of_patch)};
  Correct sum{};
  for (std::int64_t i = 0; i < n; ++i) {
    sum.train += batch.train[i] ? weights[i] : 0.0;
    sum.out_of_patch += batch.out_of_patch[i] ? weights[i] : 0.0;
  }
  return sum;
}

}  // namespace

std::shared_ptr<const VoteBits> prepare_votes(TreeView tree, const BinnedColumns& columns) {
  return VoteReader<std::int8_t>::prepare({nullptr, tree, &columns});
}

template <class Count>
Correct add_votes(const LearnerVotes<std::int8_t>& votes, std::span<const std::int64_t> patch,
                  const BinaryOutputs<Count>& outputs, std::int8_t tie_label, const double* sample_weights,
                  RowSums& sums, Threads& threads) {
  const std::int64_t grain = VoteReader<std::int8_t>::count_rows(votes) / batch_rows;
  sums.add_rows(outputs.n_rows, 2, batch_rows, grain, threads, [&] {
    return [&, reader = VoteReader(votes)](std::int64_t first, std::int64_t n, double* sum) mutable {
      const std::int8_t* new_votes = reader.read(first);
      for (auto next = std::ranges::lower_bound(patch, first); next != patch.end() && *next < first + n; ++next) {
        outputs.in_patch_votes[*next] = static_cast<Count>(outputs.in_patch_votes[*next] + new_votes[*next - first]);
        ++outputs.in_patch_counts[*next];
      }
      Batch batch;
      const double* row_weights = sample_weights ? sample_weights + first : nullptr;
      row_weights ? add_batch<true>(new_votes, outputs, first, n, tie_label, batch)
                  : add_batch<false>(new_votes, outputs, first, n, tie_label, batch);
      const Correct correct = sum_correct(batch, row_weights, n);
      sum[0] = correct.train;
      sum[1] = correct.out_of_patch;
    };
  });
  const std::vector<double> total = sums.total();
  return {total[0], total[1]};
}

template Correct add_votes(const LearnerVotes<std::int8_t>&, std::span<const std::int64_t>,
                           const BinaryOutputs<std::int16_t>&, std::int8_t, const double*, RowSums&, Threads&);
template Correct add_votes(const LearnerVotes<std::int8_t>&, std::span<const std::int64_t>,
                           const BinaryOutputs<std::int32_t>&, std::int8_t, const double*, RowSums&, Threads&);

template <class Count>
std::vector<std::int64_t> count_margins(std::int64_t n_rows, const std::int8_t* labels, const Count* votes,
                                        std::int64_t n_counts) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(n_counts)), odd_counts(counts.size());
  const auto count = [&](std::int64_t i, std::vector<std::int64_t>& to) {
    const std::int64_t place = n_counts / 2 + labels[i] * std::int64_t{votes[i]};
    if (place < 0 || place >= n_counts) throw std::invalid_argument("there are more votes than counts");
    ++to[static_cast<std::size_t>(place)];
  };
  // Neighbours are counted apart: many have the same margin, whose count would have to be written before it is read.
  for (std::int64_t i = 0; i + 1 < n_rows; i += 2) count(i, counts), count(i + 1, odd_counts);
  if (n_rows % 2 == 1) count(n_rows - 1, counts);
  for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += odd_counts[k];
  return counts;
}

template std::vector<std::int64_t> count_margins(std::int64_t, const std::int8_t*, const std::int16_t*, std::int64_t);
template std::vector<std::int64_t> count_margins(std::int64_t, const std::int8_t*, const std::int32_t*, std::int64_t);

template <class Count>
Sides count_sides(const BinaryOutputs<Count>& outputs, std::span<const std::int64_t> rows) {
  Sides sides{};
  for (const std::int64_t row : rows) {
    const std::int64_t total = outputs.votes[row], margin = (total - outputs.in_patch_votes[row]) * outputs.labels[row];
    sides.n_wrong += margin < 0;
    sides.n_right += margin > 0;
  }
  return sides;
}

template Sides count_sides(const BinaryOutputs<std::int16_t>&, std::span<const std::int64_t>);
template Sides count_sides(const BinaryOutputs<std::int32_t>&, std::span<const std::int64_t>);

}  // namespace mpboost
