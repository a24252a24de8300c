#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace tephra::formats {

// Code objects in the words of `perf script`, which other programs look for.

// "[kernel.kallsyms]", "[nf_tables]", "/tmp/perf-123.map", "/usr/lib/libc.so.6".
std::string script_module(const model::Profile& profile, const model::Mapping& mapping);

// What such a word tells: the kind of code, and whose it is. "[unknown]" is told by the address.
struct ScriptModule {
  model::CodeKind kind = model::CodeKind::kNone;
  int32_t pid = 0;  // of generated code
};
ScriptModule parse_script_module(std::string_view module, uint64_t address);

}  // namespace tephra::formats
