#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "kernel/trial.h"

namespace tephra::kernel {

// What of BPF this kernel gives this user, found by loading the smallest program of each kind. Nothing is attached, and
// everything that was loaded is closed again.
struct BpfTrials {
  struct Row {
    std::string name;  // stable: "perf_event", "tp_btf", "ring_buffer", …
    Trial trial;
  };
  std::vector<Row> programs;
  std::vector<Row> features;

  // Null where no trial of that name was made.
  const Trial* find(const std::string& name) const;
};

// `btf`: the kernel's description of its types (/sys/kernel/btf/vmlinux), empty where it has none.
BpfTrials try_bpf(base::Bytes btf);

}  // namespace tephra::kernel
