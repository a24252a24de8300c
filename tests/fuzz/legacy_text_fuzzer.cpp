#include <cstdint>
#include <span>

#include "formats/contentionz.h"
#include "formats/go_count.h"
#include "formats/java_profile.h"
#include "formats/threadz.h"

// Contention, threads and Go's counts as text, and the memory maps behind them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const formats::Format* format :
       {&formats::kContentionz, &formats::kThreadz, &formats::kGoCount, &formats::kJavaProfile}) {
    if (!format->refusal(bytes).empty()) continue;
    const auto profile = format->read(bytes);
    if (!profile.ok() && profile.error().why.empty()) __builtin_trap();
  }
  return 0;
}
