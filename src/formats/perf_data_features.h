#pragma once

#include "base/bytes.h"
#include "stream/recording.h"

namespace tephra::formats {

// Numbers of perf.data's feature sections.
enum PerfFeature : uint32_t {
  kFeatureTracingData = 1,
  kFeatureBuildId = 2,
  kFeatureHostname = 3,
  kFeatureOsRelease = 4,
  kFeatureArch = 6,
  kFeatureCommandLine = 11,
  kFeatureEventDescription = 12,
  kFeatureCompressed = 27,
};
inline constexpr uint32_t kFeatureBits = 256;

// Puts what a section says into the recording. Sections that are not known, or broken, change nothing; false: broken.
bool read_feature(uint32_t feature, base::Bytes section, stream::Recording& recording);

// Parses a perf_event_attr of any version; `bytes` is the attribute alone.
stream::EventLayout read_attribute(base::Bytes bytes);

// A BUILD_ID record, from the feature section or from the stream.
bool read_build_id(base::Bytes record, uint16_t misc, stream::Recording& recording);

}  // namespace tephra::formats
