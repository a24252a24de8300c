#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// Where tracefs is, for example "/sys/kernel/tracing". Mounts it there when it is nowhere and we may.
base::Result<std::string> tracefs_folder();

struct Tracepoint {
  std::string group;
  std::string name;
  uint64_t id = 0;
};
// A tracepoint by its names. A name that does not exist is an error that offers the nearest ones.
base::Result<Tracepoint> find_tracepoint(const std::string& group, const std::string& name);
// All tracepoints of `group` whose name matches `pattern`, where `*` and `?` stand for any text and any character.
base::Result<std::vector<Tracepoint>> match_tracepoints(const std::string& group, const std::string& pattern);

}  // namespace tephra::kernel
