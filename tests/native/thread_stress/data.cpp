#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "mpboost/elementary.hpp"
#include "mpboost/sorted_grower.hpp"
#include "stress.hpp"

namespace stress {

using namespace mpboost;

namespace {

std::vector<float> make_values() {
  const Stream stream(1, 1, Purpose::features);
  std::vector<float> values(n_rows * n_columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = uniform(stream.bits(i));
    const bool is_number = i % n_columns < n_numbers;
    values[i] = static_cast<float>(is_number ? u : std::floor(u * 40));
    if (i % 97 == 0) values[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return values;
}

BinMapper fit_mapper(const TableView& view) {
  Threads alone(1);
  return BinMapper::fit(view, 255, alone);
}

BinnedColumns bin(const BinMapper& mapper, const TableView& view) {
  Threads alone(1);
  return mapper.transform(view, alone);
}

std::vector<std::int64_t> take_every(std::int64_t stride, std::int64_t first) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = first; row < n_rows; row += stride) rows.push_back(row);
  return rows;
}

GradientTree grow(const Data& data, std::int32_t max_leaf_nodes) {
  GradientGrower grower({max_leaf_nodes, 0, 1, 1.0, 64});
  return grower.grow(data.columns, data.patch_of_gradients(), Stream(1, 2, Purpose::thresholds));
}

// The same splits with other values.
template <class Value>
Tree revalue(const Tree& tree, std::int64_t outputs, Value value) {
  Tree other = tree;
  other.n_outputs = outputs;
  other.leaf_values.resize(tree.n_leaves() * static_cast<std::size_t>(outputs));
  for (std::size_t k = 0; k < other.leaf_values.size(); ++k) other.leaf_values[k] = value(k);
  return other;
}

}  // namespace

Data::Data()
    : values(make_values()),
      signs(n_rows),
      classes(n_rows),
      numbers(n_rows),
      small_numbers(n_rows),
      weights(n_rows),
      log_weights(n_rows),
      small_weights(n_rows),
      gradients(n_rows * n_outputs),
      hessians(n_rows * n_outputs),
      rows(take_every(23, 0)),
      unseen_rows(take_every(23, 7)),
      features(n_columns),
      mapper(fit_mapper(view())),
      columns(bin(mapper, view())) {
  const Stream noise(1, 3, Purpose::observations);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const float* row = values.data() + i * n_columns;
    const double u = uniform(noise.bits(i));
    const double number = (row[1] > 0.4f) + 2.0 * (row[18] > 11.0f) + (row[2] > 0.7f) * u;
    numbers[i] = number;
    small_numbers[i] = static_cast<float>(number);
    signs[i] = number > 2.0 ? 1 : -1;
    classes[i] = static_cast<std::uint16_t>(number * 1.7);
    weights[i] = 0.5 + static_cast<double>(i % 3);
    log_weights[i] = log_of(weights[i]);
    small_weights[i] = static_cast<float>(weights[i]);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = static_cast<float>(uniform(noise.bits(n_rows + i)) - 0.5 * numbers[i / n_outputs]);
    hessians[i] = static_cast<float>(uniform(noise.bits(4 * n_rows + i)));
  }
  std::iota(features.begin(), features.end(), 0);
  for (std::int64_t j = 0; j < n_columns; ++j) is_categorical[j] = j >= n_numbers;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    patch_weights.push_back(weights[i]);
    patch_gradients.push_back(gradients[i]);
    patch_hessians.push_back(hessians[i]);
  }
  grown = grow(*this, 60);
  small = grown.tree;
  large = grow(*this, 1000).tree;
  const auto choose_class = [](std::size_t k) { return static_cast<double>(k * k % n_classes); };
  small_class = revalue(small, 1, choose_class);
  large_class = revalue(large, 1, choose_class);
  const auto choose_value = [](std::size_t k) { return 0.37 * static_cast<double>(k * k % 11) - 2.0; };
  small_vector = revalue(small, n_outputs, choose_value);
  large_vector = revalue(large, n_outputs, choose_value);
}

TableView Data::view() const { return {values.data(), Dtype::float32, n_rows, n_columns, n_columns * 4, 4}; }

Minipatch<std::int8_t> Data::patch_of_signs() const { return {rows, features, signs.data(), {}, is_categorical}; }
Minipatch<std::uint16_t> Data::patch_of_classes() const { return {rows, features, classes.data(), {}, is_categorical}; }
Minipatch<double> Data::patch_of_numbers() const { return {rows, features, numbers.data(), {}, is_categorical}; }
GradientPatch Data::patch_of_gradients() const {
  return {.rows = rows,
          .features = features,
          .gradients = patch_gradients,
          .hessians = patch_hessians,
          .is_categorical = is_categorical};
}

void Digest::add(const BinnedColumns& columns) {
  for (std::int64_t j = 0; j < columns.n_columns(); ++j) {
    add(std::span(columns.column(j), static_cast<std::size_t>(columns.stride())));
    add(columns.n_bins(j));
    add(columns.has_missing(j));
  }
}

void Digest::add(const BinMapper& mapper) {
  add(mapper.edges());
  add(mapper.offsets());
}

void Digest::add(TreeView tree) {
  add(tree.splits);
  add(tree.leaf_values);
  add(tree.category_sets);
}

}  // namespace stress
