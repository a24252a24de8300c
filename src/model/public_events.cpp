#include "model/public_events.h"

#include <algorithm>
#include <array>
#include <string>

namespace tephra::model {
namespace {

using Words = std::string_view;

// Software and hardware counters by the names that perf has for them, and what is measured of waiting, each between
// spaces.
constexpr Words kCounters =
    " alignment-faults bpf-output branch-instructions branch-misses branches bus-cycles cache-misses "
    "cache-references cgroup-switches context-switches cpu-clock cpu-cycles cpu-migrations cs cycles dummy "
    "duration_time emulation-faults faults idle-cycles-backend idle-cycles-frontend instructions major-faults "
    "migrations minor-faults offcpu-time page-faults ref-cycles run-time samples stalled-cycles-backend "
    "stalled-cycles-frontend task-clock tcp tcp-bytes tcp-connect-time tcp-events wakers wall-clock ";

constexpr std::array<Words, 7> kCaches{"L1-dcache", "L1-icache", "LLC", "branch", "dTLB", "iTLB", "node"};
constexpr Words kCacheActions =
    " load-misses load-refs loads misses prefetch-misses prefetch-refs prefetches refs speculative-reads "
    "store-misses store-refs stores ";

// The groups of tracepoints in Linux's own sources, each between spaces.
constexpr Words kKernelGroups =
    " 9p afs alarmtimer amd_cpu amdgpu amdgpu_dm asoc ata ath10k ath11k ath6kl avc bcache binder block "
    "bpf_test_run bpf_trace brcmfmac bridge btrfs cachefiles capability ceph cfg80211 cgroup cifs clk cma "
    "compaction context_tracking cpufreq_interactive cpuhp cros_ec csd cxl damon dev devfreq devlink dlm dma "
    "dma_fence dpaa drm dwc3 erofs error_report exceptions ext4 f2fs fib fib6 filelock filemap fs_dax fscache "
    "fsi fsverity ftrace fuse gadget gfs2 gpio gpu_scheduler handshake hda hda_controller hda_intel hfi1 "
    "host1x hswadsp huge_memory hugetlbfs hwmon hyperv i2c i40e i915 iavf ib_mad ib_umad ice icmp initcall "
    "intel-sst intel_iommu interconnect io_uring iocost iomap iommu ipi irq irq_matrix irq_vectors iwlwifi "
    "iwlwifi_data iwlwifi_io iwlwifi_msg iwlwifi_ucode jbd2 kmem ksm kvm kvm_hv kvm_s390 kvmmmu kyber libata "
    "lock mac80211 mac802154 maple_tree mce mctp mdio mei memcg migrate mmap mmap_lock mmc module mptcp msr "
    "musb napi nbd neigh net netfs netlink nfs nfs4 nfsd nilfs2 nmi notifier nvme nvme_tcp nvmet objagg ocfs2 "
    "oom optee page_isolation page_pool pagemap panfrost pci percpu power powerpc preemptirq printk pwm qdisc "
    "qrtr ras raw_syscalls rcu rdma_core readahead regmap regulator rpcgss rpcrdma rpm rpmh rseq rtc rv rxrpc "
    "s390 sched sched_ext scmi scsi sctp signal siw skb smbus sock sof spi spmi sunrpc swiotlb sync_trace "
    "syscalls task tcp tegra_apb_dma thermal thermal_power_allocator thermal_pressure thp timer "
    "timer_migration timestamp tlb tls tpm ucsi udc udp ufs v4l2 vb2 vc4 vgpu virtio_gpu virtio_net vmalloc "
    "vmscan vsock vsyscall watchdog wbt workqueue writeback x86_fpu xdp xe xen xfs xhci-hcd ";

// Whether a list of words between spaces has this one.
bool has_word(Words list, Words word) {
  return !word.empty() && word.find(' ') == Words::npos && list.find(" " + std::string(word) + " ") != Words::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_hex(Words text) { return !text.empty() && std::ranges::all_of(text, is_hex_digit); }
bool is_number(Words text) {
  if (text.starts_with("0x")) return is_hex(text.substr(2));
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// "#2" behind the name of an event that was recorded twice.
Words without_count(Words name) {
  const size_t mark = name.rfind('#');
  return mark != Words::npos && is_number(name.substr(mark + 1)) ? name.substr(0, mark) : name;
}

// "cycles:upp", "cpu/event=0x3c/u" and the like.
Words without_modifiers(Words name) {
  const size_t mark = name.find_last_of(":/");
  if (mark == Words::npos || name.find_first_not_of("ukhGHIpPSDWeb", mark + 1) != Words::npos) return name;
  return name.substr(0, name[mark] == '/' ? mark + 1 : mark);
}

bool is_cache_event(Words name) {
  return std::ranges::any_of(kCaches, [&](Words cache) {
    return name.starts_with(cache) && name.substr(cache.size()).starts_with('-') &&
           has_word(kCacheActions, name.substr(cache.size() + 1));
  });
}

// "event=0x3c" or "mem-loads"; terms with other values, such as name=…, hold what a user wrote.
bool is_pmu_term(Words term) {
  const size_t equals = term.find('=');
  if (equals != Words::npos) return is_number(term.substr(equals + 1));
  return std::ranges::all_of(term, [](char c) { return is_word_character(c) || c == '-' || c == '.'; });
}

// "cpu/event=0x3c,umask=1/"
bool is_pmu_event(Words name) {
  const size_t slash = name.find('/');
  if (slash == 0 || slash == Words::npos || !name.ends_with('/') || slash + 1 >= name.size()) return false;
  // The terms of these are code and places in it.
  const Words pmu = name.substr(0, slash);
  if (!std::ranges::all_of(pmu, is_word_character) || pmu == "kprobe" || pmu == "uprobe") return false;
  Words terms = name.substr(slash + 1, name.size() - slash - 2);
  while (!terms.empty()) {
    const size_t comma = terms.find(',');
    if (!is_pmu_term(terms.substr(0, comma))) return false;
    terms = comma == Words::npos ? Words() : terms.substr(comma + 1);
  }
  return true;
}

bool is_kernel_tracepoint(Words name) {
  const size_t colon = name.find(':');
  return colon != Words::npos && has_word(kKernelGroups, name.substr(0, colon)) &&
         std::ranges::all_of(name.substr(colon + 1), is_word_character);
}

// How events are called that nothing names: "r1a8", "type:1:0x63".
bool is_numbers(Words name) {
  if (name.starts_with('r')) return is_hex(name.substr(1));
  if (!name.starts_with("type:")) return false;
  name.remove_prefix(5);
  const size_t colon = name.find(':');
  return colon != Words::npos && is_number(name.substr(0, colon)) && is_number(name.substr(colon + 1));
}

}  // namespace

bool is_public_event(Words name) {
  name = without_count(name);
  if (is_kernel_tracepoint(name)) return true;
  name = without_modifiers(name);
  return has_word(kCounters, name) || is_cache_event(name) || is_numbers(name) || is_pmu_event(name) ||
         is_kernel_tracepoint(name);
}

}  // namespace tephra::model
