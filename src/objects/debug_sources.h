#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::objects {

// How a file names a unit of its debug information that stands in a file of its own.
struct SplitUnitName {
  uint64_t id = 0;
  std::string_view name;    // of the .dwo file, relative to
  std::string_view folder;  // where it was compiled
};

// Gets the other files that the debug information of one file is spread over. Bytes are empty where there is no such
// file, and stay valid as long as the object lives.
class DebugSources {
 public:
  virtual ~DebugSources() = default;

  // What dwz moved out, found by build id.
  virtual base::Bytes alternate() = 0;
  // All split units in one file (.dwp).
  virtual base::Bytes package() = 0;
  // One split unit (.dwo).
  virtual base::Bytes split(const SplitUnitName& unit) = 0;
  // Tells that the debug information of a unit could not be had, and why.
  virtual void refuse(const SplitUnitName& unit, const std::string& why) = 0;
};

}  // namespace tephra::objects
