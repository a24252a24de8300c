#pragma once

#include "formats/format.h"

namespace tephra::formats {

// The whole profile as JSON tables, for programs that want all that is known. Only written. docs/convert.md describes
// each field.
extern const Format kJson;

}  // namespace tephra::formats
