#include "kernel/trial.h"

#include <cstring>
#include <string_view>

namespace tephra::kernel {
namespace {

constexpr int kNotSupportedInside = 524;  // ENOTSUPP, which the kernel should keep to itself and does not

// The verifier ends with a line of statistics that explains nothing.
std::string last_telling_line(std::string_view log) {
  while (!log.empty()) {
    const size_t break_at = log.find_last_not_of("\n\0 ");
    if (break_at == std::string_view::npos) return {};
    log = log.substr(0, break_at + 1);
    const size_t start = log.rfind('\n') + 1;
    const std::string_view line = log.substr(start);
    if (!line.starts_with("processed ") && !line.starts_with("verification time ")) return std::string(line);
    log = log.substr(0, start);
  }
  return {};
}

}  // namespace

Trial granted() { return {.tried = true, .works = true}; }

Trial refused(int error, const std::string& log) {
  Trial trial{.tried = true, .works = false, .error = error};
  trial.reason = last_telling_line(log);
  if (trial.reason.empty()) trial.reason = error == kNotSupportedInside ? "Not supported" : std::strerror(error);
  return trial;
}

Trial useless(std::string reason) { return {.tried = true, .works = false, .error = 0, .reason = std::move(reason)}; }

}  // namespace tephra::kernel
