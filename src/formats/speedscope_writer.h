#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::formats {

base::Result<std::string> write_speedscope(const model::Profile& profile);

}  // namespace tephra::formats
