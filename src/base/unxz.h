#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tephra::base {

// What an xz stream holds. Nothing when it is damaged, or holds more than `limit` bytes. Needs some 64 MiB beside the
// result at most.
std::optional<std::string> unxz(Bytes compressed, size_t limit);

}  // namespace tephra::base
