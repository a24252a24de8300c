#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tape.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// What both of Firefox's formats have in common when they are read: code objects, frames, threads and times.
class FirefoxProfile {
 public:
  FirefoxProfile();

  // A code object as the list `libs` describes it.
  struct Library {
    model::MappingId mapping;
    uint64_t start = 0;  // where it was mapped; all of these are zero where frames are relative to it
    uint64_t end = 0;
    uint64_t offset = 0;
  };
  Library library(const base::Json& lib);

  // Where code is, as far as a frame tells.
  struct Place {
    std::string_view name;
    const Library* library = nullptr;
    std::optional<uint64_t> address;  // relative to the library
    model::AddressKind kind = model::AddressKind::kInstruction;
    bool kernel = false;
    bool inlined = false;
    std::string_view file;
    int64_t line = 0;
    int64_t start_line = 0;
  };
  model::FrameId frame(const Place& place);

  // `in_firefox`: of the program itself, as is_of_firefox() says.
  model::ThreadId thread(const base::Json& thread, bool in_firefox);
  void read_meta(const base::Json& meta);

  model::ProfileAssembler& assembler() { return assembler_; }
  model::Profile finish() &&;

 private:
  model::MappingId names_only(std::string_view path, bool kernel);

  model::ProfileAssembler assembler_;
};

// Whether the program that `meta` describes is Firefox.
bool is_of_firefox(const base::Json& meta);

// Milliseconds as nanoseconds, from zero on.
uint64_t nanoseconds_of(double milliseconds);
uint32_t line_of(int64_t number);

// Both throw MalformedJson.
model::Profile read_firefox_processed(const base::Json& root);
model::Profile read_gecko(const base::Json& root);

}  // namespace tephra::formats
