#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tephra::formats::pprof {

// The numbers of fields in profile.proto.
enum class ProfileField : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kDropFrames = 7,
  kKeepFrames = 8,
  kTime = 9,
  kDuration = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultType = 14,
};
enum class ValueTypeField : uint32_t { kType = 1, kUnit = 2 };
enum class SampleField : uint32_t { kLocation = 1, kValue = 2, kLabel = 3 };
enum class LabelField : uint32_t { kKey = 1, kText = 2, kNumber = 3, kUnit = 4 };
enum class MappingField : uint32_t {
  kId = 1,
  kStart = 2,
  kLimit = 3,
  kOffset = 4,
  kFile = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFiles = 8,
  kHasLines = 9,
  kHasInlined = 10,
};
enum class LocationField : uint32_t { kId = 1, kMapping = 2, kAddress = 3, kLine = 4 };
enum class LineField : uint32_t { kFunction = 1, kLine = 2 };
enum class FunctionField : uint32_t { kId = 1, kName = 2, kSystemName = 3, kFile = 4, kStartLine = 5 };

// Labels that say whose a sample is. tephra writes them, and others do.
inline constexpr std::string_view kPidLabel = "pid";
inline constexpr std::string_view kTidLabel = "tid";
inline constexpr std::string_view kCommLabel = "comm";

// What a type of value is called that counts samples.
inline constexpr std::string_view kSamples = "samples";

// How stand-ins for names begin.
inline constexpr std::string_view kUnknown = "[unknown]";

// Units that are spelled otherwise here.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kUnits{{{"ns", "nanoseconds"}}};

}  // namespace tephra::formats::pprof
