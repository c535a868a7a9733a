// What the bindings of trees and of forests share.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>

#include "bindings.hpp"
#include "mpboost/columns.hpp"
#include "mpboost/tree.hpp"

namespace mpboost::bindings {

// Splits and category sets as bytes; Python reads them with its own record types.
template <class T>
auto bytes_to_numpy(std::span<const T> records) {
  std::vector<std::uint8_t> bytes(records.size_bytes());
  if (!records.empty()) std::memcpy(bytes.data(), records.data(), records.size_bytes());
  return to_numpy(std::move(bytes));
}

template <class T>
std::vector<T> records_from_numpy(const Vector<const std::uint8_t>& bytes) {
  check(bytes.size() % sizeof(T) == 0, "splits have 20 bytes each and category sets 32");
  std::vector<T> records(bytes.size() / sizeof(T));
  if (!records.empty()) std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

// Leaf values as Python has them: [leaf], or [leaf][output] where there are more outputs than one.
template <class T>
using LeafValues = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu>;

inline auto values_to_numpy(std::vector<double> values, std::int64_t n_outputs) {
  const auto n = static_cast<std::size_t>(n_outputs);
  const std::array shape{values.size() / n, n};
  double* data = values.data();  // stays where it is when the vector moves
  return nb::ndarray<nb::numpy, double>(data, n == 1 ? 1 : 2, shape.data(), own(std::move(values)));
}

inline std::int64_t count_outputs(const LeafValues<const double>& values) {
  check(values.ndim() == 1 || values.ndim() == 2, "leaf values have a row for each leaf and a column for each output");
  return values.ndim() == 1 ? 1 : static_cast<std::int64_t>(values.shape(1));
}

inline std::vector<double> values_from_numpy(const LeafValues<const double>& values) {
  return {values.data(), values.data() + values.size()};
}

// What is written for each row, by trees of that many outputs.
template <class Out>
void check_output(const Out& out, std::int64_t n_rows, std::int64_t n_outputs) {
  const auto has = [&](std::size_t axis, std::int64_t size) {
    return static_cast<std::int64_t>(out.shape(axis)) == size;
  };
  if (n_outputs == 1) return check(out.ndim() == 1 && has(0, n_rows), "the output must have one entry per row");
  check(out.ndim() == 2 && has(0, n_rows) && has(1, n_outputs),
        "the output must have a row per row and a column per output of the trees");
}

inline void check_single(std::int64_t n_outputs) { check(n_outputs == 1, "the trees must have one output"); }

inline void check_columns(TreeView tree, const BinnedColumns& columns) {
  for (const Split& split : tree.splits)
    check(split.feature < columns.n_columns(), "the tree uses a column that does not exist");
}

// Leaf values of trees for many classes are numbers of classes.
inline void check_classes(TreeView tree, std::int64_t n_classes) {
  check_single(tree.n_outputs);
  const auto limit = static_cast<double>(std::min<std::int64_t>(n_classes, 65'536));
  const auto is_class = [=](double value) {
    return 0 <= value && value < limit && value == static_cast<double>(static_cast<std::int32_t>(value));
  };
  check(std::ranges::all_of(tree.leaf_values, is_class), "the tree has a leaf value that is no class");
}

// A tree as a tuple of arrays, as it is pickled, and back.
inline nb::tuple state_of(const Tree& tree) {
  return nb::make_tuple(bytes_to_numpy<Split>(tree.splits), values_to_numpy(tree.leaf_values, tree.n_outputs),
                        bytes_to_numpy<CategorySet>(tree.category_sets),
                        to_numpy(std::vector<float>(tree.leaf_covers)));
}

inline Tree tree_from_state(const nb::tuple& state) {
  check(state.size() == 4, "this is not the state of a tree");
  const auto values = nb::cast<LeafValues<const double>>(state[1]);
  const auto covers = nb::cast<Vector<const float>>(state[3]);
  Tree tree{records_from_numpy<Split>(nb::cast<Vector<const std::uint8_t>>(state[0])),
            values_from_numpy(values),
            records_from_numpy<CategorySet>(nb::cast<Vector<const std::uint8_t>>(state[2])),
            count_outputs(values),
            {covers.data(), covers.data() + covers.size()}};
  check(values_fit(tree.leaf_values.size(), tree.n_leaves(), tree.n_outputs) &&
            covers_fit(tree.leaf_covers, tree.n_leaves()) && is_valid(tree, std::numeric_limits<std::int32_t>::max()),
        "this is not the state of a tree");
  return tree;
}

// Growers of one kind, which have memory of their own: each serves one thread at a time. Made when they are needed.
template <class Grower>
class Growers {
 public:
  // Growers are made with these arguments.
  template <class... Arguments>
  explicit Growers(Arguments... arguments) : make_([=] { return std::make_unique<Grower>(arguments...); }) {}

  // Call use(grower) with a grower that nobody else uses. After an error, whose traces it may have, it is not kept.
  template <class Use>
  auto lend(Use use) {
    std::unique_ptr<Grower> grower = take();
    auto result = use(*grower);
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(grower));
    return result;
  }

 private:
  std::unique_ptr<Grower> take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return make_();
    std::unique_ptr<Grower> grower = std::move(idle_.back());
    idle_.pop_back();
    return grower;
  }

  const std::function<std::unique_ptr<Grower>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Grower>> idle_;
};

// Call make(i, threads) for each of n items, side by side, outside of the interpreter; return the results. An item has
// a thread of its own (null), or, if it is the only one, all threads.
template <class Make>
auto make_side_by_side(std::size_t n, Threads& threads, Make make) {
  std::vector<std::invoke_result_t<Make, std::size_t, Threads*>> made(n);
  nb::gil_scoped_release release;
  if (n == 1) {
    made[0] = make(std::size_t{0}, &threads);
    return made;
  }
  threads.for_ranges(std::ssize(made), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      made[i] = make(i, static_cast<Threads*>(nullptr));
  });
  return made;
}

// The features that splits use, ascending.
inline std::vector<std::int64_t> used_features(std::span<const Split> splits) {
  std::vector<std::int64_t> features(splits.size());
  std::ranges::transform(splits, features.begin(), &Split::feature);
  std::ranges::sort(features);
  const auto [first, last] = std::ranges::unique(features);
  features.erase(first, last);
  return features;
}

// Put splits of a tree that was grown on columns that were picked from a wider table in terms of that table.
inline void rename_features(std::vector<Split>& splits, const Vector<const std::int64_t>& features) {
  for (Split& split : splits) {
    check(split.feature < static_cast<std::int64_t>(features.size()), "the tree uses a column that does not exist");
    const std::int64_t feature = features.data()[split.feature];
    check(0 <= feature && feature < (std::int64_t{1} << 31), "features are numbers below 2^31");
    split.feature = static_cast<std::int32_t>(feature);
  }
}

// The same splits over columns that hold just the features that they use.
inline std::vector<Split> narrow(std::span<const Split> splits) {
  const auto features = used_features(splits);
  std::vector<Split> narrowed(splits.begin(), splits.end());
  for (Split& split : narrowed)
    split.feature = static_cast<std::int32_t>(std::ranges::lower_bound(features, split.feature) - features.begin());
  return narrowed;
}

}  // namespace mpboost::bindings
