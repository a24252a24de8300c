#include "kernel/privileges.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/file.h"
#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].effective | static_cast<uint64_t>(data[1].effective) << 32;
}

bool seccomp_filtered() {
  const auto status = base::read_small_file("/proc/self/status");
  return status && status->find("\nSeccomp:\t2") != std::string::npos;
}

}  // namespace

Privileges privileges() {
  constexpr int kPerfmon = 38;  // CAP_PERFMON, since Linux 5.8
  const uint64_t held = effective_capabilities();
  const auto has = [held](int capability) { return (held >> capability & 1) != 0; };
  Privileges result;
  result.paranoid = sysctl_number("kernel/perf_event_paranoid").value_or(2);
  result.perfmon = has(kPerfmon) || has(CAP_SYS_ADMIN);
  result.ptrace = has(CAP_SYS_PTRACE) || result.perfmon;
  result.filtered = seccomp_filtered();
  return result;
}

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto most = static_cast<rlim_t>(sysctl_number("fs/nr_open").value_or(0));
  if (most > limit.rlim_max) {
    const rlimit higher{most, most};
    if (::setrlimit(RLIMIT_NOFILE, &higher) == 0) return;
  }
  if (limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned long open_file_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace tephra::kernel
