#include "collect/ring_set.h"

#include <fmt/format.h>

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

base::FileDescriptor RingSet::open_owner(int cpu) const {
  perf_event_attr attr = dummy_attr(false, support_);
  attr.write_backward = kind_ == Kind::kOverwritten;
  using Scope = kernel::EventScope;
  return kernel::open_event(attr, whole_cpus_ ? Scope::everything(cpu) : Scope::task(0, cpu));
}

bool RingSet::map(kernel::RingBuffer& ring, int fd, size_t bytes) const {
  return kind_ == Kind::kOverwritten ? ring.map_overwritten(fd, bytes) : ring.map(fd, bytes);
}

base::Status RingSet::open(const std::vector<int>& cpus, bool whole_cpus, Size size) {
  whole_cpus_ = whole_cpus;
  for (const int cpu : cpus) {
    Slot slot{open_owner(cpu), {}};
    if (!slot.owner && errno == ENODEV) continue;  // the CPU went offline
    if (!slot.owner) return explain_ring(whole_cpus, cpu, errno);
    TEPHRA_CHECK_OK(map_first(slot, size));
    cpus_.push_back(cpu);
    slots_.push_back(std::move(slot));
  }
  if (slots_.empty()) return base::failed("cannot record", "", "none of the CPUs is online");
  return {};
}

base::Status RingSet::map_first(Slot& slot, Size size) {
  for (size_t bytes = slots_.empty() ? size.bytes : this->bytes();; bytes /= 2) {
    if (map(slot.ring, slot.owner.get(), bytes)) break;
    const bool too_much = errno == EPERM || errno == ENOMEM || errno == EINVAL;
    if (!too_much || size.exact || bytes <= kSmallestRing) {
      return base::system_error(fmt::format("cannot lock a ring of {} KiB a CPU in memory", bytes >> 10), "", errno,
                                "Use a smaller ring with -m, or have root run 'sysctl "
                                "kernel.perf_event_mlock_kb=4096'.");
    }
  }
  if (slot.ring.capacity() < size.bytes && slots_.empty()) {
    note_(fmt::format("rings are {} KiB a CPU: more may not be locked in memory", slot.ring.capacity() >> 10));
  }
  return {};
}

bool RingSet::grow(size_t place, const std::function<bool(int fd)>& redirect) {
  Slot& slot = slots_[place];
  const size_t bytes = slot.ring.capacity() * 2;
  if (bytes > kLargestRing) return false;
  Slot larger{open_owner(cpus_[place]), {}};
  if (!larger.owner || !map(larger.ring, larger.owner.get(), bytes)) return false;
  if (!redirect(larger.owner.get())) {
    redirect(slot.owner.get());
    return false;
  }
  std::swap(slot.owner, larger.owner);
  std::swap(slot.ring, larger.ring);
  retired_.push_back({std::move(larger.owner), std::move(larger.ring)});
  return true;
}

}  // namespace tephra::collect
