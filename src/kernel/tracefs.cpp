#include "kernel/tracefs.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/file.h"
#include "kernel/near_match.h"

namespace tephra::kernel {
namespace {

constexpr const char* kTracing = "/sys/kernel/tracing";
constexpr const char* kDebugTracing = "/sys/kernel/debug/tracing";

bool has_events(const std::string& folder) { return ::access((folder + "/events").c_str(), R_OK | X_OK) == 0; }

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), ::closedir);
  if (!handle) return names;
  while (const dirent* entry = ::readdir(handle.get())) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Names become parts of a path, so they must not climb out of tracefs.
bool plain_name(const std::string& name) {
  return !name.empty() && name.size() < 200 && name.find('/') == std::string::npos && name[0] != '.';
}

base::Result<Tracepoint> read_tracepoint(const std::string& root, const std::string& group, const std::string& name) {
  TEPHRA_TRY(const std::string text, base::read_small_file(root + "/events/" + group + "/" + name + "/id"));
  Tracepoint tracepoint{group, name, 0};
  if (std::from_chars(text.data(), text.data() + text.size(), tracepoint.id).ec != std::errc()) {
    return base::failed("cannot read the id of tracepoint", group + ":" + name);
  }
  return tracepoint;
}

base::Error no_such_tracepoint(const std::string& root, const std::string& group, const std::string& name) {
  const auto groups = folders_in(root + "/events");
  const std::string full = group + ":" + name;
  if (std::find(groups.begin(), groups.end(), group) == groups.end()) {
    return base::usage_error("no such event", full, "no tracepoint group of that name",
                        did_you_mean(near_matches(group, groups)));
  }
  auto near = near_matches(name, folders_in(root + "/events/" + group));
  for (std::string& each : near) each = group + ":" + each;
  return base::usage_error("no such event", full, "no tracepoint of that name", did_you_mean(near));
}

}  // namespace

base::Result<std::string> tracefs_folder() {
  for (const char* folder : {kTracing, kDebugTracing}) {
    if (has_events(folder)) return std::string(folder);
  }
  if (::mount("nodev", kTracing, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME, nullptr) == 0 &&
      has_events(kTracing)) {
    return std::string(kTracing);
  }
  const int why = ::access(kTracing, F_OK) == 0 ? (errno == ENOENT ? EACCES : EPERM) : ENOENT;
  return base::system_error("cannot read tracepoints from", kTracing, why,
                            "Run as root, or have root run 'mount -t tracefs nodev /sys/kernel/tracing' and give you "
                            "read access ('mount -o remount,mode=755 /sys/kernel/tracing').");
}

base::Result<Tracepoint> find_tracepoint(const std::string& group, const std::string& name) {
  TEPHRA_TRY(const std::string root, tracefs_folder());
  if (!plain_name(group) || !plain_name(name)) return base::usage_error("no such event", group + ":" + name);
  if (auto found = read_tracepoint(root, group, name)) return found;
  return no_such_tracepoint(root, group, name);
}

base::Result<std::vector<Tracepoint>> match_tracepoints(const std::string& group, const std::string& pattern) {
  TEPHRA_TRY(const std::string root, tracefs_folder());
  std::vector<Tracepoint> found;
  if (!plain_name(group) || !plain_name(pattern)) return base::usage_error("no such event", group + ":" + pattern);
  for (const std::string& name : folders_in(root + "/events/" + group)) {
    if (::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
    if (auto tracepoint = read_tracepoint(root, group, name)) found.push_back(std::move(*tracepoint));
  }
  if (found.empty()) return no_such_tracepoint(root, group, pattern);
  return found;
}

}  // namespace tephra::kernel
