// Runs every threaded part of the engine, and predicts from several threads at a time: for the thread sanitizer
// (`make sanitize-threads`). Ends with 0 when all threads came to the same votes.
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

#include "mpboost/apply.hpp"
#include "mpboost/binary_grower.hpp"
#include "mpboost/binning.hpp"
#include "mpboost/forest.hpp"
#include "mpboost/race.hpp"
#include "mpboost/sparse.hpp"
#include "mpboost/votes.hpp"

using namespace mpboost;

namespace {

constexpr std::int64_t n_rows = 150'000, n_columns = 6;
constexpr int n_iterations = 40;

struct Data {
  std::vector<float> values = std::vector<float>(n_rows * n_columns);
  std::vector<std::int8_t> labels = std::vector<std::int8_t>(n_rows);
  std::vector<double> weights = std::vector<double>(n_rows), log_weights = std::vector<double>(n_rows);

  Data() {
    const Stream stream(1, 1, Purpose::features);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(uniform(stream.bits(i)));
      if (i % 97 == 0) values[i] = std::numeric_limits<float>::quiet_NaN();
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
      labels[i] = values[i * n_columns] > 0.5 ? 1 : -1;
      weights[i] = 0.5 + static_cast<double>(i % 3);
      log_weights[i] = std::log(weights[i]);
    }
  }
  TableView view() const { return {values.data(), Dtype::float32, n_rows, n_columns, n_columns * 4, 4}; }
};

// Boost with all parts that use threads; give the votes of the forest that comes of it.
std::vector<std::int32_t> boost(const Data& data, const BinnedColumns& columns, Forest& forest, Threads& threads) {
  std::vector<std::int32_t> votes(n_rows), in_patch(n_rows), counts(n_rows);
  std::vector<double> log_weights = data.log_weights, table(2 * n_iterations + 1);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = 0.1 * (n_iterations - static_cast<double>(i));
  std::vector<std::int8_t> learner_votes(n_rows);
  std::vector<std::int32_t> leaves(n_rows);
  const std::vector<std::int64_t> features{0, 1, 2, 3, 4, 5};
  BinaryGrower grower({0, 1, 1.0});
  for (std::uint64_t t = 0; t < n_iterations; ++t) {
    const auto rows = race(log_weights.data(), n_rows, 400, Stream(1, t, Purpose::observations), threads);
    const auto grown = grower.grow(columns, {rows, features, data.labels.data(), {}, nullptr});
    apply_votes(grown.tree, columns, learner_votes.data(), threads);
    apply_leaves(grown.tree, columns, leaves.data(), threads);
    add_votes(learner_votes.data(), rows, {n_rows, data.labels.data(), votes.data(), in_patch.data(), counts.data()}, 1,
              {table, log_weights.data(), data.weights.data(), data.log_weights.data()}, threads);
    forest.append(grown.tree);
  }
  return votes;
}

// Fill a sparse table, whose cells are those of the first column, in several threads.
bool expand(const Data& data, const BinMapper& mapper, Threads& threads) {
  std::vector<std::int32_t> rows(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) rows[i] = static_cast<std::int32_t>(i);
  const SparseView view(n_rows, {0, n_rows}, {rows.data(), Dtype::int32, n_rows, 1, 4, 0},
                        {data.values.data(), Dtype::float32, n_rows, 1, n_columns * 4, 0});
  const BinMapper own = BinMapper::fit(view, 255, 0, threads);
  const SparseColumns columns(view, mapper, 0, threads);
  BinnedColumns out(n_rows, 3);
  const std::vector<std::int64_t> features{0, 0, 0};
  columns.expand(features, out, threads);
  return own.n_features() == 1 && out.column(0)[17] == out.column(2)[17];
}

}  // namespace

int main() {
  const Data data;
  Threads threads(4);
  const BinMapper mapper = BinMapper::fit(data.view(), 255, 0, threads);
  const BinnedColumns columns = mapper.transform(data.view(), threads);
  Forest forest;
  const auto expected = boost(data, columns, forest, threads);

  std::vector<int> agrees(4);
  std::vector<std::thread> users;
  for (auto& agree : agrees)
    users.emplace_back([&] {
      Threads own(2);
      const BinnedColumns mine = mapper.transform(data.view(), own);
      std::vector<std::int32_t> votes(n_rows);
      forest.add_votes(mine, 0, forest.size(), votes.data(), own);
      agree = votes == expected;
    });
  for (auto& user : users) user.join();
  bool all = expand(data, mapper, threads);
  for (const int agree : agrees) all = all && agree;
  std::puts(all ? "all threads agree" : "threads disagree");
  return all ? 0 : 1;
}
