#include <cstdint>
#include <span>

#include "formats/perf_data.h"
#include "stream/profile_builder.h"

// A recording of any bytes is refused, or read to its end with the same samples in every way of reading.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto recording = formats::kPerfData.open(std::as_bytes(std::span(data, size)));
  if (!recording.ok()) return 0;
  const auto counted = stream::build_profile(*recording, {});
  const auto every = stream::build_profile(*recording, {.keep_every_sample = true});
  uint64_t visited = 0;
  stream::for_each_sample(*recording, {}, [&](const stream::Sample&) { ++visited; });
  if (model::totals(counted).count != visited || model::totals(every) != model::totals(counted)) __builtin_trap();
  return 0;
}
