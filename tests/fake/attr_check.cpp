#include "attr_check.h"

#include <time.h>

#include <cerrno>
#include <cstring>

namespace tephra::fake {
namespace {

constexpr size_t kFlagsOffset = 40;
constexpr uint64_t kBranchModes = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
constexpr uint64_t kSegmentRegisters = 0xf000;  // DS, ES, FS, GS of x86, which it does not give
constexpr uint32_t kAttrBytesMin = PERF_ATTR_SIZE_VER0;
constexpr uint32_t kAttrBytesMax = 4096;

bool beyond(uint64_t value, int bits) { return bits < 64 && value >> bits != 0; }

int check_size(perf_event_attr& attr, const KernelAge& kernel) {
  if (attr.size == 0) attr.size = kAttrBytesMin;
  bool fits = attr.size >= kAttrBytesMin && attr.size <= kAttrBytesMax;
  // Bytes that the kernel does not know must be zero.
  if (fits) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&attr);
    for (size_t at = kernel.attr_bytes; at < std::min<size_t>(attr.size, sizeof attr); ++at) fits &= bytes[at] == 0;
  }
  if (fits) return 0;
  attr.size = kernel.attr_bytes;
  return E2BIG;
}

// What lies behind the size that the caller gave reads as zero.
void forget_beyond_size(perf_event_attr& attr) {
  if (attr.size < sizeof attr) std::memset(reinterpret_cast<char*>(&attr) + attr.size, 0, sizeof attr - attr.size);
}

int check_known(const perf_event_attr& attr, const KernelAge& kernel) {
  if (beyond(flags_of(attr), kernel.flag_bits)) return EINVAL;
  if (beyond(attr.sample_type, kernel.sample_bits)) return EINVAL;
  if (beyond(attr.read_format, kernel.read_bits)) return EINVAL;
  return 0;
}

int check_branches(perf_event_attr& attr, const KernelAge& kernel) {
  if ((attr.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0) {
    attr.branch_sample_type = 0;
    return 0;
  }
  if (beyond(attr.branch_sample_type, kernel.branch_bits)) return EINVAL;
  if ((attr.branch_sample_type & ~kBranchModes) == 0) return EINVAL;
  if ((attr.branch_sample_type & kBranchModes) == 0) {
    if (!attr.exclude_user) attr.branch_sample_type |= PERF_SAMPLE_BRANCH_USER;
    if (!attr.exclude_kernel) attr.branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
    if (!attr.exclude_hv) attr.branch_sample_type |= PERF_SAMPLE_BRANCH_HV;
  }
  return 0;
}

int check_registers(uint64_t mask) { return mask == 0 || (mask & kSegmentRegisters) != 0 ? EINVAL : 0; }

int check_sample_fields(const perf_event_attr& attr) {
  const uint64_t type = attr.sample_type;
  if (type & PERF_SAMPLE_REGS_USER && check_registers(attr.sample_regs_user) != 0) return EINVAL;
  if (type & PERF_SAMPLE_REGS_INTR && check_registers(attr.sample_regs_intr) != 0) return EINVAL;
  if (type & PERF_SAMPLE_STACK_USER && (attr.sample_stack_user >= UINT16_MAX || attr.sample_stack_user % 8 != 0)) {
    return EINVAL;
  }
  if (type & PERF_SAMPLE_WEIGHT && type & PERF_SAMPLE_WEIGHT_STRUCT) return EINVAL;
  return 0;
}

int check_combinations(const perf_event_attr& attr, const KernelAge& kernel) {
  if (!attr.inherit && attr.inherit_thread) return EINVAL;
  if (attr.remove_on_exec && attr.enable_on_exec) return EINVAL;
  if (attr.sigtrap && !attr.remove_on_exec) return EINVAL;
  if (attr.inherit && attr.sample_type & PERF_SAMPLE_READ) {
    if (!kernel.inherited_sample_read || (attr.sample_type & PERF_SAMPLE_TID) == 0) return EINVAL;
  }
  return 0;
}

int check_rate(const perf_event_attr& attr, const MachineConfig& config) {
  if (attr.freq) return attr.sample_freq > config.max_sample_rate ? EINVAL : 0;
  return attr.sample_period >> 63 != 0 ? EINVAL : 0;
}

int check_clock(const perf_event_attr& attr) {
  if (!attr.use_clockid) return 0;
  switch (attr.clockid) {
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
      return 0;
    case CLOCK_REALTIME:
    case CLOCK_BOOTTIME:
    case CLOCK_TAI:
      return uses_counter(attr) ? EINVAL : 0;  // these cannot be read where a counter interrupts
    default:
      return EINVAL;
  }
}

int check_rights(const perf_event_attr& attr, const MachineConfig& config) {
  if (config.privileged) return 0;
  const bool kernel = !attr.exclude_kernel || attr.sample_type & PERF_SAMPLE_PHYS_ADDR ||
                      attr.branch_sample_type & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV);
  if (kernel && config.paranoid > 1) return EACCES;
  const bool raw_tracepoint = attr.type == PERF_TYPE_TRACEPOINT && attr.sample_type & PERF_SAMPLE_RAW;
  return raw_tracepoint && config.paranoid > -1 ? EPERM : 0;
}

