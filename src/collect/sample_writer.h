#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"

namespace tephra::collect {

// A sample of our own making.
struct MadeSample {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
  uint16_t walk_end = 0;            // as in misc: abi/walk_end.h, shifted
  std::span<const uint64_t> chain;  // with perf's marks
  base::Bytes raw;
  std::span<const uint64_t> registers;  // by the mask of the event; empty: none
  base::Bytes stack;                    // a copy of the user stack
};

// Writes samples of an event as the kernel would: the fields that its attributes name, of those that sampling_attr()
// asks for of an event that is collected.
class SampleWriter {
 public:
  SampleWriter(const perf_event_attr& attr, uint64_t identifier) : attr_(attr), identifier_(identifier) {}

  // False: the sample is too long for a record; nothing was written.
  bool write(const MadeSample& sample, std::string& records) const;

  uint64_t register_mask() const { return attr_.sample_regs_user; }
  bool has_copies() const { return (attr_.sample_type & PERF_SAMPLE_STACK_USER) != 0; }

 private:
  perf_event_attr attr_;
  uint64_t identifier_;
};

}  // namespace tephra::collect
