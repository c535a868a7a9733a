#include "mpboost/strata.hpp"

#include <algorithm>
#include <cstddef>

namespace mpboost {
namespace {

struct Ticket {
  std::uint64_t number;
  std::int64_t row;
  auto operator<=>(const Ticket&) const = default;
};

// Keeps the lowest of the tickets that it is shown: a heap, whose first is the highest.
class LowestTickets {
 public:
  explicit LowestTickets(std::int64_t count) : count_(static_cast<std::size_t>(count)) {}

  void show(Ticket ticket) {
    if (tickets_.size() == count_) {
      if (count_ == 0 || tickets_.front() < ticket) return;
      std::ranges::pop_heap(tickets_);
      tickets_.pop_back();
    }
    tickets_.push_back(ticket);
    std::ranges::push_heap(tickets_);
  }

  void append_rows(std::vector<std::int64_t>& rows) {
    std::ranges::sort_heap(tickets_);
    for (const Ticket& ticket : tickets_) rows.push_back(ticket.row);
  }

 private:
  std::size_t count_;
  std::vector<Ticket> tickets_;
};

}  // namespace

std::vector<std::int64_t> draw_strata(const std::uint16_t* strata, std::int64_t n_rows,
                                      std::span<const std::int64_t> counts, const Stream& stream) {
  std::vector<LowestTickets> winners(counts.begin(), counts.end());
  for (std::int64_t row = 0; row < n_rows; ++row)
    winners[strata ? strata[row] : 0].show({stream.bits(static_cast<std::uint64_t>(row)), row});
  std::vector<std::int64_t> rows;
  for (LowestTickets& some : winners) some.append_rows(rows);
  return rows;
}

}  // namespace mpboost
