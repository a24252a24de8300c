#pragma once

#include <cstdint>
#include <string_view>

#include "model/profile_assembler.h"

namespace tephra::formats {

// A mapping as the profile of one process tells it: the addresses, and which part of which file they show.
struct ImportedMapping {
  std::string_view path;
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t offset = 0;
  model::BuildId build_id;
};

// The model has the file as a whole: from where its first byte would be up to the end of the part.
model::MappingId add_mapping(model::ProfileAssembler& assembler, const ImportedMapping& from);

// What a frame in `mapping` has for an address of that process.
uint64_t frame_address(const model::Mapping& mapping, uint64_t address);

}  // namespace tephra::formats
