#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tephra::unwind {

// The processors whose stacks can be walked.
enum class Machine : uint8_t { kX86_64, kArm64 };

// By the name in a recording's header. Nothing for others.
inline std::optional<Machine> machine_named(std::string_view name) {
  if (name == "x86_64") return Machine::kX86_64;
  if (name == "aarch64" || name == "arm64") return Machine::kArm64;
  return {};
}

}  // namespace tephra::unwind
