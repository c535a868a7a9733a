// What the parts of the stress test share: the data, the cases, and digests of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "mpboost/binning.hpp"
#include "mpboost/columns.hpp"
#include "mpboost/gradient_grower.hpp"
#include "mpboost/grower.hpp"
#include "mpboost/random.hpp"
#include "mpboost/table.hpp"
#include "mpboost/threads.hpp"
#include "mpboost/tree.hpp"

namespace stress {

// So many rows that each kernel spreads its work over several threads; the last block is a short one.
inline constexpr std::int64_t n_rows = 140'001;
inline constexpr std::int64_t n_numbers = 17, n_columns = 20;  // the other columns are categories
inline constexpr std::int64_t n_classes = 7, n_outputs = 3;

// A hash of everything that a case computes: results are the same only if all their bits are.
class Digest {
 public:
  template <class T>
  void add(std::span<const T> items) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>, "padding has any bits");
    const auto bytes = std::as_bytes(items);
    const std::size_t n_words = bytes.size() / 8;
    for (std::size_t i = 0; i < n_words; ++i) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + 8 * i, 8);
      add_word(word);
    }
    for (const std::byte byte : bytes.subspan(8 * n_words)) add_word(static_cast<std::uint64_t>(byte));
    add_word(bytes.size());
  }
  template <class T>
  void add(const std::vector<T>& items) {
    add(std::span<const T>(items));
  }
  void add(double number) { add(std::span<const double>(&number, 1)); }
  void add(const mpboost::BinnedColumns& columns);
  void add(const mpboost::BinMapper& mapper);
  void add(mpboost::TreeView tree);

  bool operator==(const Digest&) const = default;
  std::uint64_t hash() const { return hash_; }

 private:
  void add_word(std::uint64_t word) { hash_ = mpboost::mix(hash_ ^ word) + 1; }

  std::uint64_t hash_ = 0;
};

// What all cases read. No case writes to it.
struct Data {
  Data();

  mpboost::TableView view() const;  // of all columns
  mpboost::Minipatch<std::int8_t> patch_of_signs() const;
  mpboost::Minipatch<std::uint16_t> patch_of_classes() const;
  mpboost::Minipatch<double> patch_of_numbers() const;
  mpboost::GradientPatch patch_of_gradients() const;

  std::vector<float> values;  // row by row
  std::vector<std::int8_t> signs;
  std::vector<std::uint16_t> classes;
  std::vector<double> numbers;
  std::vector<float> small_numbers;  // the same in single precision
  std::vector<double> weights, log_weights;
  std::vector<float> small_weights;
  std::vector<float> gradients, hessians;  // [row][output]; the first n_rows of them serve where there is one output

  std::vector<std::int64_t> rows, unseen_rows, features;  // of a minipatch
  std::vector<double> patch_weights, patch_gradients, patch_hessians;
  bool is_categorical[n_columns];

  mpboost::BinMapper mapper;
  mpboost::BinnedColumns columns;

  // Small trees have up to 256 leaves and large ones more: these are applied in other ways.
  mpboost::GradientTree grown;
  mpboost::Tree small, large;                // of one output, positive or negative
  mpboost::Tree small_class, large_class;    // whose values are classes
  mpboost::Tree small_vector, large_vector;  // of n_outputs
};

struct Case {
  const char* name;
  bool is_threaded;  // whether it must spread work over threads where there are some
  void (*run)(const Data&, mpboost::Threads&, Digest&);
};

// A table per file.
std::span<const Case> list_binning_cases();
std::span<const Case> list_draw_cases();
std::span<const Case> list_grower_cases();
std::span<const Case> list_tree_cases();
std::span<const Case> list_vote_cases();
std::span<const Case> list_value_cases();
std::span<const Case> list_gradient_cases();
std::span<const Case> list_thread_cases();
std::span<const Case> list_number_cases();

}  // namespace stress
