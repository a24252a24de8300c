#include <algorithm>
#include <cstdlib>

#include "objects/kallsyms.h"

// The first byte decides the size of the pieces; the answers must not depend on it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using tephra::objects::Kallsyms;
  const tephra::base::Bytes text(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  const std::vector<uint64_t> wanted{0x10, 0x1000, 0xffffffff81000010, 0xffffffffc0000000, UINT64_MAX};
  Kallsyms whole(wanted);
  whole.feed(text);
  whole.finish();
  Kallsyms pieces(wanted);
  const size_t step = data[0] + size_t{1};
  for (size_t at = 0; at < text.size(); at += step) {
    if (!pieces.feed(text.subspan(at, std::min(step, text.size() - at)))) break;
  }
  pieces.finish();
  for (const uint64_t address : wanted) {
    const auto* a = whole.find(address);
    const auto* b = pieces.find(address);
    if ((a == nullptr) != (b == nullptr) || (a != nullptr && a->name != b->name)) std::abort();
  }
  return 0;
}
