#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "stream/embedded_names.h"

// What was read can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto section = stream::parse_section(std::as_bytes(std::span(data, size)));
  if (!section) return 0;
  const auto text = stream::print_section(*section);
  if (!text || !stream::parse_section(base::as_bytes(*text))) __builtin_trap();
  stream::RecordedWalks::Chain chain;
  for (const auto& walk : section->walks.walks()) section->walks.find(walk.position, chain);
  return 0;
}