int check_cpu_pmu(const perf_event_attr& attr, const MachineConfig& config) {
  if (!config.pmu) return ENOENT;
  if (attr.type == PERF_TYPE_HARDWARE && (attr.config & UINT32_MAX) >= PERF_COUNT_HW_MAX) return EINVAL;
  if (attr.type == PERF_TYPE_HW_CACHE) {
    if ((attr.config & 0xff) >= PERF_COUNT_HW_CACHE_MAX || (attr.config >> 8 & 0xff) >= PERF_COUNT_HW_CACHE_OP_MAX ||
        (attr.config >> 16 & 0xff) >= PERF_COUNT_HW_CACHE_RESULT_MAX) {
      return EINVAL;
    }
    if ((attr.config & 0xff) == PERF_COUNT_HW_CACHE_NODE) return ENOENT;  // this machine has no such event
  }
  if (attr.precise_ip > config.max_precise) return EOPNOTSUPP;
  if (attr.precise_ip > 0 && !is_sampling(attr)) return EINVAL;
  if (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) {
    if (config.branches == 0) return EOPNOTSUPP;
    if (attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK && !config.branch_call_stacks) return EOPNOTSUPP;
  }
  return 0;
}

int check_software(const perf_event_attr& attr) {
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config >= PERF_COUNT_SW_MAX) return ENOENT;
  return attr.sample_type & PERF_SAMPLE_BRANCH_STACK ? EOPNOTSUPP : 0;
}

int check_uncore(const perf_event_attr& attr, const MachineConfig& config, bool task, int cpu) {
  if (!config.pmu) return ENOENT;
  if (is_sampling(attr) || task || cpu < 0 || attr.sample_type & PERF_SAMPLE_BRANCH_STACK) return EINVAL;
  if (attr.exclude_user || attr.exclude_kernel || attr.exclude_hv || attr.exclude_idle) return EINVAL;
  return 0;
}

}  // namespace

bool uses_counter(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE || attr.type == kCpuPmu;
}
bool is_uncore(const perf_event_attr& attr) { return attr.type == kUncorePmu; }
bool is_sampling(const perf_event_attr& attr) { return attr.sample_period != 0; }

uint64_t flags_of(const perf_event_attr& attr) {
  uint64_t flags = 0;
  std::memcpy(&flags, reinterpret_cast<const char*>(&attr) + kFlagsOffset, sizeof flags);
  return flags;
}

int check_attr(perf_event_attr& attr, const MachineConfig& config) {
  if (const int error = check_size(attr, config.kernel)) return error;
  forget_beyond_size(attr);
  if (const int error = check_known(attr, config.kernel)) return error;
  if (const int error = check_branches(attr, config.kernel)) return error;
  if (const int error = check_sample_fields(attr)) return error;
  if (const int error = check_combinations(attr, config.kernel)) return error;
  if (const int error = check_rights(attr, config)) return error;
  if (const int error = check_rate(attr, config)) return error;
  return check_clock(attr);
}

int check_pmu(const perf_event_attr& attr, const MachineConfig& config, bool task, int cpu) {
  if (uses_counter(attr)) return check_cpu_pmu(attr, config);
  if (is_uncore(attr)) return check_uncore(attr, config, task, cpu);
  if (attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT) return check_software(attr);
  if (attr.type == PERF_TYPE_BREAKPOINT) return attr.sample_type & PERF_SAMPLE_BRANCH_STACK ? EOPNOTSUPP : 0;
  return ENOENT;
}

}  // namespace tephra::fake
