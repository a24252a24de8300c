#include "cli/off_cpu_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "cli/recording.h"

namespace tephra::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

struct StateName {
  std::string_view name;
  uint32_t states;
};

constexpr uint32_t bit(tephra_wait_state state) { return 1u << state; }

constexpr StateName kStates[] = {
    {"sleeping", bit(TEPHRA_WAIT_SLEEPING)},
    {"uninterruptible", bit(TEPHRA_WAIT_UNINTERRUPTIBLE)},
    {"runqueue", bit(TEPHRA_WAIT_RUN_QUEUE)},
    {"other", bit(TEPHRA_WAIT_OTHER)},
    {"blocked", bit(TEPHRA_WAIT_SLEEPING) | bit(TEPHRA_WAIT_UNINTERRUPTIBLE)},
    {"all", (1u << TEPHRA_WAIT_STATES) - 1},
};

base::Result<nanoseconds> micros_of(const std::string& text, const char* option) {
  constexpr uint64_t kMost = uint64_t{1} << 53;  // far beyond a life
  const auto number = whole_number(text);
  if (!number || *number > kMost)
    return base::usage_error("not a time", text, "", fmt::format("{} takes microseconds.", option));
  return nanoseconds(static_cast<int64_t>(std::min(*number, kMost / 1000)) * 1000);
}

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

base::Result<uint32_t> states_of(const std::string& list) {
  uint32_t states = 0;
  for (const std::string& word : CLI::detail::split(list, ',')) {
    uint32_t found = 0;
    std::string names;
    for (const StateName& state : kStates) {
      if (state.name == word) found = state.states;
      names += (names.empty() ? "" : ", ") + std::string(state.name);
    }
    if (found == 0) return base::usage_error("no such state of threads", word, "", "There are: " + names + ".");
    states |= found;
  }
  return states;
}

base::Result<double> budget_of(std::string_view text) {
  const std::string_view number = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  const auto percent = decimal(number);
  if (percent && *percent > 0 && *percent <= 100) return *percent / 100;
  return base::usage_error("not a budget", std::string(text), "", "Write percent of one CPU, for example 1 or 0.5%.");
}

}  // namespace

void OffCpuFlags::declare(CLI::App& parser) {
  parser.add_option("--min-us", min_us, "with offcpu: leave out waits that are shorter")->type_name("US");
  parser.add_option("--max-us", max_us, "with offcpu: leave out waits that are longer")->type_name("US");
  parser.add_option("--state", states, "with offcpu: sleeping, uninterruptible, runqueue, other, blocked, all (all)")
      ->type_name("STATE[,STATE]");
  parser.add_option("--threshold", threshold_ms, "with offcpu: waits from here on are kept one by one (5)")
      ->type_name("MS");
  parser.add_flag("--wakers", wakers, "with offcpu: who ended each wait, with stacks");
  parser.add_option("--budget", budget, "with offcpu: take fewer stacks where they would cost more of a CPU than this")
      ->type_name("PERCENT");
}

bool OffCpuFlags::any() const {
  return wakers || !(min_us.empty() && max_us.empty() && states.empty() && threshold_ms.empty() && budget.empty());
}

base::Result<collect::OffCpuSettings> off_cpu_settings(const OffCpuFlags& flags) {
  collect::OffCpuSettings settings;
  settings.wakers = flags.wakers;
  if (!flags.min_us.empty()) {
    TEPHRA_TRY(settings.shortest, micros_of(flags.min_us, "--min-us"));
  }
  if (!flags.max_us.empty()) {
    TEPHRA_TRY(settings.longest, micros_of(flags.max_us, "--max-us"));
  }
  if (settings.shortest > settings.longest) {
    return base::usage_error("no wait is so long and so short", "", "--min-us is more than --max-us", "Exchange them.");
  }
  if (!flags.states.empty()) {
    TEPHRA_TRY(settings.states, states_of(flags.states));
  }
  if (!flags.threshold_ms.empty()) {
    const auto threshold = decimal(flags.threshold_ms);
    if (!threshold || *threshold > 1e9) {
      return base::usage_error("not a time", flags.threshold_ms, "", "--threshold takes milliseconds.");
    }
    settings.threshold = nanoseconds(static_cast<int64_t>(*threshold * 1e6));
  }
  if (!flags.budget.empty()) {
    TEPHRA_TRY(settings.budget, budget_of(flags.budget));
  }
  return settings;
}

}  // namespace tephra::cli
