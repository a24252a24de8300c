#pragma once

#include "base/bytes.h"

namespace tephra::base {

// Decompresses a zlib stream that must yield exactly `output.size()` bytes. False when it does not.
bool inflate_into(Bytes compressed, std::span<std::byte> output);

}  // namespace tephra::base
