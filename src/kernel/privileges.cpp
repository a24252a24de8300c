#include "kernel/privileges.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

uint64_t effective_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].effective | static_cast<uint64_t>(data[1].effective) << 32;
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
  return result;
}

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned long open_file_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace tephra::kernel
