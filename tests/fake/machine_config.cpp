#include "machine_config.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace tephra::fake {
namespace {

base::Error bad(std::string_view word, const std::string& why) {
  return base::usage_error("cannot read TEPHRA_FAKE_MACHINE", std::string(word), why, "See tests/fake/README.md.");
}

std::optional<double> number_of(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !std::isfinite(value) || value < 0 || value > 1e15) return {};
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t found = text.find(at);
    parts.push_back(text.substr(0, found));
    if (found == std::string_view::npos) return parts;
    text.remove_prefix(found + 1);
  }
}

// CALL[/KIND]:ERRNO[:after=N][:times=N]
base::Result<Refusal> parse_refusal(std::string_view text) {
  const auto parts = split(text, ':');
  Refusal refusal;
  const auto call = split(parts[0], '/');
  refusal.call = call[0];
  if (call.size() > 1) refusal.event = call[1];
  if (refusal.call != "perf_event_open" && refusal.call != "mmap" && refusal.call != "ioctl") {
    return bad(text, "the call is perf_event_open, mmap or ioctl");
  }
  if (parts.size() < 2 || (refusal.error = errno_of(parts[1])) == 0) return bad(text, "it names no error");
  for (size_t index = 2; index < parts.size(); ++index) {
    const auto pair = split(parts[index], '=');
    const auto value = pair.size() == 2 ? number_of(pair[1]) : std::nullopt;
    if (!value) return bad(text, "after=N or times=N");
    if (pair[0] == "after")
      refusal.after = static_cast<uint64_t>(*value);
    else if (pair[0] == "times")
      refusal.times = static_cast<uint64_t>(*value);
    else
      return bad(text, "after=N or times=N");
  }
  return refusal;
}

// NAME:WEIGHT/NAME:WEIGHT
base::Status parse_functions(std::string_view text, MachineConfig& config) {
  for (const std::string_view part : split(text, '/')) {
    const size_t colon = part.rfind(':');
    const auto weight = colon == std::string_view::npos ? std::nullopt : number_of(part.substr(colon + 1));
    if (!weight) return bad(part, "functions=NAME:WEIGHT/NAME:WEIGHT");
    config.functions.emplace_back(std::string(part.substr(0, colon)), *weight);
  }
  return {};
}

using Set = std::function<void(MachineConfig&, double)>;

const std::map<std::string_view, Set>& numeric_words() {
  static const std::map<std::string_view, Set> words{
      {"cpus", [](auto& c, double v) { c.cpus = static_cast<int>(v); }},
      {"pmu", [](auto& c, double v) { c.pmu = v != 0; }},
      {"stuck", [](auto& c, double v) { c.stuck = v != 0; }},
      {"counters", [](auto& c, double v) { c.counters = static_cast<int>(v); }},
      {"taken", [](auto& c, double v) { c.taken_counters = static_cast<int>(v); }},
      {"breakpoints", [](auto& c, double v) { c.breakpoints = static_cast<int>(v); }},
      {"precise", [](auto& c, double v) { c.max_precise = static_cast<int>(v); }},
      {"branches", [](auto& c, double v) { c.branches = v == 1 ? 32 : static_cast<int>(v); }},
      {"lbr", [](auto& c, double v) { c.branch_call_stacks = v != 0; }},
      {"privileged", [](auto& c, double v) { c.privileged = v != 0; }},
      {"max_rate", [](auto& c, double v) { c.max_sample_rate = static_cast<uint64_t>(v); }},
      {"mlock_kb", [](auto& c, double v) { c.mlock_bytes = static_cast<uint64_t>(v * 1024); }},
      {"tick_us", [](auto& c, double v) { c.tick_ns = static_cast<uint64_t>(std::max(1.0, v) * 1000); }},
      {"throttle", [](auto& c, double v) { c.throttle = v != 0; }},
      {"lose", [](auto& c, double v) { c.lose = static_cast<uint64_t>(v); }},
      {"lose_samples", [](auto& c, double v) { c.lose_samples = static_cast<uint64_t>(v); }},
      {"rate", [](auto& c, double v) { c.rate = v; }},
  };
  return words;
}

base::Status apply_word(std::string_view word, MachineConfig& config) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return bad(word, "a word is NAME=VALUE");
  const auto name = word.substr(0, equals);
  const auto value = word.substr(equals + 1);
  if (name == "refuse") {
    TEPHRA_TRY(Refusal refusal, parse_refusal(value));
    config.refusals.push_back(std::move(refusal));
    return {};
  }
  if (name == "kernel") {
    const auto age = kernel_age(value);
    if (!age) return bad(word, "no such kernel is known");
    config.kernel = *age;
    return {};
  }
  if (name == "functions") return parse_functions(value, config);
  if (name == "paranoid") {
    config.paranoid = std::atoi(std::string(value).c_str());
    return {};
  }
  const auto found = numeric_words().find(name);
  if (found == numeric_words().end()) return bad(word, "no such word");
  const auto number = number_of(value);
  if (!number) return bad(word, "the value is a number");
  found->second(config, *number);
  return {};
}

}  // namespace

std::optional<KernelAge> kernel_age(std::string_view version) {
  static const std::map<std::string_view, KernelAge> ages{
      {"3.10", {96, 23, 16, 4, 10, false}},  {"4.4", {112, 27, 19, 4, 14, false}},
      {"4.19", {112, 29, 20, 4, 17, false}}, {"5.4", {112, 32, 20, 4, 17, false}},
      {"5.15", {128, 38, 25, 4, 18, false}}, {"6.1", {128, 38, 25, 5, 19, false}},
      {"6.12", {136, 38, 25, 5, 20, true}},
  };
  const auto found = ages.find(version);
  return found == ages.end() ? std::nullopt : std::optional(found->second);
}

int errno_of(std::string_view name) {
  static const std::map<std::string_view, int> numbers{
      {"EPERM", EPERM},        {"ENOENT", ENOENT}, {"ESRCH", ESRCH},   {"EINTR", EINTR},   {"EIO", EIO},
      {"E2BIG", E2BIG},        {"EBADF", EBADF},   {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
      {"EFAULT", EFAULT},      {"EBUSY", EBUSY},   {"ENODEV", ENODEV}, {"EINVAL", EINVAL}, {"ENFILE", ENFILE},
      {"EMFILE", EMFILE},      {"ENOTTY", ENOTTY}, {"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP},
      {"EOVERFLOW", EOVERFLOW}};
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

base::Result<MachineConfig> parse_machine(std::string_view text) {
  MachineConfig config;
  if (text.empty()) return config;
  for (const std::string_view word : split(text, ',')) TEPHRA_CHECK_OK(apply_word(word, config));
  if (config.cpus < 1 || config.cpus > 4096) return bad("cpus", "1 to 4096");
  return config;
}

}  // namespace tephra::fake
