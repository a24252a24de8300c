#include <cstdint>
#include <span>

#include "formats/gperftools_cpu.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  const bool taken = formats::kGperftoolsCpu.refusal(bytes).empty();
  const auto profile = formats::kGperftoolsCpu.read(bytes);
  if (profile.ok() && !taken) __builtin_trap();
  return 0;
}
