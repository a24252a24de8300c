#include "kernel/users.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "kernel/near_match.h"
#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

// The names the machine's own file lists. A directory service may know millions more, which are not asked for.
std::vector<std::string> listed_users() {
  std::vector<std::string> names;
  const auto text = base::read_small_file("/etc/passwd");
  if (!text) return names;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const size_t colon = line.find(':'); colon != std::string_view::npos && colon > 0) {
      names.emplace_back(line.substr(0, colon));
    }
  }
  return names;
}

base::Result<std::optional<uid_t>> look_up(const std::string& name) {
  constexpr size_t kLargest = 1 << 20;
  std::vector<char> memory(1 << 12);
  for (;;) {
    passwd entry{};
    passwd* found = nullptr;
    const int error = ::getpwnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found);
    if (found != nullptr) return std::optional<uid_t>(entry.pw_uid);
    if (error == ERANGE && memory.size() < kLargest) {
      memory.resize(memory.size() * 2);
      continue;
    }
    // "Not found" comes as one of several numbers, depending on who was asked.
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO || error == ERANGE) {
      return base::system_error("cannot look up the user", name, error);
    }
    return std::optional<uid_t>();
  }
}

std::optional<uid_t> parse_number(std::string_view text) {
  uid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // The largest number means "no user" to the kernel.
  if (error != std::errc() || end != text.data() + text.size() || number == static_cast<uid_t>(-1)) return {};
  return number;
}

}  // namespace

base::Result<uid_t> user_id(const std::string& text) {
  if (text.empty()) return base::usage_error("no user is named by an empty text");
  if (text.find('\0') == std::string::npos) {
    TEPHRA_TRY(const auto named, look_up(text));
    if (named) return *named;
  }
  if (const auto number = parse_number(text)) return *number;
  const auto near = did_you_mean(near_matches(text, listed_users()));
  return base::usage_error("no such user", text, {}, near.empty() ? "Give a name or a number." : near);
}

std::vector<pid_t> processes_of_user(uid_t user) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    struct stat status {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == user) found.push_back(pid);
  }
  return found;
}

}  // namespace tephra::kernel
