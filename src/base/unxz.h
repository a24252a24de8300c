#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tephra::base {

// What xz streams, one after the other, hold. Nothing when they are damaged, hold more than `limit` bytes, or need more
// than `memory` beside the result. The default is enough for every preset of xz but the largest, which embedded data is
// not made with.
std::optional<std::string> unxz(Bytes compressed, size_t limit, uint64_t memory = uint64_t{64} << 20);

}  // namespace tephra::base
