#include "mpboost/binning.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace mpboost {

BinMapper::BinMapper(std::vector<double> edges, std::vector<std::int64_t> offsets)
    : edges_(std::move(edges)), offsets_(std::move(offsets)) {
  if (offsets_.empty() || offsets_.front() != 0 || !std::ranges::is_sorted(offsets_) ||
      offsets_.back() != static_cast<std::int64_t>(edges_.size()))
    throw std::invalid_argument("bin offsets do not span the edges");
  zero_codes_.reserve(offsets_.size() - 1);
  for (std::int64_t j = 0; j < n_features(); ++j) {
    const auto own = edges_of(j);
    if (own.size() >= max_value_bins) throw std::invalid_argument("a feature has too many bin edges");
    for (std::size_t b = 0; b < own.size(); ++b)
      if (!(own[b] < (b + 1 < own.size() ? own[b + 1] : std::numeric_limits<double>::infinity())))
        throw std::invalid_argument("bin edges must ascend and be below infinity");
    zero_codes_.push_back(static_cast<std::uint8_t>(std::ranges::lower_bound(own, 0.0) - own.begin()));
  }
}

void BinMapper::append(const BinMapper& other) {
  const std::int64_t end = offsets_.back();
  for (std::size_t j = 1; j < other.offsets_.size(); ++j) offsets_.push_back(end + other.offsets_[j]);
  edges_.insert(edges_.end(), other.edges_.begin(), other.edges_.end());
  zero_codes_.insert(zero_codes_.end(), other.zero_codes_.begin(), other.zero_codes_.end());
}

}  // namespace mpboost
