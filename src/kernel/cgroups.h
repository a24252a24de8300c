#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// Control groups as perf events see them. Every function reads files below `root`, which is empty on a real machine and
// a folder that plays one in tests; the folders they return begin with it.

// The hierarchy whose groups events can be tied to: version 1's perf_event where it is mounted, else version 2.
struct CgroupHierarchy {
  std::string mount_point;   // absolute folder
  std::string mounted_path;  // which group is mounted there; "/" unless only a part of the hierarchy is
  bool version2 = false;
};
base::Result<CgroupHierarchy> cgroup_hierarchy(const std::string& root = {});
// The same from the text of /proc/self/mountinfo; nothing when none is mounted.
std::optional<CgroupHierarchy> parse_cgroup_mounts(std::string_view mountinfo);

// The folder of a control group by its name as `perf record -G` takes it: relative to the hierarchy's root, with or
// without a leading slash; "/" is the root itself. The absolute path of a group's folder works too. In a container the
// root is what the container sees as such. A name that is unknown is a usage error with those that are near.
base::Result<std::string> cgroup_folder(const std::string& name, const std::string& root = {});

// The processes in a group and all groups below it, in ascending order; empty when it is gone.
std::vector<pid_t> processes_in(const std::string& folder);

// The group of a process in the hierarchy for events, as /proc writes it ("/system.slice/cron.service"); empty when the
// process is gone or no hierarchy is mounted.
std::string cgroup_of(pid_t pid, const std::string& root = {});

// The folder of a group that /proc named so; empty when it is not within reach, for it lies outside what is mounted
// here, or is gone.
std::string folder_of_group(const CgroupHierarchy& hierarchy, std::string_view path);

// One line of /proc/PID/cgroup: "4:cpu,perf_event:/path", or "0::/path" for version 2.
struct CgroupLine {
  std::string_view controllers;
  std::string_view path;
  bool version2() const { return controllers.empty(); }
  // Whether this is the line for the hierarchy that events use.
  bool belongs_to(const CgroupHierarchy& hierarchy) const;
};
std::vector<CgroupLine> parse_cgroup_lines(std::string_view text);

// Whether we are in a control group namespace of our own, as containers are: names are then relative to our group.
bool in_cgroup_namespace(const std::string& root = {});

}  // namespace tephra::kernel
