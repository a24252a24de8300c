#pragma once

#include <cstdint>

namespace tephra::stream {

// The parts of perf_event_attr that decide how records are laid out and what they mean, in perf's own bits.
struct EventLayout {
  uint32_t type = 0;  // PERF_TYPE_*
  uint64_t config = 0;
  uint64_t sample_type = 0;  // PERF_SAMPLE_*
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t sample_regs_user = 0;
  uint64_t sample_regs_intr = 0;
  uint32_t sample_stack_user = 0;
  uint16_t sample_max_stack = 0;  // 0: the kernel's default
  uint64_t sample_period_or_frequency = 0;
  bool frequency = false;
  bool inherit = false;
  bool sample_id_all = false;
  bool exclude_kernel = false;
  bool exclude_user = false;
  bool exclude_callchain_user = false;
  bool exclude_callchain_kernel = false;
  bool build_ids = false;  // MMAP2 records carry build ids
  bool use_clockid = false;
  int32_t clockid = -1;
};

}  // namespace tephra::stream
