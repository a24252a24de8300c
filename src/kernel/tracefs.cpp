#include "kernel/tracefs.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/file.h"
#include "kernel/folder.h"
#include "kernel/glob.h"
#include "kernel/near_match.h"

namespace tephra::kernel {
namespace {

constexpr const char* kTracing = "/sys/kernel/tracing";
constexpr const char* kDebugTracing = "/sys/kernel/debug/tracing";

bool has_events(const std::string& folder) { return ::access((folder + "/events").c_str(), R_OK | X_OK) == 0; }

// Names become parts of a path, so they must not climb out of tracefs.
bool plain_name(const std::string& name) {
  return !name.empty() && name.size() < 200 && name.find('/') == std::string::npos && name[0] != '.';
}

}  // namespace

std::optional<std::string> mounted_tracefs() {
  for (const char* folder : {kTracing, kDebugTracing}) {
    if (has_events(folder)) return std::string(folder);
  }
  return std::nullopt;
}

bool tracefs_is_mounted() { return has_events(kTracing) || has_events(kDebugTracing); }

base::Result<std::string> tracefs_folder() {
  if (auto folder = mounted_tracefs()) return std::move(*folder);
  if (::mount("nodev", kTracing, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME, nullptr) == 0 &&
      has_events(kTracing)) {
    return std::string(kTracing);
  }
  const int why = ::access(kTracing, F_OK) == 0 ? (errno == ENOENT ? EACCES : EPERM) : ENOENT;
  return base::system_error("cannot read tracepoints from", kTracing, why,
                            "Run as root, or have root run 'mount -t tracefs nodev /sys/kernel/tracing' and give you "
                            "read access ('mount -o remount,mode=755 /sys/kernel/tracing').");
}

bool Tracepoints::has_group(const std::string& group) {
  if (!plain_name(group) || !ready()) return false;
  return std::any_of(groups().begin(), groups().end(),
                     [&](const std::string& each) { return each == group || matches(group, each); });
}

base::Result<std::vector<Tracepoint>> Tracepoints::match(const std::string& group, const std::string& name) {
  TEPHRA_CHECK_OK(ready());
  if (!plain_name(group) || !plain_name(name)) return base::usage_error("no such event", group + ":" + name);
  std::vector<Tracepoint> found;
  for (const std::string& each_group : groups()) {
    if (!matches(group, each_group)) continue;
    for (const std::string& each : names_in(each_group)) {
      if (!matches(name, each)) continue;
      // Those without an id cannot be counted: ftrace's own records.
      if (auto tracepoint = read(each_group, each)) found.push_back(std::move(*tracepoint));
    }
  }
  if (found.empty()) return none_such(group, name);
  return found;
}

std::vector<std::string> Tracepoints::names() {
  std::vector<std::string> all;
  if (folder_.empty()) folder_ = mounted_tracefs().value_or("");
  if (folder_.empty()) return all;
  for (const std::string& group : groups()) {
    if (group == "ftrace") continue;  // its own records, which nobody can count
    for (const std::string& name : names_in(group)) all.push_back(group + ":" + name);
  }
  return all;
}

base::Status Tracepoints::ready() {
  if (!folder_.empty()) return {};
  TEPHRA_TRY(folder_, tracefs_folder());
  return {};
}

const std::vector<std::string>& Tracepoints::groups() {
  if (!groups_) groups_ = folders_in(folder_ + "/events");
  return *groups_;
}

const std::vector<std::string>& Tracepoints::names_in(const std::string& group) {
  const auto [row, is_new] = names_.try_emplace(group);
  if (is_new) row->second = folders_in(folder_ + "/events/" + group);
  return row->second;
}

base::Result<Tracepoint> Tracepoints::read(const std::string& group, const std::string& name) const {
  TEPHRA_TRY(const std::string text, base::read_small_file(folder_ + "/events/" + group + "/" + name + "/id"));
  Tracepoint tracepoint{group, name, 0};
  if (std::from_chars(text.data(), text.data() + text.size(), tracepoint.id).ec != std::errc()) {
    return base::failed("cannot read the id of tracepoint", group + ":" + name);
  }
  return tracepoint;
}

base::Error Tracepoints::none_such(const std::string& group, const std::string& name) {
  const std::string full = group + ":" + name;
  if (!has_group(group)) {
    return base::usage_error("no such event", full, "no tracepoint group of that name",
                             did_you_mean(near_matches(group, groups())));
  }
  if (is_pattern(group)) return base::usage_error("no such event", full, "no tracepoint matches");
  auto near = near_matches(name, names_in(group));
  for (std::string& each : near) each = group + ":" + each;
  return base::usage_error("no such event", full, "no tracepoint of that name", did_you_mean(near));
}

}  // namespace tephra::kernel
