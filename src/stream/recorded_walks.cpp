#include "stream/recorded_walks.h"

#include <algorithm>

namespace tephra::stream {

uint32_t RecordedWalks::add_chain(std::span<const uint64_t> addresses, WalkEnd end) {
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  firsts_.push_back(addresses_.size());
  ends_.push_back(end.byte());
  return static_cast<uint32_t>(ends_.size() - 1);
}

void RecordedWalks::finish() {
  std::ranges::stable_sort(walks_, {}, &Walk::position);
  const auto same = [](const Walk& a, const Walk& b) { return a.position == b.position; };
  walks_.erase(std::unique(walks_.begin(), walks_.end(), same), walks_.end());
}

RecordedWalks::Chain RecordedWalks::chain(uint32_t number) const {
  const std::span all(addresses_);
  return {all.subspan(firsts_[number], firsts_[number + 1] - firsts_[number]), WalkEnd::of_byte(ends_[number])};
}

bool RecordedWalks::find(uint64_t position, Chain& chain) const {
  const auto at = std::ranges::lower_bound(walks_, position, {}, &Walk::position);
  if (at == walks_.end() || at->position != position) return false;
  chain = this->chain(at->chain);
  return true;
}

}  // namespace tephra::stream
