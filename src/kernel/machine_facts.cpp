#include "kernel/machine_facts.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "kernel/procfs.h"
#include "kernel/stack_program.h"
#include "kernel/status_text.h"

namespace tephra::kernel {
namespace {

std::string text_of(const std::string& path) {
  auto text = base::read_small_file(path);
  if (!text) return {};
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  return std::move(*text);
}

std::vector<std::string_view> words_of(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    if (end != 0) words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

// The words are views, so the text must live on.
std::vector<std::string_view> words_of(std::string&& text, char separator) = delete;

std::optional<long> setting(const std::string& root, const char* name) {
  const std::string text = text_of(root + "/proc/sys/" + name);
  long value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

// Of a line of /proc/self/mountinfo: where, and the type and source behind the dash.
struct Mount {
  std::string_view place;
  std::string_view type;
  std::string_view options;
};

std::vector<Mount> mounts_in(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const auto line : words_of(mountinfo, '\n')) {
    const auto words = words_of(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 2) continue;
    mounts.push_back({words[4], dash[1], words.back()});
  }
  return mounts;
}

bool is_initial_namespace(const std::string& link, std::string_view initial) {
  char target[64];
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  // Where it cannot be told, nothing is claimed.
  if (length <= 0) return true;
  const std::string_view text(target, static_cast<size_t>(length));
  return text.find(initial) != std::string_view::npos;
}

double stolen_share(std::string_view stat) {
  const auto words = words_of(stat.substr(0, stat.find('\n')), ' ');
  constexpr size_t kSteal = 8;
  if (words.size() <= kSteal || words[0] != "cpu") return 0;
  uint64_t total = 0;
  uint64_t stolen = 0;
  for (size_t i = 1; i <= kSteal; ++i) {
    uint64_t value = 0;
    std::from_chars(words[i].data(), words[i].data() + words[i].size(), value);
    total += value;
    if (i == kSteal) stolen = value;
  }
  return total == 0 ? 0 : static_cast<double>(stolen) / static_cast<double>(total);
}

LimitFacts read_limits() {
  LimitFacts facts;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = limit.rlim_cur;
    facts.open_files_most = limit.rlim_max;
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.locked_bytes = limit.rlim_cur;
  return facts;
}

}  // namespace

KernelSettings read_settings(const std::string& root) {
  KernelSettings settings;
  settings.paranoid = setting(root, "kernel/perf_event_paranoid");
  settings.kptr_restrict = setting(root, "kernel/kptr_restrict");
  settings.mlock_kb = setting(root, "kernel/perf_event_mlock_kb");
  settings.max_sample_rate = setting(root, "kernel/perf_event_max_sample_rate");
  settings.cpu_time_percent = setting(root, "kernel/perf_cpu_time_max_percent");
  settings.max_stack = setting(root, "kernel/perf_event_max_stack");
  settings.nmi_watchdog = setting(root, "kernel/nmi_watchdog");
  settings.ptrace_scope = setting(root, "kernel/yama/ptrace_scope");
  settings.unprivileged_bpf_disabled = setting(root, "kernel/unprivileged_bpf_disabled");
  return settings;
}

TracefsFacts read_tracefs(const std::string& root) {
  TracefsFacts facts;
  const std::string filesystems = text_of(root + "/proc/filesystems");
  for (const auto line : words_of(filesystems, '\n')) {
    if (line.ends_with("\ttracefs")) facts.in_kernel = true;
  }
  const std::string mountinfo = text_of(root + "/proc/self/mountinfo");
  const auto mounts = mounts_in(mountinfo);
  // Only what is mounted is looked into: looking below debugfs would mount it.
  for (const char* place : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    const auto is_it = [&](const Mount& mount) { return mount.type == "tracefs" && mount.place == place; };
    if (std::none_of(mounts.begin(), mounts.end(), is_it)) continue;
    if (facts.mounted_at.empty()) facts.mounted_at = place;
    if (::access((root + place + "/events").c_str(), R_OK | X_OK) != 0) continue;
    facts.mounted_at = place;
    facts.readable = true;
    break;
  }
  return facts;
}

ClockFacts read_clock(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/clocksource/clocksource0/";
  ClockFacts facts;
  facts.source = text_of(folder + "current_clocksource");
  const std::string available = text_of(folder + "available_clocksource");
  for (const auto word : words_of(available, ' ')) facts.available.emplace_back(word);
  return facts;
}

VirtualFacts read_virtual_machine(const std::string& root) {
  VirtualFacts facts;
  const std::string cpuinfo = text_of(root + "/proc/cpuinfo");
  const auto flags = words_of(field_of(cpuinfo, "flags"), ' ');
  facts.hypervisor = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end() ||
                     ::access((root + "/sys/hypervisor/type").c_str(), F_OK) == 0;
  facts.vendor = text_of(root + "/sys/class/dmi/id/sys_vendor");
  facts.stolen_share = stolen_share(text_of(root + "/proc/stat"));
  return facts;
}

CgroupFacts read_cgroups(const std::string& root) {
  CgroupFacts facts;
  const std::string mountinfo = text_of(root + "/proc/self/mountinfo");
  for (const Mount& mount : mounts_in(mountinfo)) {
    if (mount.type == "cgroup2" && facts.v2_at.empty()) facts.v2_at = mount.place;
    if (mount.type != "cgroup") continue;
    facts.v1 = true;
    const auto options = words_of(mount.options, ',');
    if (std::find(options.begin(), options.end(), "perf_event") != options.end()) facts.v1_perf_event = true;
  }
  return facts;
}

UserFacts read_user(const std::string& root, uint32_t uid) {
  // Numbers the kernel gives its first namespaces, the same on every machine.
  constexpr std::string_view kFirstUserNamespace = "[4026531837]";
  constexpr std::string_view kFirstPidNamespace = "[4026531836]";
  constexpr int kPerfmon = 38;
  constexpr int kBpf = 39;
  UserFacts facts;
  facts.uid = uid;
  const std::string status = text_of(root + "/proc/self/status");
  facts.seccomp_filter = number_of(status, "Seccomp").value_or(0) == 2;
  facts.user_namespace = !is_initial_namespace(root + "/proc/self/ns/user", kFirstUserNamespace);
  facts.pid_namespace = !is_initial_namespace(root + "/proc/self/ns/pid", kFirstPidNamespace);
  const uint64_t held = facts.user_namespace ? 0 : number_of(status, "CapEff", 16).value_or(0);
  const auto has = [held](int capability) { return (held >> capability & 1) != 0; };
  facts.perfmon = has(kPerfmon) || has(CAP_SYS_ADMIN);
  facts.bpf = has(kBpf) || has(CAP_SYS_ADMIN);
  facts.ptrace = has(CAP_SYS_PTRACE);
  facts.syslog = has(CAP_SYSLOG);
  facts.container = container_mark(text_of(root + "/proc/self/cgroup"));
  if (facts.container.kind.empty()) {
    if (::access((root + "/.dockerenv").c_str(), F_OK) == 0) facts.container.kind = "docker";
    if (::access((root + "/run/.containerenv").c_str(), F_OK) == 0) facts.container.kind = "podman";
  }
  return facts;
}

std::string read_lockdown(const std::string& root) {
  const std::string text = text_of(root + "/sys/kernel/security/lockdown");
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  return open == std::string::npos || close == std::string::npos || close < open
             ? std::string()
             : text.substr(open + 1, close - open - 1);
}

bool kernel_addresses_shown(const std::string& root) {
  // The kernel makes the list as it is read, so only its beginning is. The first symbols of a machine with per-CPU
  // ones at address zero are those, hence a page of lines.
  const base::FileDescriptor fd(::open((root + "/proc/kallsyms").c_str(), O_RDONLY | O_CLOEXEC));
  char block[4096];
  const ssize_t got = fd ? ::read(fd.get(), block, sizeof block) : 0;
  if (got <= 0) return false;
  for (const auto line : words_of(std::string_view(block, static_cast<size_t>(got)), '\n')) {
    const auto address = line.substr(0, line.find(' '));
    if (address.find_first_not_of('0') != std::string_view::npos && address.size() >= 8) return true;
  }
  return false;
}

Trial try_stack_walks() {
  StackProgram::Settings least;
  least.ring_bytes = 4096;
  least.max_tables = least.max_mappings = least.max_processes = 16;
  const auto program = StackProgram::load(least);
  return program ? granted() : useless(program.error().why);
}

MachineFacts machine_facts() {
  MachineFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.release = names.release;
    facts.machine = names.machine;
  }
  facts.cpus = online_cpus().size();
  facts.user = read_user("", ::geteuid());
  facts.settings = read_settings("");
  facts.lockdown = read_lockdown("");
  facts.security_modules = text_of("/sys/kernel/security/lsm");
  facts.kernel_addresses = kernel_addresses_shown("");
  facts.tracefs = read_tracefs("");
  facts.clock = read_clock("");
  facts.virtual_machine = read_virtual_machine("");
  facts.limits = read_limits();
  facts.cgroups = read_cgroups("");
  facts.events = try_events();
  const auto btf = base::FileContent::open("/sys/kernel/btf/vmlinux");
  facts.btf = btf.ok();
  facts.bpf = try_bpf(btf ? btf->bytes() : base::Bytes());
  facts.stack_walks = try_stack_walks();
  return facts;
}

}  // namespace tephra::kernel
