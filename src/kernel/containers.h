#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// A container that runs. No daemon is asked: it is known by the control groups and namespaces of processes, its name by
// the files of its runtime.
struct Container {
  std::string id;       // 64 hex digits; for lxc and systemd-nspawn the name; for a bare namespace its number
  std::string name;     // empty when no file tells; Kubernetes: NAMESPACE/POD/CONTAINER
  std::string runtime;  // "docker", "podman", "containerd", "crio", "lxc", "systemd-nspawn", "container", "namespace"
  // The folder of its group in the hierarchy that events use. Empty when it has no group of its own there, or none
  // within reach: then only its processes can be recorded.
  std::string cgroup;
  pid_t first_process = 0;       // the one with the lowest id
  std::vector<pid_t> processes;  // all that were seen, ascending
};

// Every function reads files below `root`, which is empty on a real machine and a folder that plays one in tests.

// In the order of their first process. A process in a container inside another counts for both.
std::vector<Container> running_containers(const std::string& root = {});

// By full id, the beginning of an id (4 hex digits or more), name, or RUNTIME:NAME. A part of a Kubernetes name between
// slashes is enough (POD, POD/CONTAINER). What fits several or none is a usage error that lists what runs.
base::Result<Container> find_container(const std::string& text, const std::string& root = {});

// The container that a component of a control group's path names, without folder and processes; `parent` is the path
// in front of the component.
std::optional<Container> container_of_component(std::string_view parent, std::string_view component);

}  // namespace tephra::kernel
