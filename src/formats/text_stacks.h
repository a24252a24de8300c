#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/joined_samples.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// Builds a profile of the stacks that bpftrace and bcc print: names, some with an address or an offset, and code
// objects in bpftrace's likeness of perf alone.
class TextStacks {
 public:
  // A frame as it is printed: "do_syscall_64+92", "ffffffff81189249 filemap_map_pages", "0x55d0", "[unknown]",
  // "7a32fc push()+412 (/usr/lib/cc1plus)".
  struct Frame {
    std::string_view name;  // empty: unknown
    uint64_t address = 0;
    uint32_t offset = 0;
    std::string_view module = {};
    bool kernel = false;
  };
  static Frame parse_frame(std::string_view text);

  struct Sample {
    std::vector<Frame> frames;  // from the innermost on
    std::string_view comm;
    int32_t pid = -1;
    std::string_view event;
    std::string_view unit = {};  // empty: as the event is called
    bool uncounted = false;      // the value does not say how often it happened
    uint64_t count = 1;
    uint64_t value = 1;
  };
  void add(const Sample& sample);
  void add_malformed() { ++assembler_.quality()[model::Reason::malformed_records]; }

  model::Profile finish(std::string_view format) &&;

 private:
  model::MappingId mapping_of(const Frame& frame);

  model::ProfileAssembler assembler_;
  model::MappingId names_only_ = assembler_.mapping({.kind = model::CodeKind::kImported});
  JoinedSamples samples_;
};

}  // namespace tephra::formats
