#include <cstdint>
#include <string_view>

#include "collect/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra::collect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = parse_control(text);
  if (spec.ok() && spec.value().control_path.empty() && spec.value().control_fd < 0) __builtin_trap();
  parse_control_command(text);
  return 0;
}
