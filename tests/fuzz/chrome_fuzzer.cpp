#include <cstdint>
#include <span>

#include "formats/chrome.h"
#include "formats/speedscope.h"

// Any text is read or refused by both formats, and what was read can be written.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const formats::Format* format : {&formats::kChromeProfile, &formats::kChromeTrace}) {
    (void)format->refusal(bytes);
    const auto profile = format->read(bytes);
    if (!profile.ok()) continue;
    const model::Samples& samples = profile->samples;
    if (!samples.time.empty() && samples.time.size() != samples.size()) __builtin_trap();
    if (!formats::kSpeedscope.write(*profile).ok()) __builtin_trap();
  }
  return 0;
}
