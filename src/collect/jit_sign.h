#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tephra::collect {

// What a record says that matters to whoever looks for names of generated code.
struct JitSign {
  enum class Kind : uint8_t {
    kMemory,   // executable memory without a file
    kJitdump,  // the marker of a jitdump, at `path`
    kJavaVm,   // the library that runs Java
    kExec,     // the process runs another program
    kFork,     // from `parent`
    kExit,
  };
  Kind kind = Kind::kMemory;
  pid_t pid = 0;
  pid_t parent = 0;
  uint64_t time = 0;
  std::string path;
};

// Whether records of that type can be signs.
bool may_be_jit_sign(uint32_t type);

// Reads a whole record of such a type, which ends with a SampleIdTrailer.
std::optional<JitSign> read_jit_sign(base::Bytes record);

}  // namespace tephra::collect
