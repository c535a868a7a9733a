// What a split is worth: for many classes the decrease of Gini impurity, for numbers that of the squared error.
//
// A criterion knows rows by their place in the minipatch. `read` gives it the minipatch, `open` the rows of a node. A
// Side sums up the rows that a split sends to the left, on request together with those whose value is missing. Scores
// order the splits of a node by their gain; rounding makes those of equal splits differ, but by less than the factor
// `rounding`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mpboost/grower.hpp"

namespace mpboost {

// The place of a row in the minipatch in the low bits, its code of some feature above: lists sort by code, then place.
using Entry = std::uint32_t;
inline constexpr int place_bits = 24;
inline std::uint8_t code_of(Entry entry) { return static_cast<std::uint8_t>(entry >> place_bits); }
inline std::uint32_t place_of(Entry entry) { return entry & ((Entry{1} << place_bits) - 1); }

// The rows of a node that have a category; categories are ordered by their keys.
struct Category {
  std::uint8_t code;
  std::int32_t begin, end;  // in the list of entries
  double key;
  std::int32_t size() const { return end - begin; }
};

class ClassCriterion {
 public:
  using Label = std::uint16_t;
  static constexpr double rounding = 1.0;  // sums are whole numbers

  // Of classes that weigh the same in a leaf, the one of the highest rank wins.
  explicit ClassCriterion(std::vector<std::uint16_t> ranks);

  bool accepts(Label label) const { return label < ranks_.size(); }
  void read(const Minipatch<Label>& patch);
  bool has_weights() const { return !weights_.empty(); }
  std::int64_t weight_of(std::uint32_t place) const { return has_weights() ? weights_[place] : 1; }
  bool is_pure(std::span<const Entry> rows) const;
  void open(std::span<const Entry> rows);

  double leaf_value(std::span<const Entry> rows) const;  // of the node that is open
  // The score of a split that gains nothing.
  double base() const { return static_cast<double>(squares_) / static_cast<double>(weight_); }
  double gain(double score) const { return score - base(); }
  // What a perfect split would gain, in terms of scores.
  double impurity() const { return static_cast<double>(weight_) - base(); }

  // Give categories their keys: their places along the line on which their shares of classes differ most (Coppersmith,
  // Hong and Hosking, 1999). With two classes in the node that is the share of one, and some cut is the best subset.
  void place_categories(std::span<const Entry> rows, std::span<Category> categories);

  template <bool has_weights, bool has_missing>
  class Side {
   public:
    Side(ClassCriterion& node, std::span<const Entry> missing) : node_(node), left_(node.left_.data()) {
      for (const Label label : node.present_) node.left_[label] = node.missing_[label] = 0;
      if constexpr (!has_missing) return;
      for (const Entry entry : missing) node.missing_[node.labels_[place_of(entry)]] += weight_of(place_of(entry));
      for (const Label label : node.present_) {
        const std::int64_t weight = node.missing_[label];
        missing_weight_ += weight;
        missing_squares_ += weight * weight;
        missing_cross_ += weight * node.totals_[label];
      }
    }

    // Move a row here from the other side.
    void move(std::uint32_t place) {
      const Label label = node_.labels_[place];
      const std::int64_t w = weight_of(place), before = left_[label];
      left_[label] = before + w;
      weight_ += w;
      squares_ += w * (2 * before + w);
      cross_ += w * node_.totals_[label];
      if constexpr (has_missing) product_ += w * node_.missing_[label];
    }
    double score() const { return score_of(weight_, squares_, cross_); }
    double score_with_missing() const {
      return score_of(weight_ + missing_weight_, squares_ + 2 * product_ + missing_squares_, cross_ + missing_cross_);
    }

   private:
    std::int64_t weight_of(std::uint32_t place) const { return has_weights ? node_.weights_[place] : 1; }
    // One division alone, so that equal splits have equal scores.
    double score_of(std::int64_t left, std::int64_t left_squares, std::int64_t left_cross) const {
      const auto l = static_cast<double>(left), r = static_cast<double>(node_.weight_ - left);
      const auto right_squares = static_cast<double>(node_.squares_ - 2 * left_cross + left_squares);
      return (static_cast<double>(left_squares) * r + right_squares * l) / (l * r);
    }

    const ClassCriterion& node_;
    std::int64_t* left_;                                 // weights of the classes
    std::int64_t weight_ = 0, squares_ = 0, cross_ = 0;  // sums over the classes: left, left^2, left * total
    std::int64_t product_ = 0;                           // left * missing
    std::int64_t missing_weight_ = 0, missing_squares_ = 0, missing_cross_ = 0;
  };

 private:
  std::vector<std::uint16_t> ranks_;
  std::vector<Label> labels_;                          // of the minipatch's rows
  std::vector<std::int64_t> weights_;                  // of them; empty where all weigh the same
  std::vector<std::int64_t> totals_, left_, missing_;  // weights of the classes in the node; 0 of those not there
  std::vector<Label> present_;                         // the classes in the node, ascending
  std::int64_t weight_ = 0, squares_ = 0;              // of the node: sums over the classes
  std::vector<double> shares_;
};

class ValueCriterion {
 public:
  using Label = double;
  static constexpr double rounding = 1.0 + 1e-9;  // far above that of sums of doubles, far below what matters

  bool accepts(Label label) const { return label - label == 0; }  // a finite number
  void read(const Minipatch<Label>& patch);
  bool has_weights() const { return !weights_.empty(); }
  double weight_of(std::uint32_t place) const { return has_weights() ? weights_[place] : 1.0; }
  bool is_pure(std::span<const Entry> rows) const;
  void open(std::span<const Entry> rows);

  double leaf_value(std::span<const Entry> rows) const;  // of the node that is open
  double base() const { return 0.0; }
  double gain(double score) const { return score / weight_; }
  double impurity() const { return impurity_; }

  // Give categories their mean as the key: some cut is the best subset.
  void place_categories(std::span<const Entry> rows, std::span<Category> categories);

  template <bool has_weights, bool has_missing>
  class Side {
   public:
    Side(const ValueCriterion& node, std::span<const Entry> missing) : node_(node) {
      if constexpr (has_missing)
        for (const Entry entry : missing) add(place_of(entry), missing_weight_, missing_sum_);
    }

    // Move a row here from the other side.
    void move(std::uint32_t place) { add(place, weight_, sum_); }
    double score() const { return score_of(weight_, sum_); }
    double score_with_missing() const { return score_of(weight_ + missing_weight_, sum_ + missing_sum_); }

   private:
    void add(std::uint32_t place, double& weight, double& sum) const {
      const double w = has_weights ? node_.weights_[place] : 1.0;
      weight += w;
      sum += w * node_.values_[place];
    }
    double score_of(double left, double left_sum) const {
      const double d = left_sum * node_.weight_ - left * node_.sum_;
      return d * d / (left * (node_.weight_ - left));
    }

    const ValueCriterion& node_;
    double weight_ = 0, sum_ = 0, missing_weight_ = 0, missing_sum_ = 0;
  };

 private:
  std::vector<double> labels_;   // of the minipatch's rows
  std::vector<double> values_;   // labels / scale - mean
  std::vector<double> weights_;  // empty where all weigh the same
  double mean_ = 0, scale_ = 1;
  double weight_ = 0, sum_ = 0, impurity_ = 0;  // of the node
};

}  // namespace mpboost
