#pragma once

#include "base/bytes.h"

namespace tephra::formats {

// Whether it is known by the first MiB of a longer file which format it is of, or that it is of none: each format says
// of the beginning what it says of the whole.
bool decides_format(base::Bytes beginning);

}  // namespace tephra::formats
