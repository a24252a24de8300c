#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::formats {

// The processed format, version 61: tables that all threads share.
base::Result<std::string> write_firefox(const model::Profile& profile);

}  // namespace tephra::formats
