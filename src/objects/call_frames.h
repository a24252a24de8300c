#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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
  // A section of call-frame information.
  struct Source {
    base::Bytes content;
    uint64_t address = 0;
    bool is_eh_frame = true;
    bool is_64bit = true;
  };
  // The rules common to several functions.
  struct Common {
    uint64_t code_alignment = 1;
    uint64_t return_register = 0;
    uint8_t pointer_encoding = 0;
    bool has_augmentation = false;
    base::Bytes instructions;
  };
  struct Description {
    uint64_t begin = 0;
    uint64_t end = 0;
    Common common;
    base::Bytes instructions;
  };
  struct IndexRow {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;  // in the source
  };
  class Rules;

  void use_header(const ElfFile& elf);
  void index_all();
  std::optional<uint64_t> search_header(uint64_t address) const;
  std::optional<uint64_t> search_index(uint64_t address) const;
  std::optional<Description> describe(uint64_t offset) const;
  std::optional<Common> read_common(uint64_t offset) const;
  std::optional<uint64_t> read_pointer(base::ByteReader& reader, uint8_t encoding, uint64_t reader_start) const;

  Source source_;
  uint64_t frame_register_ = 0;
  // The sorted table of .eh_frame_hdr: pairs of offsets from its address. Empty: the index is used.
  base::Bytes header_table_;
  uint64_t header_address_ = 0;
  std::vector<IndexRow> index_;
};

}  // namespace tephra::objects
