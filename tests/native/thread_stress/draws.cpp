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

// Few rows: all weights are looked at to choose the screen. Then many: a part of them.
void race_rows(const Data& data, Threads& threads, Digest& digest) {
  for (const std::int64_t n : {150, 5000}) digest.add(race(data.log_weights.data(), n_rows, n, stream, threads));
  digest.add(log_arrivals(data.log_weights.data(), data.rows, stream));
}

// More rows than have a weight: the others race in a second heat.
void race_rows_without_weight(const Data& data, Threads& threads, Digest& digest) {
  std::vector<double> log_weights = data.log_weights;
  for (std::size_t i = 0; i < log_weights.size(); ++i)
    if (i % 100) log_weights[i] = -std::numeric_limits<double>::infinity();
  digest.add(race(log_weights.data(), n_rows, 2000, stream, threads));
}

// Weights that differ by so much that there is no screen.
void race_rows_of_extreme_weights(const Data&, Threads& threads, Digest& digest) {
  std::vector<double> log_weights(n_rows);
  for (std::size_t i = 0; i < log_weights.size(); ++i) log_weights[i] = static_cast<double>(i % 1000) * 1e4;
  digest.add(race(log_weights.data(), n_rows, 500, stream, threads));
}

template <bool has_many_outputs, bool has_weights>
void draw_rows(const Data& data, Threads& threads, Digest& digest) {
  const GradientRows rows{n_rows, has_many_outputs ? n_outputs : 1, data.gradients.data(), data.hessians.data(), 0.5f};
  const float* weights = has_weights ? data.small_weights.data() : nullptr;
  const Stream streams[] = {stream, Stream(7, 2, Purpose::observations)};
  for (const double exploration : {0.0, 0.2, 1.0})
    for (const std::int64_t n_drawn : {500, 50'000})  // points are looked up, or counted by row
      for (const auto& draw : draw_by_gradient({rows, weights, exploration}, {}, 0, n_drawn, streams, threads)) {
        digest.add(draw.rows);
        digest.add(draw.weights);
      }
}

constexpr Case cases[] = {
    {"race", true, race_rows},
    {"race, most rows without weight", true, race_rows_without_weight},
    {"race, extreme weights", true, race_rows_of_extreme_weights},
    {"draw by gradient", true, draw_rows<false, false>},
    {"draw by gradient, weights", true, draw_rows<false, true>},
    {"draw by gradient, many outputs", true, draw_rows<true, false>},
    {"draw by gradient, many outputs, weights", true, draw_rows<true, true>},
};

}  // namespace

std::span<const Case> list_draw_cases() { return cases; }

}  // namespace stress
