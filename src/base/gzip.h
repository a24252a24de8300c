#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// A gzip file of bytes that are all there, made fast rather than small.
Result<std::string> gzip(Bytes bytes);

}  // namespace tephra::base
