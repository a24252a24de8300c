#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/json_tape.h"

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

// A process or thread id: a number, a text of a number, or a text that merely tells processes apart, which is -1.
int32_t task_id(const base::Json& json);

// JSON text without what test tools put before it: lines between `---` and `---`.
std::string_view without_snapshot_header(std::string_view text);

}  // namespace tephra::formats
