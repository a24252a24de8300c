#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// How a file is compressed, by its first bytes; empty when it is not, or in a way that is not known.
std::string_view packing_of(Bytes bytes);

// What a file compressed by gzip, zstd or xz holds. Several streams one after the other are one file, as their own
// tools read them. Refuses what is damaged, and what would become larger than `limit`.
Result<std::string> unpack(Bytes packed, size_t limit);

}  // namespace tephra::base
