#include "collect/ring_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "collect/event_attr.h"
#include "collect/open_error.h"

namespace tephra::collect {
namespace {

constexpr size_t kSmallestRing = 32 << 10;
constexpr size_t kLargestRing = 64 << 20;

}  // namespace

RingSet::RingSet(Kind kind, const kernel::AttrSupport& support, Note note)
    : kind_(kind), support_(support), note_(std::move(note)) {}

base::FileDescriptor RingSet::open_owner(int cpu, size_t bytes) const {
  perf_event_attr attr = dummy_attr(false, support_);
  // Early, so that three quarters are left for the time until we run.
  attr.watermark = 1;
  attr.wakeup_watermark = prompt_ ? 1 : static_cast<uint32_t>(bytes / 4);
  attr.write_backward = kind_ == Kind::kOverwritten;
  using Scope = kernel::EventScope;
  return kernel::open_event(attr, whole_cpus_ ? Scope::everything(cpu) : Scope::task(0, cpu));
}

bool RingSet::map(kernel::RingBuffer& ring, int fd, size_t bytes) const {
  return kind_ == Kind::kOverwritten ? ring.map_overwritten(fd, bytes) : ring.map(fd, bytes);
}

// The limit of memory that may be locked is one for all rings, so they are all of the same size: that with which the
// last of them still fits.
base::Status RingSet::open(const std::vector<int>& cpus, bool whole_cpus, Size size) {
  whole_cpus_ = whole_cpus;
  prompt_ = size.prompt;
  for (size_t bytes = size.bytes;; bytes /= 2) {
    TEPHRA_TRY(const int error_number, open_all(cpus, bytes));
    if (error_number == 0) break;
    const bool too_much = error_number == EPERM || error_number == ENOMEM || error_number == EINVAL;
    if (!too_much || size.exact || bytes <= kSmallestRing) {
      return base::system_error(fmt::format("cannot lock a ring of {} KiB a CPU in memory", bytes >> 10), "",
                                error_number,
                                fmt::format("Use a smaller ring with -m, or have root run 'sysctl "
                                            "kernel.perf_event_mlock_kb={}'.",
                                            (bytes >> 10) + 64));
    }
  }
  if (slots_.empty()) return base::failed("cannot record", "", "none of the CPUs is online");
  if (bytes() < size.bytes) {
    note_(fmt::format("rings are {} KiB a CPU: more may not be locked in memory", bytes() >> 10));
  }
  return {};
}

base::Result<int> RingSet::open_all(const std::vector<int>& cpus, size_t bytes) {
  cpus_.clear();
  slots_.clear();
  for (const int cpu : cpus) {
    Slot slot{open_owner(cpu, bytes), {}};
    if (!slot.owner && errno == ENODEV) continue;  // the CPU went offline
    if (!slot.owner) return explain_ring(whole_cpus_, cpu, errno);
    if (!map(slot.ring, slot.owner.get(), bytes)) return errno;
    cpus_.push_back(cpu);
    slots_.push_back(std::move(slot));
  }
  return 0;
}

size_t RingSet::bytes() const {
  size_t most = 0;
  for (const Slot& slot : slots_) most = std::max(most, slot.ring.capacity());
  return most;
}

bool RingSet::grow(size_t place, const std::function<bool(int fd)>& redirect) {
  Slot& slot = slots_[place];
  const size_t bytes = slot.ring.capacity() * 2;
  if (bytes > kLargestRing) return false;
  Retired larger{open_owner(cpus_[place], bytes), {}};
  if (!larger.owner || !map(larger.ring, larger.owner.get(), bytes)) return false;
  // Records come to it as soon as the first event is redirected, so it is drained from here on.
  retired_.push_back(std::move(larger));
  Retired& other = retired_.back();
  const bool done = redirect(other.owner.get());
  if (done) {
    std::swap(slot.owner, other.owner);
    std::swap(slot.ring, other.ring);
  } else {
    redirect(slot.owner.get());
  }
  other.empty_passes = 0;
  return done;
}

}  // namespace tephra::collect
