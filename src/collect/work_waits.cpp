#include "collect/work_waits.h"

#include <algorithm>
#include <cmath>

namespace tephra::collect {
namespace {

constexpr double kRestWhenWalking = 0.002;

int poll_for(std::vector<pollfd>& waits, double seconds) {
  return ::poll(waits.data(), waits.size(), static_cast<int>(std::ceil(seconds * 1000)));
}

}  // namespace

void WorkWaits::wait(const RingSet& rings, std::vector<pollfd> others, std::optional<int> walked, double seconds) {
  std::vector<pollfd> waits = std::move(others);
  const double rest = walked ? std::min(kRestWhenWalking, seconds) : 0;
  const bool woken = walked && poll_for(waits, rest) > 0;
  const size_t rings_begin = waits.size();
  add_rings(rings, waits);
  const size_t rings_end = waits.size();
  if (walked) waits.push_back({*walked, POLLIN, 0});
  if (!woken) poll_for(waits, seconds - rest);
  ++wakeups_;
  waits.resize(rings_end);
  leave_out_gone(waits, rings_begin);
}

void WorkWaits::add_rings(const RingSet& rings, std::vector<pollfd>& waits) const {
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    const bool gone = std::find(gone_rings_.begin(), gone_rings_.end(), rings.fd(place)) != gone_rings_.end();
    if (!gone) waits.push_back({rings.fd(place), POLLIN, 0});
  }
}

// A ring whose CPU is gone would wake us without end; what is in it is still drained.
void WorkWaits::leave_out_gone(const std::vector<pollfd>& waits, size_t begin) {
  for (size_t at = begin; at < waits.size(); ++at) {
    if (waits[at].revents & (POLLHUP | POLLERR | POLLNVAL)) gone_rings_.push_back(waits[at].fd);
  }
}

}  // namespace tephra::collect
