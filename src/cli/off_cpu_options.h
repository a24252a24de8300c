#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "collect/off_cpu_settings.h"

namespace tephra::cli {

// What `tephra profile -t offcpu` and `-t wall` take beside the rest.
struct OffCpuFlags {
  std::string min_us;
  std::string max_us;
  std::string states;
  std::string threshold_ms;
  std::string budget;
  bool wakers = false;

  void declare(CLI::App& parser);
  bool any() const;
};

base::Result<collect::OffCpuSettings> off_cpu_settings(const OffCpuFlags& flags);

}  // namespace tephra::cli
