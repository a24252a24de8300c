#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// Where tracefs is, for example "/sys/kernel/tracing". Mounts it there when it is nowhere and we may.
base::Result<std::string> tracefs_folder();
// Whether it can be read already.
bool tracefs_is_mounted();
// The same without mounting anything; none where it cannot be read.
std::optional<std::string> mounted_tracefs();

struct Tracepoint {
  std::string group;
  std::string name;
  uint64_t id = 0;
};

// The tracepoints of a kernel. Lists are read when they are first asked for, and kept.
class Tracepoints {
 public:
  // Those of this machine; tracefs is looked for at the first question.
  Tracepoints() = default;
  // Those of a folder that looks like tracefs.
  explicit Tracepoints(std::string tracefs) : folder_(std::move(tracefs)) {}

  // Looks for tracefs if that was not done; an error says why its tracepoints cannot be known.
  base::Status ready();
  // All whose group and name match; both may be patterns of kernel/glob.h. None at all is an error that offers the
  // nearest names.
  base::Result<std::vector<Tracepoint>> match(const std::string& group, const std::string& name);
  // Whether there is a group of that name, or one that matches the pattern. False where tracefs cannot be read.
  bool has_group(const std::string& group);
  // Every tracepoint as "group:name", for suggestions and lists; empty where tracefs cannot be read. Mounts nothing.
  std::vector<std::string> names();

 private:
  const std::vector<std::string>& groups();
  const std::vector<std::string>& names_in(const std::string& group);
  base::Result<Tracepoint> read(const std::string& group, const std::string& name) const;
  base::Error none_such(const std::string& group, const std::string& name);

  std::string folder_;
  std::optional<std::vector<std::string>> groups_;
  std::map<std::string, std::vector<std::string>> names_;
};

}  // namespace tephra::kernel
