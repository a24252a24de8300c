#include <cstdint>
#include <string_view>

#include "kernel/cgroups.h"
#include "kernel/containers.h"

// The text of /proc that names control groups, which whoever makes groups chooses.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra::kernel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto hierarchy = parse_cgroup_mounts(text);
  for (const CgroupLine& line : parse_cgroup_lines(text)) {
    if (hierarchy) line.belongs_to(*hierarchy);
    const size_t slash = line.path.rfind('/');
    container_of_component(line.path.substr(0, slash), line.path.substr(slash + 1));
  }
  return 0;
}
