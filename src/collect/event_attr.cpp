#include "collect/event_attr.h"
#include "kernel/procfs.h"

#include <time.h>

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

void set_rate(perf_event_attr& attr, const kernel::EventSpec& event, const SampleSettings& settings) {
  if (settings.period) {
    attr.sample_period = *settings.period;
  } else if (settings.frequency || !event.tracepoint()) {
    attr.freq = 1;
    attr.sample_freq = settings.frequency.value_or(settings.default_frequency);
  } else {
    attr.sample_period = 1;  // every hit of a tracepoint
  }
}

void set_call_graph(perf_event_attr& attr, const SampleSettings& settings) {
  if (settings.call_graph == CallGraph::kNone) return;
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  // Stated, so that readers know a stack of that depth was cut.
  const long depth = kernel::sysctl_number("kernel/perf_event_max_stack").value_or(0);
  if (depth > 0 && depth <= UINT16_MAX) attr.sample_max_stack = static_cast<uint16_t>(depth);
  if (settings.call_graph != CallGraph::kDwarf) return;
  attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = unwind_registers();
  attr.sample_stack_user = settings.stack_bytes;
  attr.exclude_callchain_user = 1;
}

}  // namespace

perf_event_attr sampling_attr(const kernel::EventSpec& event, const SampleSettings& settings,
                              const kernel::AttrSupport& support) {
  perf_event_attr attr = common_attr(support);
  attr.type = event.type;
  attr.config = event.config;
  attr.exclude_user = event.exclude_user;
  attr.exclude_kernel = event.exclude_kernel;
  attr.exclude_hv = event.exclude_hypervisor;
  attr.precise_ip = event.precise;
  attr.inherit = settings.inherit;
  if (event.tracepoint() || event.bpf_output()) attr.sample_type |= PERF_SAMPLE_RAW;
  set_rate(attr, event, settings);
  set_call_graph(attr, settings);
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

void add_side_band(perf_event_attr& attr, bool data_maps, const kernel::AttrSupport& support) {
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.mmap_data = data_maps;
  attr.comm = 1;
  attr.task = 1;
  attr.comm_exec = support.comm_exec;
  attr.ksymbol = support.ksymbol;
  attr.bpf_event = support.bpf_event;
  attr.build_id = support.build_id;
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
