// Draws of rows.
#include <cmath>
#include <limits>

#include "mpboost/gradient_draw.hpp"
#include "mpboost/race.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

const Stream stream(7, 1, Purpose::observations);
const Stream streams[] = {stream, Stream(7, 2, Purpose::observations), Stream(7, 3, Purpose::observations)};

template <class Weights>
void add_races(const Weights& weights, std::int64_t n, Threads& threads, Digest& digest) {
  for (const Arrivals& arrivals : race(weights, n, n, streams, threads)) {
    digest.add(arrivals.first);
    digest.add(arrivals.next);
  }
  for (const Candidates& candidates : race_part(weights, n, chunk_rows, streams, threads)) {
    digest.add(candidates.items);
    digest.add(candidates.times);
  }
}

// Few rows: all weights are looked at to choose the screen. Then many: a part of them.
void race_rows(const Data& data, Threads& threads, Digest& digest) {
  for (const std::int64_t n : {150, 5000}) add_races(LogWeights{n_rows, data.log_weights.data()}, n, threads, digest);
  digest.add(log_arrivals(data.log_weights.data(), data.rows, stream));
}

// More rows than have a weight: the others race in a second heat.
void race_rows_without_weight(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> log_weights = data.log_weights;
  for (std::size_t i = 0; i < log_weights.size(); ++i)
    if (i % 100) log_weights[i] = -std::numeric_limits<double>::infinity();
  add_races(LogWeights{n_rows, log_weights.data()}, 1000, threads, digest);
}

// Weights that differ by so much that there is no screen.
void race_rows_of_extreme_weights(const Data&, Threads& threads, Digest& digest) {
  std::vector<double> log_weights(n_rows);
  for (std::size_t i = 0; i < log_weights.size(); ++i) log_weights[i] = static_cast<double>(i % 1000) * 1e4;
  add_races(LogWeights{n_rows, log_weights.data()}, 250, threads, digest);
}

template <class Count>
void race_votes(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> table;
  for (int margin = -20; margin <= 20; ++margin) table.push_back(-0.3 * margin);
  std::vector<Count> votes(n_rows);
  for (std::size_t i = 0; i < votes.size(); ++i) votes[i] = static_cast<Count>(static_cast<int>(i % 41) - 20);
  for (const double* log_sample_weights : {static_cast<const double*>(nullptr), data.log_weights.data()})
    add_races(VoteWeights<Count>{n_rows, data.signs.data(), votes.data(), table, log_sample_weights}, 3000, threads,
              digest);
}

template <bool has_many_outputs, bool has_weights>
void draw_rows(const Data& data, Threads& threads, Digest& digest) {
  const GradientRows rows{n_rows, has_many_outputs ? n_outputs : 1, data.gradients.data(), data.hessians.data(), 0.5f};
  const float* weights = has_weights ? data.small_weights.data() : nullptr;
  for (const ChunkSize& chunk : measure_chunks({rows, weights, 0.2}, threads)) {
    digest.add(chunk.size);
    digest.add(chunk.weight);
  }
  for (const double exploration : {0.0, 0.2, 1.0})
    for (const std::int64_t n_drawn : {500, 50'000})  // points are looked up, or counted by row
    {
      const LineDraws line{{rows, weights, exploration}, {std::begin(streams), std::end(streams)}, {}};
      const LineDraws lines[] = {line, {{rows, nullptr, exploration}, {stream}, {}}};
      for (const auto& of_line : draw_by_gradient(lines, 0, n_drawn, threads))
        for (const auto& draw : of_line) {
          digest.add(draw.rows);
          digest.add(draw.weights);
        }
    }
}

constexpr Case cases[] = {
    {"race", true, race_rows},
    {"race, most rows without weight", true, race_rows_without_weight},
    {"race, extreme weights", true, race_rows_of_extreme_weights},
    {"race of votes, 16 bits", true, race_votes<std::int16_t>},
    {"race of votes, 32 bits", true, race_votes<std::int32_t>},
    {"draw by gradient", true, draw_rows<false, false>},
    {"draw by gradient, weights", true, draw_rows<false, true>},
    {"draw by gradient, many outputs", true, draw_rows<true, false>},
    {"draw by gradient, many outputs, weights", true, draw_rows<true, true>},
};

}  // namespace

std::span<const Case> list_draw_cases() { return cases; }

}  // namespace stress
