#pragma once

#include "base/result.h"
#include "model/profile.h"
#include "stream/profile_builder.h"
#include "stream/recording.h"
#include "stream/sample_filter.h"

namespace tephra::formats {

// The samples of a profile that a filter takes. An error when it asks for what the profile does not hold, such as
// times.
base::Result<model::Profile> filtered(model::Profile profile, const stream::SampleFilter& filter);

// The profile of a recording: what stream::build_profile gives, or such an error.
base::Result<model::Profile> filtered(const stream::Recording& recording, const stream::BuildOptions& options);

// That error, where the profile of all tasks names no processes, threads or names of threads, and the filter does.
base::Status check_tasks(const model::Profile& profile, const stream::SampleFilter& filter);

}  // namespace tephra::formats
