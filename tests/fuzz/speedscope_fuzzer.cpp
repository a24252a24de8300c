#include <cstdint>
#include <span>

#include "formats/speedscope.h"

// Any text is read or refused, and what is written of a profile is read again with the same sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kSpeedscope.refusal(bytes);
  const auto profile = formats::kSpeedscope.read(bytes);
  if (!profile.ok()) return 0;
  const auto text = formats::kSpeedscope.write(*profile);
  if (!text.ok()) __builtin_trap();
  const auto again = formats::kSpeedscope.read(base::as_bytes(*text));
  if (!again.ok() || !formats::kSpeedscope.refusal(base::as_bytes(*text)).empty()) __builtin_trap();
  if (again->samples.size() != profile->samples.size()) __builtin_trap();
  if (model::totals(*again) != model::totals(*profile)) __builtin_trap();
  return 0;
}
