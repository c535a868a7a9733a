// Votes of two classes, of many, and of colours; the weights of rows that follow from them.
#include "mpboost/votes.hpp"

#include "mpboost/class_votes.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

constexpr std::int64_t n_learners = 5;
constexpr std::int8_t colours[n_classes] = {1, -1, 1, 1, -1, -1, 1};

// Logarithms of weights by margin, from the worst to the best that so many votes can give.
std::vector<double> make_table(std::int64_t most = n_learners) {
  std::vector<double> table;
  for (std::int64_t margin = -most; margin <= most; ++margin) table.push_back(-0.3 * static_cast<double>(margin));
  return table;
}

void add_correct(const Correct& correct, Digest& digest) {
  digest.add(correct.train);
  digest.add(correct.out_of_patch);
}

template <class Count, bool has_weights>
void add_signs(const Data& data, Threads& threads, Digest& digest) {
  std::vector<Count> votes(n_rows), in_patch_votes(n_rows), in_patch_counts(n_rows);
  const double* weights = has_weights ? data.weights.data() : nullptr;
  const BinaryOutputs<Count> outputs{n_rows, data.signs.data(), votes.data(), in_patch_votes.data(),
                                     in_patch_counts.data()};
  std::vector<std::int8_t> learner_votes(n_rows);
  for (std::size_t t = 0; t < n_learners; ++t) {
    for (std::size_t i = 0; i < n_rows; ++i)
      learner_votes[i] = static_cast<std::int8_t>((i + t) % 4 ? data.signs[i] : -data.signs[i]);
    RowSums sums;
    add_correct(add_votes({learner_votes.data()}, data.rows, outputs, 1, weights, sums, threads), digest);
  }
  const Tree* trees[] = {&data.small, &data.large};
  std::shared_ptr<const VoteBits> prepared[2];
  threads.for_ranges(2, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) prepared[k] = prepare_votes(*trees[k], data.columns);
  });
  for (int k = 0; k < 2; ++k)
    for (const VoteBits* bits : {static_cast<const VoteBits*>(nullptr), prepared[k].get()}) {
      RowSums sums;
      add_correct(add_votes({nullptr, *trees[k], &data.columns, bits}, data.rows, outputs, 1, weights, sums, threads),
                  digest);
    }
  digest.add(votes);
  digest.add(in_patch_votes);
  digest.add(in_patch_counts);
}

// The counts of votes for each class.
template <class Count>
struct Counts {
  std::vector<Count> votes = std::vector<Count>(n_rows * n_classes), oop_votes = votes;
  std::vector<std::int32_t> rivals = std::vector<std::int32_t>(n_rows), oop_rivals = rivals;

  ClassOutputs<Count> outputs(const Data& data) {
    return {n_rows, n_classes, data.classes.data(), votes.data(), oop_votes.data(), rivals.data(), oop_rivals.data()};
  }
  ClassVotes<Count> view(const Data& data) const {
    return {n_rows, n_classes, data.classes.data(), votes.data(), rivals.data()};
  }
  void add_to(Digest& digest) const {
    digest.add(votes);
    digest.add(oop_votes);
    digest.add(rivals);
    digest.add(oop_rivals);
  }
};

constexpr std::uint16_t ranks[n_classes] = {3, 1, 0, 2, 6, 5, 4};

template <class Count, bool has_weights>
void add_classes(const Data& data, Threads& threads, Digest& digest) {
  Counts<Count> counts;
  const ClassJudge judge{ranks, has_weights ? data.weights.data() : nullptr};
  std::vector<std::uint16_t> learner_votes(n_rows);
  for (std::size_t t = 0; t < n_learners; ++t) {
    for (std::size_t i = 0; i < n_rows; ++i)
      learner_votes[i] = static_cast<std::uint16_t>((i + t) % 4 ? data.classes[i] : i % n_classes);
    RowSums sums;
    add_correct(add_class_votes({learner_votes.data()}, data.rows, counts.outputs(data), judge, sums, threads), digest);
  }
  for (const Tree* tree : {&data.small_class, &data.large_class}) {
    RowSums sums;
    add_correct(add_class_votes({nullptr, *tree, &data.columns}, data.rows, counts.outputs(data), judge, sums, threads),
                digest);
  }
  counts.add_to(digest);
}

template <class Count>
void add_colours(const Data& data, Threads& threads, Digest& digest) {
  Counts<Count> counts;
  for (std::int64_t t = 0; t < n_learners; ++t) {
    RowSums sums;
    add_correct(add_colour_votes({data.signs.data()}, colours, data.rows, counts.outputs(data),
                                 {ranks, data.weights.data()}, sums, threads),
                digest);
  }
  counts.add_to(digest);
}

// Weights from counts of votes such as so many learners could have cast.
template <class Count, class Weigh>
void weigh(const Data& data, Digest& digest, Weigh weigh_rows) {
  Counts<Count> counts;
  for (std::size_t i = 0; i < n_rows; ++i) {
    counts.votes[i * n_classes + data.classes[i]] = static_cast<Count>(i % n_learners);
    counts.votes[i * n_classes + i % n_classes] = 2;
    counts.rivals[i] = i % n_classes == data.classes[i] ? 0 : 2;
  }
  const std::vector<double> table = make_table();
  for (const double* log_sample_weights : {static_cast<const double*>(nullptr), data.log_weights.data()}) {
    std::vector<double> log_weights(n_rows);
    weigh_rows(counts.view(data), ClassWeights{table, log_weights.data(), log_sample_weights});
    digest.add(log_weights);
  }
}

template <class Count>
void weigh_by_margins(const Data& data, Threads& threads, Digest& digest) {
  weigh<Count>(data, digest, [&](const auto& votes, const auto& weights) { weigh_margins(votes, weights, threads); });
}

template <class Count>
void weigh_by_confusions(const Data& data, Threads& threads, Digest& digest) {
  for (const std::int8_t* some_colours : {static_cast<const std::int8_t*>(nullptr), colours})
    weigh<Count>(data, digest, [&](const auto& votes, const auto& weights) {
      weigh_confusions(votes, some_colours, weights, threads);
    });
}

template <class Count>
void weigh_against_rest(const Data& data, Threads& threads, Digest& digest) {
  weigh<Count>(data, digest, [&](const auto& votes, const auto& weights) {
    weigh_one_against_rest(votes, n_learners, weights, threads);
  });
}

constexpr Case cases[] = {
    {"add votes, 16 bits", true, add_signs<std::int16_t, false>},
    {"add votes, 32 bits, weights", true, add_signs<std::int32_t, true>},
    {"add class votes, 16 bits", true, add_classes<std::uint16_t, false>},
    {"add class votes, 32 bits, weights", true, add_classes<std::int32_t, true>},
    {"add colour votes, 16 bits", true, add_colours<std::uint16_t>},
    {"add colour votes, 32 bits", true, add_colours<std::int32_t>},
    {"weigh margins, 16 bits", true, weigh_by_margins<std::uint16_t>},
    {"weigh margins, 32 bits", true, weigh_by_margins<std::int32_t>},
    {"weigh confusions, 16 bits", true, weigh_by_confusions<std::uint16_t>},
    {"weigh confusions, 32 bits", true, weigh_by_confusions<std::int32_t>},
    {"weigh one against rest, 16 bits", true, weigh_against_rest<std::uint16_t>},
    {"weigh one against rest, 32 bits", true, weigh_against_rest<std::int32_t>},
};

}  // namespace

std::span<const Case> list_vote_cases() { return cases; }

}  // namespace stress
