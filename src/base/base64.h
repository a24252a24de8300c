#pragma once

#include <string>

#include "base/bytes.h"

namespace tephra::base {

// Appends bytes as base64 with padding (RFC 4648), on one line.
void append_base64(std::string& out, Bytes bytes);

}  // namespace tephra::base
