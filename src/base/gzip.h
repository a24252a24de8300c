#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

enum class Packing { kFast, kSmall };

// A gzip file of bytes that are all there. Making a small one takes a few times as long.
Result<std::string> gzip(Bytes bytes, Packing packing = Packing::kFast);

}  // namespace tephra::base
