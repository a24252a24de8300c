#pragma once

#include "base/result.h"
#include "model/profile.h"
#include "stream/sample_filter.h"

namespace tephra::formats {

// The samples of a profile that a filter takes. An error when it asks for what the profile does not hold, such as
// times.
base::Result<model::Profile> filtered(model::Profile profile, const stream::SampleFilter& filter);

}  // namespace tephra::formats
