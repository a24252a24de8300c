#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::formats {

// The formats that are JSON text, told apart by the names of the outermost members.
enum class JsonProfile { kNone, kSpeedscopeJson, kFirefoxJson, kCpuProfileJson, kTraceJson };

// Why `bytes` are not JSON text of that kind, as the end of "NAME: …"; empty where they are. Looks no further into the
// text than to the members that decide.
std::string json_refusal(base::Bytes bytes, JsonProfile wanted);

// What is wrong with a profile, as the end of a sentence. Thrown and caught inside of a reader.
struct MalformedJson {
  std::string why;
};

// JSON text without what test tools put before it: lines between `---` and `---`.
std::string_view without_snapshot_header(std::string_view text);

}  // namespace tephra::formats
