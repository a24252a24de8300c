#include <cstdint>
#include <span>

#include "formats/bpftrace.h"
#include "formats/folded.h"

// Any text is read, and its stacks can be folded.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kBpftrace.refusal(bytes);
  const auto profile = formats::kBpftrace.read(bytes);
  if (!profile.ok()) __builtin_trap();
  (void)formats::write_folded(*profile, {});
  return 0;
}
