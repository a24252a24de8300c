#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tephra::objects {

// The checksum that .gnu_debuglink holds of the debug file's bytes.
uint32_t crc32(base::Bytes bytes);

}  // namespace tephra::objects
