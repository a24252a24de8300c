#include <cstdlib>

#include "kernel/btf_names.h"

// The name to look for is cut from the input itself, so that it is found now and then.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tephra::kernel::BtfKind;
  if (size < 2) return 0;
  const tephra::base::Bytes input(reinterpret_cast<const std::byte*>(data), size);
  const size_t length = data[0] % size;
  const auto name = tephra::base::as_text(input.last(length));
  for (const BtfKind kind : {BtfKind::kTypedef, BtfKind::kFunction}) {
    const auto found = tephra::kernel::find_btf_type(input.subspan(1), kind, name);
    if (found && *found == 0) std::abort();
  }
  return 0;
}
