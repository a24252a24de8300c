#pragma once

#include "base/bytes.h"
#include "stream/perf_file.h"
#include "stream/recording.h"

namespace tephra::formats {

// Puts what a section says into the recording. Sections that are not known, or broken, change nothing; false: broken.
bool read_feature(uint32_t feature, base::Bytes section, stream::Recording& recording);

// Parses a perf_event_attr of any version; `bytes` is the attribute alone.
stream::EventLayout read_attribute(base::Bytes bytes);

// A BUILD_ID record, from the feature section or from the stream.
bool read_build_id(base::Bytes record, uint16_t misc, stream::Recording& recording);

}  // namespace tephra::formats
