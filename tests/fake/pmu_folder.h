#pragma once

#include <string>

#include "machine_config.h"

namespace tephra::fake {

// A temporary folder that describes the machine's PMUs as /sys/bus/event_source/devices does. Gone with the object.
class PmuFolder {
 public:
  explicit PmuFolder(const MachineConfig& config);
  ~PmuFolder();
  PmuFolder(const PmuFolder&) = delete;
  PmuFolder& operator=(const PmuFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  void write(const std::string& name, const std::string& text);
  std::string path_;
};

}  // namespace tephra::fake
