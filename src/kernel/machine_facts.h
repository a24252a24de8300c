#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/bpf_trial.h"
#include "kernel/container_mark.h"
#include "kernel/event_trial.h"

namespace tephra::kernel {

// Who asks: what the kernel grants depends on it.
struct UserFacts {
  uint32_t uid = 0;
  // Capabilities that count: those of a user namespace of its own do not, for events and BPF.
  bool perfmon = false;         // CAP_PERFMON or CAP_SYS_ADMIN
  bool bpf = false;             // CAP_BPF or CAP_SYS_ADMIN
  bool ptrace = false;          // CAP_SYS_PTRACE
  bool syslog = false;          // CAP_SYSLOG
  bool user_namespace = false;  // not the machine's own
  bool pid_namespace = false;   // not the machine's own: only its own processes are seen
  bool seccomp_filter = false;
  ContainerMark container;
};

// Settings of /proc/sys; nothing where this kernel has no such setting.
struct KernelSettings {
  std::optional<long> paranoid;
  std::optional<long> kptr_restrict;
  std::optional<long> mlock_kb;
  std::optional<long> max_sample_rate;
  std::optional<long> cpu_time_percent;
  std::optional<long> max_stack;
  std::optional<long> nmi_watchdog;
  std::optional<long> ptrace_scope;
  std::optional<long> unprivileged_bpf_disabled;
};

struct TracefsFacts {
  bool in_kernel = false;  // the kernel has it
  std::string mounted_at;  // of the two usual places; empty: neither
  bool readable = false;   // its events are, by this user
};

struct ClockFacts {
  std::string source;                  // "tsc"
  std::vector<std::string> available;  // all that could be used
};

struct VirtualFacts {
  bool hypervisor = false;
  std::string vendor;       // as the machine's firmware names it; empty: unknown
  double stolen_share = 0;  // of the time since boot, taken by the host from CPUs that had work
};

struct LimitFacts {
  uint64_t open_files = 0;       // soft
  uint64_t open_files_most = 0;  // hard: what the soft one can be raised to
  uint64_t locked_bytes = 0;     // RLIMIT_MEMLOCK, soft
};

struct CgroupFacts {
  std::string v2_at;           // where the unified hierarchy is mounted; empty: nowhere
  bool v1 = false;             // any hierarchy of version 1 is
  bool v1_perf_event = false;  // the one that counts events is
};

// Everything about the machine and the user that decides what can be profiled.
struct MachineFacts {
  std::string release;  // of the kernel
  std::string machine;  // "x86_64"
  size_t cpus = 0;
  UserFacts user;
  KernelSettings settings;
  std::string lockdown;           // "none", "integrity", "confidentiality"; empty: the kernel has no lockdown
  std::string security_modules;   // "capability,yama,selinux"; empty: unknown
  bool kernel_addresses = false;  // /proc/kallsyms shows them to us
  bool btf = false;
  TracefsFacts tracefs;
  ClockFacts clock;
  VirtualFacts virtual_machine;
  LimitFacts limits;
  CgroupFacts cgroups;
  EventTrials events;
  BpfTrials bpf;
  Trial stack_walks;  // whether stacks can be walked in the kernel by call-frame tables
};

// Reads and tries everything. Changes nothing on the machine and leaves nothing open.
MachineFacts machine_facts();

// Parts of it, from files below `root` ("" for the machine's own).
KernelSettings read_settings(const std::string& root);
TracefsFacts read_tracefs(const std::string& root);
ClockFacts read_clock(const std::string& root);
VirtualFacts read_virtual_machine(const std::string& root);
CgroupFacts read_cgroups(const std::string& root);
UserFacts read_user(const std::string& root, uint32_t uid);
// The chosen one of "none [integrity] confidentiality".
std::string read_lockdown(const std::string& root);
bool kernel_addresses_shown(const std::string& root);

}  // namespace tephra::kernel
