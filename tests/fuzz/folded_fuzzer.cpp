#include <cstdint>
#include <span>

#include "formats/folded.h"

// Any text is read, and what is written of it is read again with the same sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kFolded.refusal(bytes);
  const auto profile = formats::kFolded.read(bytes);
  if (!profile.ok()) return 0;
  const auto text = formats::write_folded(*profile, {});
  const auto again = formats::kFolded.read(base::as_bytes(text));
  if (!again.ok() || again.value().quality[model::Reason::malformed_records] != 0) __builtin_trap();
  if (model::totals(*again).count != model::totals(*profile).count) __builtin_trap();
  if (formats::write_folded(*again, {}) != text) __builtin_trap();
  return 0;
}
