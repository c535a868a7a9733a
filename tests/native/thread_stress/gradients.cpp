// Gradient boosting after a tree is grown: sums and quantiles by leaf, and steps of each loss; sums of numbers.
#include <array>
#include <numeric>

#include "mpboost/gradient_credit.hpp"
#include "mpboost/leaf_sums.hpp"
#include "mpboost/losses.hpp"
#include "mpboost/row_totals.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

// By a small tree and by a large one.
template <std::int64_t outputs>
void sum_by_leaf(const Data& data, Threads& threads, Digest& digest) {
  const std::array trees{&data.small, &data.large};
  std::array<std::vector<std::uint16_t>, 2> leaves{std::vector<std::uint16_t>(n_rows),
                                                   std::vector<std::uint16_t>(n_rows)};
  std::array<RowSums, 2> sums;
  std::vector<TreeRows> rows;
  for (std::size_t k = 0; k < 2; ++k)
    rows.push_back({*trees[k], &data.columns, data.gradients.data(), data.hessians.data(), outputs, leaves[k].data()});
  sum_leaves(rows, std::array{&sums[0], &sums[1]}, threads);
  for (std::size_t k = 0; k < 2; ++k) {
    digest.add(sums[k].total());
    digest.add(leaves[k]);
    digest.add(sum_rows(data.rows, data.patch_weights.data(), leaves[k].data(), data.gradients.data(),
                        data.hessians.data(), outputs, static_cast<std::int64_t>(trees[k]->n_leaves())));
  }
}

// Two trees at once.
template <std::int64_t outputs>
void credit_by_unseen(const Data& data, Threads& threads, Digest& digest) {
  std::vector<std::int64_t> features(static_cast<std::size_t>(data.columns.n_columns()));
  std::iota(features.begin(), features.end(), 0);
  const std::array trees{&data.small, &data.large};
  std::array<GradientTree, 2> grown;
  std::array<std::vector<std::uint16_t>, 2> leaves{data.classes, data.classes};
  std::array<std::vector<double>, 2> sums;
  const std::vector<double> direction(outputs, -1.0);
  std::vector<UnseenRows> unseen;
  for (std::size_t k = 0; k < 2; ++k) {
    grown[k] = {*trees[k], std::vector<double>(trees[k]->splits.size(), 0.5), {}};
    for (std::uint16_t& leaf : leaves[k]) leaf = static_cast<std::uint16_t>(leaf % trees[k]->n_leaves());
    sums[k].assign(2 * outputs * trees[k]->n_leaves(), 1.0);
    unseen.push_back({grown[k],
                      sums[k],
                      leaves[k],
                      data.rows,
                      {data.gradients.data(), data.hessians.data(), outputs, outputs > 1 ? direction.data() : nullptr},
                      features});
  }
  for (const auto& [credits, importances] : credit_unseen(unseen, threads)) {
    digest.add(credits);
    digest.add(importances);
  }
}

void compute_leaf_quantiles(const Data& data, Threads& threads, Digest& digest) {
  for (const float* weights : {static_cast<const float*>(nullptr), data.small_weights.data()})
    digest.add(leaf_quantiles(data.classes.data(), data.gradients.data(), weights, n_rows, 0.3, n_classes, threads));
}

// A step without leaves, then one with the values of leaves; without weights of rows, then with them.
template <class Label, class Step>
void step_twice(const Data& data, const std::vector<Label>& labels, std::int64_t outputs, Digest& digest, Step step) {
  std::vector<float> values(static_cast<std::size_t>(n_classes * outputs));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 0.05f * static_cast<float>(k);
  std::vector<float> raw(data.gradients.begin(), data.gradients.begin() + n_rows * outputs);
  std::vector<float> gradients(raw.size()), hessians(raw.size());
  for (const bool is_full : {false, true}) {
    RowSums sums;
    digest.add(step(sums, LossRows<Label>{.n_rows = n_rows,
                                          .n_outputs = outputs,
                                          .raw = raw.data(),
                                          .leaves = is_full ? data.classes.data() : nullptr,
                                          .values = is_full ? values.data() : nullptr,
                                          .n_leaves = is_full ? n_classes : 0,
                                          .labels = labels.data(),
                                          .weights = is_full ? data.small_weights.data() : nullptr,
                                          .gradients = gradients.data(),
                                          .hessians = hessians.data(),
                                          .parameter = 0.4f}));
    digest.add(raw);
    digest.add(gradients);
    digest.add(hessians);
  }
}

void step_by_log_loss(const Data& data, Threads& threads, Digest& digest) {
  step_twice(data, data.signs, 1, digest,
             [&](RowSums& sums, const auto& rows) { return step_log_loss(rows, sums, threads); });
}

void step_by_softmax(const Data& data, Threads& threads, Digest& digest) {
  std::vector<std::uint16_t> labels = data.classes;
  for (std::uint16_t& label : labels) label = label % n_outputs;
  step_twice(data, labels, n_outputs, digest,
             [&](RowSums& sums, const auto& rows) { return step_softmax(rows, sums, threads); });
}

template <ValueLoss loss>
void step_by_value_loss(const Data& data, Threads& threads, Digest& digest) {
  step_twice(data, data.small_numbers, 1, digest,
             [&](RowSums& sums, const auto& rows) { return step_values(loss, rows, sums, threads); });
}

void sum_numbers(const Data& data, Threads& threads, Digest& digest) {
  RowSums sums, small_sums, class_sums;
  digest.add(sum_values(data.numbers.data(), n_rows, sums, threads));
  digest.add(sum_values(data.small_numbers.data(), n_rows, small_sums, threads));
  digest.add(sum_by_class(data.weights.data(), data.classes.data(), n_rows, n_classes, class_sums, threads));
}

constexpr Case cases[] = {
    {"sums of numbers", true, sum_numbers},
    {"leaf sums", true, sum_by_leaf<1>},
    {"leaf sums, many outputs", true, sum_by_leaf<n_outputs>},
    {"credits", true, credit_by_unseen<1>},
    {"credits, many outputs", true, credit_by_unseen<n_outputs>},
    {"leaf quantiles", true, compute_leaf_quantiles},
    {"log loss", true, step_by_log_loss},
    {"softmax", true, step_by_softmax},
    {"squared error", true, step_by_value_loss<ValueLoss::squared>},
    {"absolute error", true, step_by_value_loss<ValueLoss::absolute>},
    {"quantile loss", true, step_by_value_loss<ValueLoss::quantile>},
    {"Huber loss", true, step_by_value_loss<ValueLoss::huber>},
    {"Poisson loss", true, step_by_value_loss<ValueLoss::poisson>},
    {"gamma loss", true, step_by_value_loss<ValueLoss::gamma>},
};

}  // namespace

std::span<const Case> list_gradient_cases() { return cases; }

}  // namespace stress
