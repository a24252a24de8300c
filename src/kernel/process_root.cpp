#include "kernel/process_root.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "kernel/status_text.h"

namespace tephra::kernel {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// From /proc/PID/stat, whose 22nd word counts ticks since the machine started; the second may hold blanks.
int64_t begin_of(std::string_view stat) {
  stat.remove_prefix(std::min(stat.size(), stat.rfind(')') + 1));
  constexpr int kWordsBetween = 19;
  for (int word = 0; word <= kWordsBetween && !stat.empty(); ++word) {
    stat.remove_prefix(std::min(stat.size(), stat.find_first_not_of(' ')));
    if (word < kWordsBetween) stat.remove_prefix(std::min(stat.size(), stat.find(' ')));
  }
  int64_t ticks = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), ticks);
  const int64_t since_boot = ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  return nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_BOOTTIME) + since_boot;
}

}  // namespace

std::optional<ProcessRoot> open_process_root(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  ProcessRoot root;
  root.folder.reset(::open((folder + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto status = base::read_small_file(folder + "/status");
  const auto stat = base::read_small_file(folder + "/stat");
  if (!root.folder || !status || !stat) return std::nullopt;
  root.inner_pid = static_cast<pid_t>(last_number_of(*status, "NStgid").value_or(static_cast<uint64_t>(pid)));
  root.user = static_cast<uid_t>(number_of(*status, "Uid").value_or(0));
  root.group = static_cast<gid_t>(number_of(*status, "Gid").value_or(0));
  root.begun_ns = begin_of(*stat);
  return root;
}

std::optional<ProcessRoot> own_root(pid_t pid) {
  ProcessRoot root{.inner_pid = pid, .user = ::geteuid(), .group = ::getegid()};
  root.folder.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return root.folder ? std::optional(std::move(root)) : std::nullopt;
}

}  // namespace tephra::kernel
