#pragma once

#include "base/bytes.h"

namespace tephra::symbols {

// The image that this kernel maps into this process; empty where it maps none. It is the one of a recording only when
// the recording is of this kernel.
base::Bytes own_vdso();

}  // namespace tephra::symbols
