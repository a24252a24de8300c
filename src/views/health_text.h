#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/activity_advice.h"
#include "analysis/health.h"

namespace tephra::views {

struct HealthTextOptions {
  bool color = false;
  bool utf8 = true;    // else marks and dots are ASCII
  size_t width = 100;  // columns; lines are broken there
};

// What was found about a process, for the views of health.
struct ProcessHealth {
  const symbols::ProcessFacts& facts;
  std::span<const analysis::Finding> findings;
  std::optional<kernel::ProcessActivity> activity;
  std::optional<analysis::ActivityAdvice> advice;
};

// What works first, then what is limited or missing, each with what is lost and the fix below it.
std::string machine_health_text(const kernel::MachineFacts& facts, std::span<const analysis::Finding> findings,
                                const HealthTextOptions& options);
std::string process_health_text(const ProcessHealth& process, const HealthTextOptions& options);

}  // namespace tephra::views
