#include <cstdint>
#include <string_view>

#include "kernel/made_up_sources.h"

// Any text is events or an error, whatever it stands for on a made-up machine; what parsed does so again under its
// groups and rates.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  static const kernel::MadeUpSources machine;
  static kernel::EventSources sources = machine.sources();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kernel::parse_term_bits(text);
  const auto events = kernel::parse_events(text, sources);
  if (!events.ok()) {
    if (events.error().message().empty()) __builtin_trap();
    return 0;
  }
  int group = -1;
  for (const kernel::EventSpec& event : *events) {
    if (event.name.empty() || event.precise > 3) __builtin_trap();
    if (event.period && event.frequency) __builtin_trap();
    if (event.group > group + 1) __builtin_trap();
    if (event.group > group) group = event.group;
  }
  return 0;
}
