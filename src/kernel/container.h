#pragma once

#include <string>
#include <string_view>

namespace tephra::kernel {

// What a process runs in, as far as its control group tells.
struct Container {
  std::string kind;  // "docker", "podman", "kubernetes", "containerd", "lxc", "systemd-nspawn"; empty: none is seen
  std::string id;    // the container's id or name
};

// From the text of /proc/PID/cgroup.
Container container_of(std::string_view cgroup_text);

}  // namespace tephra::kernel
