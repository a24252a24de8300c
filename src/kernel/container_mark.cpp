#include "kernel/container_mark.h"

#include <algorithm>

#include "kernel/cgroups.h"
#include "kernel/containers.h"

namespace tephra::kernel {
namespace {

ContainerMark mark_in(std::string_view path) {
  ContainerMark mark;
  for (size_t begin = 1; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (auto found = container_of_component(path.substr(0, begin - 1), path.substr(begin, end - begin))) {
      mark = {std::move(found->runtime), std::move(found->id)};
    }
    begin = end + 1;
  }
  const bool kubernetes = mark.kind == "crio" || path.find("kubepods") != std::string_view::npos;
  if (kubernetes && !mark.kind.empty()) mark.kind = "kubernetes";
  return mark;
}

}  // namespace

ContainerMark container_mark(std::string_view cgroup_text) {
  for (const CgroupLine& line : parse_cgroup_lines(cgroup_text)) {
    if (auto mark = mark_in(line.path); !mark.kind.empty()) return mark;
  }
  return {};
}

}  // namespace tephra::kernel
