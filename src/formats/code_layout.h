#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/embedded_names.h"
#include "model/profile.h"

namespace tephra::formats {

// Puts the code of a profile back into memory: where each mapping is, at which address each frame, and what the names
// are at those addresses. Profiles know offsets in files, or names alone; files of single samples need addresses.
//
// Where a profile knows an address it is kept. Files are put where nothing else is. A frame whose place in its mapping
// is not known, or belongs to a frame of another name, gets a place of its own in a mapping that stands for names only;
// in the kernel, as a piece of code with its name.
class CodeLayout {
 public:
  // A range of memory, the same in every process that has it.
  struct Range {
    model::MappingId mapping;                       // what it is in the profile
    model::CodeKind kind = model::CodeKind::kNone;  // what it will be read as
    std::string path;                               // as it will be recorded
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;  // of `start` in the file
  };

  explicit CodeLayout(const model::Profile& profile);

  const std::vector<Range>& ranges() const { return ranges_; }

  // A stack is a chain of addresses. That of the innermost; `stack` is not the empty one.
  struct Place {
    uint64_t address = 0;         // to be read as where execution was
    uint64_t return_address = 0;  // to be read as where a call returns to
    bool kernel = false;
    uint32_t range = kNoRange;  // in ranges()
  };
  static constexpr uint32_t kNoRange = UINT32_MAX;
  const Place& place(model::StackId stack) const { return places_[location_[stack.value]]; }
  // The stack of its caller; functions that are inlined into one are at one address.
  model::StackId caller(model::StackId stack) const { return caller_[stack.value]; }

  // The names by the addresses that a reader of the recording will find. `processes` are those that have a range, by
  // its number, for memory that is of one process.
  model::EmbeddedNames names(const std::vector<std::vector<int32_t>>& processes) const;

 private:
  friend class LayoutMaker;
  friend class LayoutNames;

  // How a location will be read: as the place of an instruction, as a return address, or both.
  enum Use : uint8_t { kAsInstruction = 1, kAsReturn = 2 };
  // A function, or one that is inlined at the same place into the one of another location: a run of inlined functions
  // is a chain, so that its memory grows as it does.
  struct Location {
    model::FrameId frame;
    model::FrameId holder;      // the outermost, which has the place
    uint32_t outer = kNoOuter;  // location
    uint32_t depth = 1;         // how many functions there are at the place
    uint32_t names = 0;         // the same in locations that are read alike
  };
  static constexpr uint32_t kNoOuter = UINT32_MAX;

  const model::Profile& profile_;
  std::vector<Range> ranges_;
  std::vector<Location> locations_;
  std::vector<Place> places_;           // by location
  std::vector<uint8_t> uses_;           // by location
  std::vector<uint32_t> location_;      // by stack
  std::vector<model::StackId> caller_;  // by stack
};

}  // namespace tephra::formats
