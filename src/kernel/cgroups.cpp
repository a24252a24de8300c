#include "kernel/cgroups.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "kernel/near_match.h"

namespace tephra::kernel {
namespace {

// Bounds for walks over groups, far above what machines have.
constexpr size_t kMostGroups = 20'000;
constexpr size_t kDeepest = 64;

std::string_view next_line(std::string_view& text) {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::string_view next_field(std::string_view& line) {
  const auto field = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  return field;
}

// The kernel writes space, tab, line feed and backslash in paths as three octal digits.
std::string unescape(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool lists(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(','));
    if (word == wanted) return true;
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return false;
}

struct Mount {
  CgroupHierarchy hierarchy;
  bool for_events = false;
};

// id parent device mounted-path mount-point options [optional...] - type source super-options
std::optional<Mount> parse_mount(std::string_view line) {
  Mount mount;
  for (int skipped = 0; skipped < 3; ++skipped) next_field(line);
  mount.hierarchy.mounted_path = unescape(next_field(line));
  mount.hierarchy.mount_point = unescape(next_field(line));
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos || !mount.hierarchy.mount_point.starts_with('/')) return {};
  line.remove_prefix(dash + 3);
  const std::string_view type = next_field(line);
  next_field(line);
  mount.hierarchy.version2 = type == "cgroup2";
  mount.for_events = mount.hierarchy.version2 || (type == "cgroup" && lists(line, "perf_event"));
  if (!mount.for_events) return {};
  return mount;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), ::closedir);
  if (!handle) return names;
  while (const dirent* entry = ::readdir(handle.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// `top` itself ("") and the groups below it, by their paths relative to it, parents first.
std::vector<std::string> groups_below(const std::string& top) {
  std::vector<std::string> found{""};
  for (size_t next = 0; next < found.size(); ++next) {
    const std::string parent = found[next];
    if (static_cast<size_t>(std::count(parent.begin(), parent.end(), '/')) >= kDeepest) continue;
    for (const std::string& name : folders_in(top + "/" + parent)) {
      if (found.size() >= kMostGroups) return found;
      found.push_back(parent.empty() ? name : parent + "/" + name);
    }
  }
  return found;
}

std::string canonical(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? std::string(resolved.get()) : std::string();
}

bool is_within(const std::string& path, const std::string& top) {
  return path == top || (path.starts_with(top) && path[top.size()] == '/');
}

// `path` as a folder of a group, without links and dots; empty when it is none.
std::string group_at(const std::string& path, const std::string& mount_point) {
  const std::string folder = canonical(path);
  return !folder.empty() && is_within(folder, canonical(mount_point)) && is_folder(folder) ? folder : std::string();
}

std::string where_names_begin(const std::string& mount_point, const std::string& root) {
  return in_cgroup_namespace(root)
             ? fmt::format("Here, in a container, names are relative to its own group, which is '/' ({}).", mount_point)
             : fmt::format("Names are relative to {}.", mount_point);
}

base::Error no_such_group(const std::string& name, const CgroupHierarchy& hierarchy, const std::string& root) {
  const std::string wanted = name.substr(std::min(name.find_first_not_of('/'), name.size()));
  auto names = groups_below(hierarchy.mount_point);
  const size_t count = names.size() - 1;
  // What people know of a group often is the last part of its path.
  std::vector<std::string> near;
  for (const std::string& each : names) {
    if (near.size() < 3 && !wanted.empty() && each.ends_with("/" + wanted)) near.push_back(each);
  }
  if (near.empty()) near = near_matches(wanted, names);
  std::string why = count == 0 ? "there is no group but the root" : "no group of that name";
  if (is_folder(name)) why = "that folder is not of the hierarchy that events use";
  const std::string fix = near.empty() ? "" : did_you_mean(near) + " ";
  return base::usage_error("no such control group", name, why, fix + where_names_begin(hierarchy.mount_point, root));
}

void add_processes(const std::string& group, std::vector<pid_t>& found) {
  const auto text = base::read_small_file(group + "/cgroup.procs");
  if (!text) return;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    pid_t pid = 0;
    // Processes outside our namespace of process ids are listed as 0.
    if (std::from_chars(line.data(), line.data() + line.size(), pid).ec == std::errc() && pid > 0) found.push_back(pid);
  }
}

}  // namespace

std::optional<CgroupHierarchy> parse_cgroup_mounts(std::string_view mountinfo) {
  // A mount of the whole hierarchy is better than one of a part; among equals the first, as perf takes it.
  const auto rank = [](const CgroupHierarchy& h) { return (h.version2 ? 2 : 0) + (h.mounted_path == "/" ? 0 : 1); };
  std::optional<CgroupHierarchy> best;
  while (!mountinfo.empty()) {
    auto mount = parse_mount(next_line(mountinfo));
    if (mount && (!best || rank(mount->hierarchy) < rank(*best))) best = std::move(mount->hierarchy);
  }
  return best;
}

base::Result<CgroupHierarchy> cgroup_hierarchy(const std::string& root) {
  TEPHRA_TRY(const std::string text, base::read_small_file(root + "/proc/self/mountinfo"));
  auto found = parse_cgroup_mounts(text);
  if (!found) {
    return base::failed("cannot find control groups", {}, "no hierarchy that events can use is mounted",
                        "Have root run 'mount -t cgroup2 none /sys/fs/cgroup'.");
  }
  found->mount_point = root + found->mount_point;
  return *std::move(found);
}

base::Result<std::string> cgroup_folder(const std::string& name, const std::string& root) {
  if (name.empty() || name.find('\0') != std::string::npos || name.size() >= PATH_MAX) {
    return base::usage_error("not the name of a control group", name.substr(0, 100), {}, "The root group is '/'.");
  }
  TEPHRA_TRY(const CgroupHierarchy hierarchy, cgroup_hierarchy(root));
  std::string folder = group_at(hierarchy.mount_point + "/" + name, hierarchy.mount_point);
  if (folder.empty() && name[0] == '/') folder = group_at(name, hierarchy.mount_point);
  if (folder.empty()) return no_such_group(name, hierarchy, root);
  return folder;
}

std::vector<pid_t> processes_in(const std::string& folder) {
  std::vector<pid_t> found;
  for (const std::string& group : groups_below(folder)) add_processes(folder + "/" + group, found);
  // One that moves while we read may be seen twice.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool CgroupLine::belongs_to(const CgroupHierarchy& hierarchy) const {
  return hierarchy.version2 ? version2() : lists(controllers, "perf_event");
}

std::vector<CgroupLine> parse_cgroup_lines(std::string_view text) {
  std::vector<CgroupLine> lines;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    // A named hierarchy ("name=a:b") may hold colons; a path begins with a slash.
    const size_t second = line.find(":/", first);
    if (second == std::string_view::npos || second == first) continue;
    lines.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return lines;
}

std::string cgroup_of(pid_t pid, const std::string& root) {
  const auto hierarchy = cgroup_hierarchy(root);
  const auto text = base::read_small_file(fmt::format("{}/proc/{}/cgroup", root, pid));
  if (!hierarchy || !text) return {};
  for (const CgroupLine& line : parse_cgroup_lines(*text)) {
    if (line.belongs_to(*hierarchy)) return std::string(line.path);
  }
  return {};
}

std::string folder_of_group(const CgroupHierarchy& hierarchy, std::string_view path) {
  const std::string& mounted = hierarchy.mounted_path;
  if (mounted != "/") {
    if (!is_within(std::string(path), mounted)) return {};
    path.remove_prefix(mounted.size());
  }
  // Groups outside our namespace are written with dots, and are not mounted here.
  if (path.starts_with("/..")) return {};
  const std::string folder = path == "/" ? hierarchy.mount_point : hierarchy.mount_point + std::string(path);
  return is_folder(folder) ? folder : std::string();
}

bool in_cgroup_namespace(const std::string& root) {
  constexpr std::string_view kInitial = "cgroup:[4026531835]";  // the kernel gives the first namespace this number
  char target[64];
  const ssize_t size = ::readlink((root + "/proc/self/ns/cgroup").c_str(), target, sizeof target);
  return size > 0 && std::string_view(target, static_cast<size_t>(size)) != kInitial;
}

}  // namespace tephra::kernel
