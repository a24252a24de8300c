#include "collect/trigger_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tephra::collect {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kCpuWindow{100};
constexpr milliseconds kPressureWindow{500};
constexpr milliseconds kLeastWindow{50};  // the kernel counts CPU time in steps of 10 ms
constexpr milliseconds kMostWindow{60'000};
constexpr nanoseconds kMostLatency = std::chrono::hours(1);

constexpr const char* kForms =
    "Forms: 'runqlat>10ms' (a thread waited that long for a CPU), 'cpu>90%' (all CPUs together), 'cpu(PID)>150%' (a "
    "process; 100% is one CPU), 'psi>20' or 'psi:memory>20', 'psi:io>20' (percent of the time that tasks were "
    "stalled). "
    "A window may follow: 'cpu>90%/1s'.";

base::Error wrong(std::string_view text, std::string why) {
  return base::usage_error("cannot understand the trigger", std::string(text), std::move(why), kForms);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// A plain decimal number above 0.
std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0) return {};
  return value;
}

std::optional<nanoseconds> duration(std::string_view text) {
  double unit = 0;
  if (take_suffix(text, "ns"))
    unit = 1;
  else if (take_suffix(text, "us"))
    unit = 1e3;
  else if (take_suffix(text, "ms"))
    unit = 1e6;
  else if (take_suffix(text, "s"))
    unit = 1e9;
  const auto value = number(text);
  if (unit == 0 || !value || *value * unit > 1e15 || *value * unit < 1) return {};
  return nanoseconds(static_cast<int64_t>(*value * unit));
}

// What stands before the '>'. False: it is none of the names.
bool read_name(std::string_view name, TriggerSpec& spec) {
  if (name == "runqlat") {
    spec.kind = TriggerSpec::Kind::kRunQueueLatency;
  } else if (name == "cpu") {
    spec.kind = TriggerSpec::Kind::kMachineCpu;
    spec.window = kCpuWindow;
  } else if (name.starts_with("cpu(") && name.ends_with(")")) {
    spec.kind = TriggerSpec::Kind::kProcessCpu;
    spec.window = kCpuWindow;
    name = name.substr(4, name.size() - 5);
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), spec.pid);
    return error == std::errc() && end == name.data() + name.size() && spec.pid > 0;
  } else if (name == "psi" || name == "psi:cpu" || name == "psi:memory" || name == "psi:io") {
    spec.kind = TriggerSpec::Kind::kPressure;
    spec.window = kPressureWindow;
    spec.resource = name == "psi" ? "cpu" : name.substr(4);
  } else {
    return false;
  }
  return true;
}

}  // namespace

base::Result<TriggerSpec> parse_trigger_spec(std::string_view text) {
  TriggerSpec spec;
  spec.text = text;
  const size_t sign = text.find('>');
  if (sign == std::string_view::npos) return wrong(text, "it has no '>'");
  if (!read_name(trimmed(text.substr(0, sign)), spec)) return wrong(text, "what stands before the '>' is not known");
  std::string_view value = trimmed(text.substr(sign + 1));
  if (const size_t slash = value.find('/'); slash != std::string_view::npos) {
    if (spec.kind == TriggerSpec::Kind::kRunQueueLatency) return wrong(text, "runqlat has no window");
    const auto window = duration(trimmed(value.substr(slash + 1)));
    if (!window || *window < kLeastWindow || *window > kMostWindow) {
      return wrong(text, fmt::format("the window must be a duration from {} ms to {} s", kLeastWindow.count(),
                                     kMostWindow.count() / 1000));
    }
    spec.window = std::chrono::duration_cast<milliseconds>(*window);
    value = trimmed(value.substr(0, slash));
  }
  if (spec.kind == TriggerSpec::Kind::kRunQueueLatency) {
    const auto latency = duration(value);
    if (!latency || *latency > kMostLatency) return wrong(text, "the latency must be a duration such as 500us or 10ms");
    spec.latency = *latency;
    return spec;
  }
  take_suffix(value, "%");
  const auto percent = number(value);
  if (!percent) return wrong(text, "the limit must be a percentage above 0");
  if (spec.kind != TriggerSpec::Kind::kProcessCpu && *percent >= 100)
    return wrong(text, "nothing is above 100 percent");
  if (*percent > 1e7) return wrong(text, "no process uses that much");
  spec.percent = *percent;
  return spec;
}

}  // namespace tephra::collect
