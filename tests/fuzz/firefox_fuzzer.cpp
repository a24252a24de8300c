#include <cstdint>
#include <span>

#include "formats/firefox.h"

// Any text is read or refused, and what is written of a profile is read again with the same sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kFirefox.refusal(bytes);
  const auto profile = formats::kFirefox.read(bytes);
  if (!profile.ok()) return 0;
  const auto text = formats::kFirefox.write(*profile);
  if (!text.ok()) __builtin_trap();
  const auto again = formats::kFirefox.read(base::as_bytes(*text));
  if (!again.ok() || !formats::kFirefox.refusal(base::as_bytes(*text)).empty()) __builtin_trap();
  if (again->samples.size() != profile->samples.size()) __builtin_trap();
  // Times are written as milliseconds: beyond what a double holds exactly, nanoseconds are rounded.
  const auto exact = [](const model::Profile& of) {
    uint64_t largest = 0;
    for (const uint64_t value : of.samples.value) largest = value > largest ? value : largest;
    return largest < uint64_t{1} << 50;
  };
  if (exact(*profile) && model::totals(*again) != model::totals(*profile)) __builtin_trap();
  return 0;
}
