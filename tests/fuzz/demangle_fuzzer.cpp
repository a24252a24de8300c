#include <cstdlib>

#include "objects/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view symbol(reinterpret_cast<const char*>(data), size);
  for (const auto parameters : {tephra::objects::Parameters::kLeaveOut, tephra::objects::Parameters::kShow}) {
    if (tephra::objects::demangle(symbol, parameters).size() > (64 << 10) + size) std::abort();
  }
  return 0;
}
