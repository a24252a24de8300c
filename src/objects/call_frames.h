#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "objects/cfi_program.h"
#include "objects/cfi_section.h"
#include "objects/debug_frame.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// What call-frame information (.eh_frame, else .debug_frame) tells about a place in the code. Addresses are as linked.
// Holds views into the bytes of the files it was made from.
class CallFrames {
 public:
  struct Facts {
    uint64_t function_start = 0;  // of the piece of code that is described together, as a rule a function
    uint64_t function_end = 0;
    bool outermost = false;        // the return address is undefined: there is no caller
    bool frame_is_set_up = false;  // the frame pointer holds this function's frame
  };

  // `debug_file`: where to look for .debug_frame when the file itself has no call-frame information; may be null.
  explicit CallFrames(const ElfFile& elf, const ElfFile* debug_file = nullptr);

  // Nothing where the address is not described.
  std::optional<Facts> find(uint64_t address) const;

 private:
  struct IndexRow {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;  // in the section
  };

  void index_all();
  std::optional<uint64_t> search_header(uint64_t address) const;
  std::optional<uint64_t> search_index(uint64_t address) const;

  std::shared_ptr<const DebugFrame> debug_frame_;  // what section_ may be of
  CfiSection section_;
  CfiRegisters registers_;
  // Used unless empty; else the index is.
  EhFrameHeader header_;
  std::vector<IndexRow> index_;
};

}  // namespace tephra::objects
