#include <cstdint>
#include <string_view>

#include "collect/share_trigger.h"
#include "collect/trigger_spec.h"

// Any text is a trigger or a usage error, and what is a trigger can be one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra::collect;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_cpu_times(text);
  parse_stalled_us(text);
  const auto spec = parse_trigger_spec(text);
  if (!spec.ok()) return 0;
  const bool latency = spec.value().kind == TriggerSpec::Kind::kRunQueueLatency;
  if (latency ? spec.value().latency.count() <= 0 : !(spec.value().percent > 0)) __builtin_trap();
  if (!latency && spec.value().window.count() <= 0) __builtin_trap();
  return 0;
}
