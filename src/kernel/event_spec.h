#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tephra::kernel {

// What a user asked to count: which event of the kernel, and in which modes.
struct EventSpec {
  std::string name;  // as it is shown and stored: "cpu-clock:u", "sched:sched_switch", "cpu/event=0x3c/"
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t config1 = 0;  // for a breakpoint its address
  uint64_t config2 = 0;  // for a breakpoint its length
  uint32_t breakpoint_type = 0;

  bool exclude_user = false;
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  bool exclude_idle = false;
  bool exclude_guest = false;
  bool exclude_host = false;
  bool modes_given = false;   // a :u or :k was written, so they must not be changed silently
  uint8_t precise = 0;        // 0 to 3
  bool most_precise = false;  // :P, as precise as the machine can
  bool pinned = false;        // :D, always on a counter or an error
  bool exclusive = false;     // :e, alone on its PMU

  // Events of one group are counted at the same moments; the first of them leads. -1: not in a group.
  int group = -1;
  // A :S or :W of a group is set on all its events; :D and :e of a group on its leader alone, which is what counts.
  bool leader_samples = false;  // :S, the leader alone samples and reads the others' counts
  bool weak_group = false;      // :W, the group is broken up where it does not fit the machine

  // "name/freq=199/", "name/period=1000/": its own rate instead of the recording's.
  std::optional<uint64_t> frequency;
  std::optional<uint64_t> period;

  // Samples carry the address, the size of its page, and what became of it (abi/fault_record.h): for page faults that
  // were handled.
  bool tells_page = false;

  // A PMU that counts for a whole socket is read on these CPUs alone. Empty: on every CPU.
  std::vector<int> cpus;
  std::string filter;  // for a tracepoint, the kernel's filter expression
  // perf has no samples of it: they are made by a collector of ours, under its name and number. It is opened once.
  bool collected = false;

  bool tracepoint() const;
  bool hardware() const;
  bool bpf_output() const;
  bool breakpoint() const;
};

}  // namespace tephra::kernel
