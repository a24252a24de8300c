#include "kernel/walk_processes.h"

#include <errno.h>

#include <algorithm>
#include <cstring>

#include "kernel/bpf_config.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>
#endif

namespace tephra::kernel {

#if TEPHRA_BPF

namespace {

constexpr const char* kWhat = "cannot tell the kernel the mappings of a process";

// A walk takes less than a millisecond; only a virtual machine that is stopped within one makes it longer.
constexpr std::chrono::seconds kGrace(1);

bool in_order(std::span<const tephra_walk_mapping> mappings) {
  uint64_t end = 0;
  for (const auto& mapping : mappings) {
    if (mapping.start < end || mapping.end <= mapping.start) return false;
    end = mapping.end;
  }
  return true;
}

}  // namespace

WalkProcesses::WalkProcesses(uint32_t max_mappings) : pool_(max_mappings, kGrace) {}

base::Result<WalkProcesses> WalkProcesses::open(const Maps& maps, uint32_t max_mappings) {
  WalkProcesses processes(max_mappings);
  processes.maps_ = maps;
  TEPHRA_TRY(processes.memory_, BpfMemory::map(maps.mappings, max_mappings * sizeof(tephra_walk_mapping)));
  return processes;
}

base::Status WalkProcesses::set(pid_t pid, uint64_t start_stack, uint64_t start_code,
                                std::span<const tephra_walk_mapping> mappings) {
  if (!in_order(mappings)) return base::failed(kWhat, std::to_string(pid), "they overlap or are not sorted");
  const auto now = RangePool::Clock::now();
  const auto count = static_cast<uint32_t>(mappings.size());
  const auto first = pool_.take(count, now);
  if (!first) return base::failed(kWhat, std::to_string(pid), "the room for mappings is used up");
  std::copy(mappings.begin(), mappings.end(), memory_.as<tephra_walk_mapping>() + *first);
  const tephra_walk_process process{
      .first = *first, .count = count, .start_stack = start_stack, .start_code = start_code};
  if (bpf_map_update_elem(maps_.processes, &pid, &process, BPF_ANY) != 0) {
    const int error = errno;
    pool_.give_back(*first, count, now);
    return base::system_error(kWhat, std::to_string(pid), error);
  }
  Range& range = ranges_[pid];
  pool_.give_back(range.first, range.count, now);
  range = {*first, count};
  return {};
}

void WalkProcesses::forget(pid_t pid) {
  const auto it = ranges_.find(pid);
  if (it == ranges_.end()) return;
  bpf_map_delete_elem(maps_.processes, &pid);
  pool_.give_back(it->second.first, it->second.count, RangePool::Clock::now());
  ranges_.erase(it);
}

#endif

}  // namespace tephra::kernel
