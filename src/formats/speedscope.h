#pragma once

#include "formats/format.h"

namespace tephra::formats {

// speedscope's own JSON: profiles of samples or of frames that open and close. Written as samples, a profile for each
// thread and event, in the order of time where that is known.
extern const Format kSpeedscope;

}  // namespace tephra::formats
