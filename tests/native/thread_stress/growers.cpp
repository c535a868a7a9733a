// Growers of trees, and what trees credit features with. Only the gradient grower has threads; the others, and their
// kernels, are run by several users at a time.
#include <numeric>

#include "mpboost/binary_grower.hpp"
#include "mpboost/gradient_credit.hpp"
#include "mpboost/gradient_grower.hpp"
#include "mpboost/importance.hpp"
#include "mpboost/sorted_grower.hpp"
#include "stress.hpp"

namespace stress {
namespace {

using namespace mpboost;

// Grow a tree without and one with weights of rows, and compute the importances of both.
template <class Grower, class Label>
void grow_and_credit(Grower grower, Minipatch<Label> patch, const Data& data, Digest& digest) {
  for (const bool has_weights : {false, true}) {
    if (has_weights) patch.weights = data.patch_weights;
    const GrownTree grown = grower.grow(data.columns, patch);
    digest.add(grown.tree);
    digest.add(grown.importances);
    digest.add(permutation_importances(grown.tree, data.columns, patch, Stream(3, 1, Purpose::permutation)));
    const UnseenCredits credits = unseen_importances(grown.tree, data.columns, patch, data.unseen_rows);
    digest.add(credits.importances);
    for (const SizeGains& size : credits.gains) digest.add(std::vector{size.promised, size.kept, size.squares});
  }
}

void grow_for_two_classes(const Data& data, Threads&, Digest& digest) {
  grow_and_credit(BinaryGrower({0, 1, 1.0}), data.patch_of_signs(), data, digest);
}

void grow_for_classes(const Data& data, Threads&, Digest& digest) {
  std::vector<std::uint16_t> ranks(n_classes);
  std::iota(ranks.begin(), ranks.end(), std::uint16_t{0});
  grow_and_credit(ClassGrower({0, 1}, ClassCriterion(ranks)), data.patch_of_classes(), data, digest);
}

void grow_for_numbers(const Data& data, Threads&, Digest& digest) {
  grow_and_credit(ValueGrower({0, 2}, ValueCriterion()), data.patch_of_numbers(), data, digest);
}

void add_grown(const GradientTree& grown, Digest& digest) {
  digest.add(grown.tree);
  digest.add(grown.split_values);
  digest.add(grown.gains);
}

// Twice, since a grower keeps its memory.
void grow_for_gradients(const Data& data, Threads& threads, Digest& digest) {
  GradientGrower grower({200, 0, 5, 1.0, 64});
  for (const std::uint64_t iteration : {1U, 2U}) {
    const Stream stream(3, iteration, Purpose::thresholds);
    add_grown(grower.grow(data.columns, data.patch_of_gradients(), stream, &threads), digest);
  }
}

// With monotonic features and sets of features that may meet.
void grow_with_constraints(const Data& data, Threads& threads, Digest& digest) {
  std::vector<std::int8_t> monotonic(n_columns);
  monotonic[1] = -1;
  monotonic[2] = 1;
  const std::vector<std::int64_t> offsets{0, 10, n_columns};
  GradientPatch patch = data.patch_of_gradients();
  patch.monotonic = monotonic.data();
  patch.interaction_offsets = offsets;
  patch.interaction_members = data.features;
  GradientGrower grower({31, 6, 5, 1.0, 255});
  add_grown(grower.grow(data.columns, patch, Stream(3, 1, Purpose::thresholds), &threads), digest);
}

void credit_gradients(const Data& data, Threads&, Digest& digest) {
  std::vector<double> sums(data.grown.tree.n_leaves());
  for (std::size_t leaf = 0; leaf < sums.size(); ++leaf) sums[leaf] = data.numbers[leaf];
  digest.add(gradient_credits(data.grown, sums, data.features));
  digest.add(chance_of_credits(data.grown, sums));
}

constexpr Case cases[] = {
    {"trees for two classes", false, grow_for_two_classes},
    {"trees for many classes", false, grow_for_classes},
    {"trees for numbers", false, grow_for_numbers},
    {"trees for gradients", true, grow_for_gradients},
    {"trees for gradients, constraints", true, grow_with_constraints},
    {"credits of gradient trees", false, credit_gradients},
};

}  // namespace

std::span<const Case> list_grower_cases() { return cases; }

}  // namespace stress
