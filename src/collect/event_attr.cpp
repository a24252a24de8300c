#include "collect/event_attr.h"
#include "kernel/procfs.h"

#include <time.h>

#include <algorithm>

namespace tephra::collect {
namespace {

constexpr uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

perf_event_attr common_attr(const kernel::AttrSupport& support) {
  perf_event_attr attr = kernel::empty_attr();
  attr.sample_type = kSampleType;
  attr.read_format = PERF_FORMAT_ID;
  if (support.read_lost) attr.read_format |= PERF_FORMAT_LOST;
  attr.sample_id_all = 1;
  attr.disabled = 1;
  // One clock for all that tephra records: that of BPF and of jitdump.
  if (support.clockid) {
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
  }
  return attr;
}

uint16_t stack_depth(const SampleSettings& settings) {
  const long limit = kernel::sysctl_number("kernel/perf_event_max_stack").value_or(0);
  const bool known = limit > 0 && limit <= UINT16_MAX;
  // Stated, so that readers know a stack of that depth was cut.
  if (!settings.max_stack) return known ? static_cast<uint16_t>(limit) : 0;
  return known ? static_cast<uint16_t>(std::min<long>(*settings.max_stack, limit)) : *settings.max_stack;
}

void set_call_graph(perf_event_attr& attr, const SampleSettings& settings) {
  if (settings.call_graph == CallGraph::kNone) return;
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  attr.sample_max_stack = stack_depth(settings);
  attr.exclude_callchain_user = !settings.user_stacks;
  attr.exclude_callchain_kernel = !settings.kernel_stacks;
  if (settings.call_graph == CallGraph::kDwarf || settings.call_graph == CallGraph::kBpf) {
    attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.sample_regs_user = unwind_registers();
    attr.sample_stack_user = settings.stack_bytes;
    attr.exclude_callchain_user = 1;
  }
  if (settings.call_graph == CallGraph::kBpf) {
    // The samples say themselves whether a stack was cut.
    attr.sample_max_stack = 0;
    attr.sample_stack_user = settings.check_walks ? kMaxStackBytes : kStartStackBytes;
    // The registers must be those of the moment that the stack is walked in.
    attr.precise_ip = 0;
  }
  if (settings.call_graph == CallGraph::kBranches) {
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES |
                              PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX;
    // The chain must keep its user part: readers put the branches in the place of what follows that mark.
  }
}

void set_modes(perf_event_attr& attr, const kernel::EventSpec& event, const SampleSettings& settings) {
  attr.exclude_user = event.exclude_user || (!event.modes_given && !settings.user_code);
  attr.exclude_kernel = event.exclude_kernel || (!event.modes_given && !settings.kernel_code);
  attr.exclude_hv = event.exclude_hypervisor || (!event.modes_given && !settings.kernel_code);
  attr.exclude_idle = event.exclude_idle;
  attr.exclude_guest = event.exclude_guest;
  attr.exclude_host = event.exclude_host;
}

// What each sample carries besides the common fields and its stack.
void set_content(perf_event_attr& attr, const kernel::EventSpec& event, const SampleSettings& settings) {
  const auto add = [&attr](bool wanted, uint64_t field) {
    if (wanted) attr.sample_type |= field;
  };
  add(event.tracepoint() || event.bpf_output() || settings.raw, PERF_SAMPLE_RAW);
  add(settings.addresses || settings.physical_addresses || event.breakpoint(), PERF_SAMPLE_ADDR);
  add(settings.addresses, PERF_SAMPLE_DATA_SRC);
  add(settings.physical_addresses, PERF_SAMPLE_PHYS_ADDR);
  add(settings.data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_ADDR);
  add(event.tells_page, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_RAW);
  add(settings.code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE);
  add(settings.weights, PERF_SAMPLE_WEIGHT_STRUCT);
  add(settings.cgroups, PERF_SAMPLE_CGROUP);
  if (settings.branch_types != 0) {
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = settings.branch_types | PERF_SAMPLE_BRANCH_HW_INDEX;
  }
  if (event.leader_samples) {
    attr.sample_type |= PERF_SAMPLE_READ;
    attr.read_format |= PERF_FORMAT_GROUP;
  }
  if (settings.thread_counts) {
    attr.inherit_stat = settings.inherit;
    attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  }
}

}  // namespace

void set_rate(perf_event_attr& attr, const kernel::EventSpec& event, const SampleSettings& settings) {
  if (event.collected) {  // what each sample weighs is in it
    attr.freq = 0;
    attr.sample_period = 1;
    attr.sample_type |= PERF_SAMPLE_PERIOD;
    return;
  }
  const bool own = event.period || event.frequency;
  const auto period = own ? event.period : settings.period;
  const auto frequency = own ? event.frequency : settings.frequency;
  attr.freq = 0;
  // With it in the sample and a fixed period, the kernel samples every single software event.
  attr.sample_type |= PERF_SAMPLE_PERIOD;
  if (period) {
    attr.sample_period = *period;
    attr.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_PERIOD);
  } else if (frequency || !(event.tracepoint() || event.breakpoint())) {
    attr.freq = 1;
    attr.sample_freq = frequency.value_or(settings.default_frequency);
  } else {
    attr.sample_period = 1;  // every hit, with what it weighs
  }
}

perf_event_attr sampling_attr(const kernel::EventSpec& event, const SampleSettings& settings,
                              const kernel::AttrSupport& support) {
  perf_event_attr attr = common_attr(support);
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.bp_type = event.breakpoint_type;
  attr.precise_ip = event.precise;
  attr.pinned = event.pinned;
  attr.exclusive = event.exclusive;
  attr.inherit = settings.inherit;
  set_modes(attr, event, settings);
  set_rate(attr, event, settings);
  set_call_graph(attr, settings);
  set_content(attr, event, settings);
  return attr;
}

perf_event_attr dummy_attr(bool inherit, const kernel::AttrSupport& support) {
  perf_event_attr attr = common_attr(support);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_period = 1;
  attr.inherit = inherit;
  // It sees no code at all, so it needs no right to see the kernel's.
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

bool needs_data_maps(const SampleSettings& settings) {
  return settings.call_graph == CallGraph::kDwarf || settings.addresses || settings.physical_addresses;
}

void add_side_band(perf_event_attr& attr, const SampleSettings& settings, const kernel::AttrSupport& support) {
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.mmap_data = needs_data_maps(settings);
  attr.comm = 1;
  attr.task = 1;
  attr.comm_exec = support.comm_exec;
  attr.ksymbol = support.ksymbol;
  attr.bpf_event = support.bpf_event;
  attr.build_id = support.build_id && settings.build_ids;
  attr.context_switch = settings.switches;
  attr.namespaces = settings.namespaces;
  attr.cgroup = settings.cgroups;
}

uint64_t unwind_registers() {
#if defined(__x86_64__)
  return 0xff0fff;  // all but the segment registers, which the kernel does not give
#elif defined(__aarch64__)
  return 0x1ffffffff;  // x0 to x30, sp, pc
#else
  return 0;
#endif
}

}  // namespace tephra::collect
