#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "analysis/health.h"

namespace tephra::analysis {
namespace {

using kernel::MachineFacts;
using kernel::Trial;
using Level = Finding::Level;

constexpr const char* kAsRoot = "run as root or with CAP_PERFMON";

Finding good(std::string topic, std::string what) { return {std::move(topic), Level::kGood, std::move(what), "", ""}; }

Finding limited(std::string topic, std::string what, std::string lost, std::string fix) {
  return {std::move(topic), Level::kLimited, std::move(what), std::move(lost), std::move(fix)};
}

Finding missing(std::string topic, std::string what, std::string lost, std::string fix) {
  return {std::move(topic), Level::kMissing, std::move(what), std::move(lost), std::move(fix)};
}

std::string setting_fix(std::string_view assignment) { return fmt::format("as root: sysctl kernel.{}", assignment); }

// The kernel itself refuses with EACCES; these two come from a filter in front of it.
bool refused_by_filter(const Trial& trial, const MachineFacts& facts) {
  return facts.user.seccomp_filter && (trial.error == EPERM || trial.error == ENOSYS);
}

std::string container_fix(const MachineFacts& facts) {
  const std::string& kind = facts.user.container.kind;
  if (kind == "docker" || kind == "podman") {
    return fmt::format("{} run --cap-add PERFMON --security-opt seccomp=unconfined …, or profile from the host", kind);
  }
  if (kind == "kubernetes") {
    return "in the pod: seccompProfile type Unconfined and capability PERFMON, or profile from the node";
  }
  return "let the filter pass perf_event_open, or profile from outside of it";
}

// ---- events

Finding no_events(const MachineFacts& facts) {
  const Trial& trial = facts.events.user;
  const long paranoid = facts.settings.paranoid.value_or(2);
  const char* lost = "every profile of the CPU";
  if (refused_by_filter(trial, facts)) {
    return missing("cpu profiles", fmt::format("a seccomp filter refuses perf_event_open ({})", trial.reason), lost,
                   container_fix(facts));
  }
  if (trial.error == ENOSYS) {
    return missing("cpu profiles", "this kernel has no perf events", lost, "boot a kernel with CONFIG_PERF_EVENTS=y");
  }
  if (!facts.user.perfmon && paranoid > 2) {
    return missing("cpu profiles", fmt::format("perf_event_paranoid is {}: this user gets no events at all", paranoid),
                   lost, setting_fix("perf_event_paranoid=1"));
  }
  const std::string modules =
      facts.security_modules.empty() ? "" : fmt::format("; security modules: {}", facts.security_modules);
  return missing("cpu profiles", fmt::format("the kernel refuses events: {}{}", trial.reason, modules), lost,
                 facts.user.perfmon ? "look for the refusal in the audit log (SELinux: class perf_event)" : kAsRoot);
}

void judge_events(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& events = facts.events;
  if (!events.user.works) {
    out.push_back(no_events(facts));
    return;
  }
  const bool others = facts.user.perfmon || facts.user.ptrace;
  out.push_back(good("cpu profiles", others ? "of every process" : "of your own processes"));
  const long paranoid = facts.settings.paranoid.value_or(2);
  const std::string why =
      facts.user.perfmon ? events.kernel.reason : fmt::format("perf_event_paranoid is {}", paranoid);
  if (events.kernel.works) {
    out.push_back(good("kernel code", "sampled, with its stacks"));
  } else {
    out.push_back(limited("kernel code", "not sampled: " + why, "what programs do inside the kernel",
                          setting_fix("perf_event_paranoid=1") + ", or " + kAsRoot));
  }
  if (events.every_process.works) {
    out.push_back(good("whole machine", "tephra profile -a works"));
  } else {
    out.push_back(limited("whole machine", "tephra profile -a is refused: " + why, "profiles of all CPUs, -a and -C",
                          setting_fix("perf_event_paranoid=0") + ", or " + kAsRoot));
  }
  if (!others) {
    out.push_back(limited("other users", "their processes are not yours to profile",
                          "-p with a process of another user", kAsRoot));
  }
}

void judge_counters(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& events = facts.events;
  if (!events.user.works) return;
  const char* lost = "cycles, instructions, cache misses; profiles sample cpu-clock instead";
  const bool is_virtual = facts.virtual_machine.hypervisor;
  if (events.cycles.works && events.cycles_count) {
    out.push_back(good("hardware counters", "cycles are counted"));
    if (facts.settings.nmi_watchdog.value_or(0) == 1) {
      out.push_back(limited("nmi watchdog", "it holds one hardware counter of every CPU",
                            "one event fewer at a time before events must take turns", setting_fix("nmi_watchdog=0")));
    }
    return;
  }
  const std::string fix = is_virtual
                              ? "on the host: give the machine a virtual PMU (QEMU: -cpu host,pmu=on), or use an "
                                "instance type that has one"
                              : "look in dmesg for why the kernel found no PMU driver";
  if (events.cycles.works) {
    out.push_back(limited("hardware counters", "the kernel accepts cycles and never counts one", lost, fix));
    return;
  }
  out.push_back(limited("hardware counters",
                        is_virtual ? "this virtual machine has none" : "none here: " + events.cycles.reason, lost,
                        fix));
}

// ---- names and places in the kernel

void judge_kernel_names(const MachineFacts& facts, std::vector<Finding>& out) {
  if (facts.kernel_addresses) {
    out.push_back(good("kernel names", "/proc/kallsyms shows addresses"));
    return;
  }
  const long restrict = facts.settings.kptr_restrict.value_or(0);
  const long paranoid = facts.settings.paranoid.value_or(2);
  const char* lost = "names of kernel functions";
  if (restrict >= 2) {
    out.push_back(limited("kernel names", "kptr_restrict is 2: addresses are hidden from everybody", lost,
                          setting_fix("kptr_restrict=") + (facts.user.syslog ? "1" : "0")));
  } else if (restrict == 1) {
    out.push_back(limited("kernel names", "kptr_restrict is 1: addresses are hidden from this user", lost,
                          setting_fix("kptr_restrict=0") + (paranoid > 1 ? " kernel.perf_event_paranoid=1" : "") +
                              ", or run as root or with CAP_SYSLOG"));
  } else {
    out.push_back(limited("kernel names", fmt::format("addresses are hidden: perf_event_paranoid is {}", paranoid),
                          lost, setting_fix("perf_event_paranoid=1") + ", or run as root or with CAP_SYSLOG"));
  }
}

void judge_tracepoints(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& tracefs = facts.tracefs;
  const char* lost = "tracepoints by name (-e sched:sched_switch)";
  if (!tracefs.in_kernel && tracefs.mounted_at.empty()) {
    out.push_back(limited("tracepoints", "this kernel has no tracefs", lost, "boot a kernel with CONFIG_TRACING=y"));
    return;
  }
  if (tracefs.mounted_at.empty()) {
    const std::string mounts = facts.user.uid == 0 ? "; tephra mounts it when a tracepoint is asked for" : "";
    out.push_back(limited("tracepoints", "tracefs is not mounted" + mounts, lost,
                          "as root: mount -t tracefs nodev /sys/kernel/tracing"));
    return;
  }
  if (!tracefs.readable) {
    out.push_back(limited("tracepoints", tracefs.mounted_at + " is not yours to read", lost,
                          fmt::format("as root: mount -o remount,mode=755 {}", tracefs.mounted_at)));
    return;
  }
  const long paranoid = facts.settings.paranoid.value_or(2);
  if (!facts.user.perfmon && paranoid >= 0) {
    out.push_back(limited("tracepoints", fmt::format("perf_event_paranoid is {}", paranoid),
                          "tracepoints with their fields", setting_fix("perf_event_paranoid=-1") + ", or " + kAsRoot));
    return;
  }
  out.push_back(good("tracepoints", tracefs.mounted_at + " can be read"));
}

void judge_lockdown(const MachineFacts& facts, std::vector<Finding>& out) {
  if (facts.lockdown == "confidentiality") {
    out.push_back(limited("lockdown", "the kernel is locked down for confidentiality",
                          "kprobes, tracefs, and BPF programs that read kernel memory",
                          "boot with lockdown=integrity, or without Secure Boot"));
  } else if (facts.lockdown == "integrity") {
    out.push_back(good("lockdown", "integrity, which lets profiling be"));
  }
}

// ---- BPF

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What is refused and what works of the trials; a kprobe program without kprobes to attach it to is refused.
struct BpfSummary {
  std::vector<std::string> works;
  std::vector<std::string> refused;  // with the reason
  size_t not_permitted = 0;
};

BpfSummary summarize_bpf(const MachineFacts& facts) {
  BpfSummary summary;
  for (const auto* rows : {&facts.bpf.programs, &facts.bpf.features}) {
    for (const auto& [name, trial] : *rows) {
      if (name == "kprobe" && trial.works && !facts.events.has_source("kprobe")) {
        summary.refused.push_back("kprobe (the kernel has none)");
      } else if (trial.works) {
        summary.works.push_back(name);
      } else {
        summary.refused.push_back(fmt::format("{} ({})", name, trial.reason));
        summary.not_permitted += trial.error == EPERM || trial.error == EACCES;
      }
    }
  }
  return summary;
}

void judge_bpf(const MachineFacts& facts, std::vector<Finding>& out) {
  if (facts.btf) {
    out.push_back(good("btf", "/sys/kernel/btf/vmlinux describes the kernel's types"));
  } else {
    out.push_back(limited("btf", "the kernel does not describe its types", "BPF programs of kinds tp_btf and fentry",
                          "boot a kernel with CONFIG_DEBUG_INFO_BTF=y"));
  }
  const BpfSummary summary = summarize_bpf(facts);
  if (!summary.works.empty()) out.push_back(good("bpf", joined(summary.works)));
  if (summary.refused.empty()) return;
  if (!summary.works.empty()) {
    out.push_back(limited("bpf refused", joined(summary.refused), "BPF programs of these kinds",
                          "not needed for CPU profiles; else a kernel that has them"));
    return;
  }
  const Trial* first = facts.bpf.find("perf_event");
  const bool capable = facts.user.bpf && facts.user.perfmon;
  const char* lost = "everything that runs in the kernel: in-kernel stacks and sums";
  if (first != nullptr && first->error == ENOSYS && !facts.user.seccomp_filter) {
    out.push_back(missing("bpf", "this kernel has no BPF", lost, "boot a kernel with CONFIG_BPF_SYSCALL=y"));
  } else if (first != nullptr && refused_by_filter(*first, facts) && capable) {
    out.push_back(
        missing("bpf", fmt::format("a seccomp filter refuses it ({})", first->reason), lost, container_fix(facts)));
  } else if (!capable) {
    out.push_back(
        missing("bpf", "this user may not load programs", lost, "run as root or with CAP_BPF and CAP_PERFMON"));
  } else {
    out.push_back(missing("bpf", joined(summary.refused), lost, "look for the refusal in dmesg and the audit log"));
  }
}

// ---- limits

constexpr long kUsualRate = 4000;  // of tephra record
constexpr long kUsualStack = 127;
constexpr long kUsualLockedKb = 516;  // a ring of 512 KiB and its control page
constexpr uint64_t kFewFiles = 4096;

void judge_limits(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& settings = facts.settings;
  const size_t before = out.size();
  if (facts.limits.open_files_most < kFewFiles) {
    out.push_back(limited("open files", fmt::format("at most {}", facts.limits.open_files_most),
                          fmt::format("processes of more than about {} threads: each takes one for each event and CPU",
                                      facts.limits.open_files_most / std::max<size_t>(1, facts.cpus)),
                          "ulimit -Hn 65536 as root, or LimitNOFILE= of the service"));
  }
  if (const long kb = settings.mlock_kb.value_or(kUsualLockedKb);
      !facts.user.perfmon && kb < kUsualLockedKb && facts.limits.locked_bytes < (64u << 20)) {
    out.push_back(limited("ring memory", fmt::format("perf_event_mlock_kb is {}", kb),
                          "room for bursts: rings are smaller and lose samples sooner",
                          setting_fix("perf_event_mlock_kb=516")));
  }
  if (const long rate = settings.max_sample_rate.value_or(kUsualRate); rate < kUsualRate) {
    out.push_back(limited("sample rate", fmt::format("the kernel allows {} samples a second", rate),
                          fmt::format("tephra record takes {} a second where it may", kUsualRate),
                          setting_fix("perf_event_max_sample_rate=100000")));
  }
  // 0 and 100: no throttling by time.
  if (const long percent = settings.cpu_time_percent.value_or(25); percent > 0 && percent < 10) {
    out.push_back(limited("sample time", fmt::format("sampling may take {} % of a CPU", percent),
                          "samples, when the kernel throttles early", setting_fix("perf_cpu_time_max_percent=25")));
  }
  const long stack = settings.max_stack.value_or(kUsualStack);
  if (stack < kUsualStack) {
    out.push_back(limited("stack depth", fmt::format("stacks are cut at {} frames", stack),
                          "the outermost callers of deeper stacks", setting_fix("perf_event_max_stack=127")));
  }
  if (out.size() != before) return;
  out.push_back(good("limits", fmt::format("{} open files, {} samples a second, stacks of {} frames",
                                           facts.limits.open_files_most, settings.max_sample_rate.value_or(0), stack)));
}

// ---- the rest of the machine

void judge_clock(const MachineFacts& facts, std::vector<Finding>& out) {
  static constexpr std::array kSlow{"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
  const std::string& source = facts.clock.source;
  if (source.empty()) return;
  if (std::find(kSlow.begin(), kSlow.end(), source) == kSlow.end()) {
    out.push_back(good("clock", source));
    return;
  }
  const auto& all = facts.clock.available;
  const bool has_tsc = std::find(all.begin(), all.end(), "tsc") != all.end();
  out.push_back(limited(
      "clock", fmt::format("{}{}", source, has_tsc ? "" : "; the kernel holds the TSC for unstable"),
      "speed: each sample reads the time, which takes microseconds from this clock",
      has_tsc ? "as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
              : "look in dmesg for 'tsc'; tsc=reliable on the kernel's command line, if the hardware is sound"));
}

void judge_place(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& user = facts.user;
  if (user.pid_namespace) {
    const std::string in =
        user.container.kind.empty() ? "a PID namespace" : "a container (" + user.container.kind + ")";
    out.push_back(limited("container", "this runs in " + in, "processes outside of it are not seen",
                          "run on the host, or in a container with --pid=host"));
  } else if (!user.container.kind.empty()) {
    out.push_back(good("container", user.container.kind + ", with the machine's processes in sight"));
  }
  if (user.user_namespace) {
    out.push_back(limited("user namespace", "this runs in one, so being root in it counts for nothing here",
                          "all that needs root", "run outside of it (rootless containers are one)"));
  }
  if (const long scope = facts.settings.ptrace_scope.value_or(0); scope > 0 && (!user.ptrace || scope == 3)) {
    out.push_back(limited("attaching", fmt::format("yama ptrace_scope is {}", scope),
                          "entering running processes, as debuggers do; sampling them works all the same",
                          scope == 3 ? "boot without it: 3 cannot be lowered" : setting_fix("yama.ptrace_scope=0")));
  }
}

void judge_cgroups(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& cgroups = facts.cgroups;
  if (!cgroups.v2_at.empty()) {
    out.push_back(good("control groups", "version 2 at " + cgroups.v2_at));
  } else if (cgroups.v1_perf_event) {
    out.push_back(good("control groups", "version 1, with perf_event"));
  } else {
    out.push_back(limited(
        "control groups", cgroups.v1 ? "version 1 without perf_event" : "not mounted", "events of one control group",
        "as root: mount -t cgroup2 cgroup2 /sys/fs/cgroup, or systemd.unified_cgroup_hierarchy=1 at boot"));
  }
}

void judge_virtual_machine(const MachineFacts& facts, std::vector<Finding>& out) {
  const auto& machine = facts.virtual_machine;
  constexpr double kMuch = 0.02;
  if (!machine.hypervisor) return;
  const std::string what =
      fmt::format("the host took {} % of the CPU time since boot",
                  machine.stolen_share < 0.001 ? "under 0.1" : fmt::format("{:.1f}", machine.stolen_share * 100));
  if (machine.stolen_share < kMuch) {
    out.push_back(good("virtual machine", what));
  } else {
    out.push_back(limited("virtual machine", what, "even times: code that was paused looks slow",
                          "a host with less load, or CPUs of its own"));
  }
}

}  // namespace

std::string_view level_name(Finding::Level level) {
  switch (level) {
    case Level::kGood:
      return "good";
    case Level::kLimited:
      return "limited";
    case Level::kMissing:
      return "missing";
  }
  return "";
}

bool cpu_profiling_works(const MachineFacts& facts) { return facts.events.user.works; }

std::vector<Finding> judge_machine(const MachineFacts& facts) {
  std::vector<Finding> out;
  judge_events(facts, out);
  judge_counters(facts, out);
  judge_kernel_names(facts, out);
  judge_tracepoints(facts, out);
  judge_bpf(facts, out);
  judge_lockdown(facts, out);
  judge_limits(facts, out);
  judge_clock(facts, out);
  judge_cgroups(facts, out);
  judge_virtual_machine(facts, out);
  judge_place(facts, out);
  return out;
}

}  // namespace tephra::analysis
