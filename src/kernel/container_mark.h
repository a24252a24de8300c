#pragma once

#include <string>
#include <string_view>

namespace tephra::kernel {

// Which container a process runs in, as far as its control group tells.
struct ContainerMark {
  std::string kind;  // "kubernetes", or a runtime as in Container; empty: none is seen
  std::string id;    // the container's id or name
};

// From the text of /proc/PID/cgroup; of containers inside each other the innermost.
ContainerMark container_mark(std::string_view cgroup_text);

}  // namespace tephra::kernel
