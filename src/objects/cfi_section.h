#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// What several functions share (a common information entry).
struct CfiCommon {
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  bool is_signal_frame = false;
  base::Bytes instructions;
};

// What is described together, as a rule a function (a frame description entry). Addresses are as linked.
struct CfiFunction {
  uint64_t begin = 0;
  uint64_t end = 0;
  base::Bytes instructions;
};

// A section of call-frame information, as entries; what their instructions mean is CfiProgram's matter. Holds views
// into the bytes it was made from.
class CfiSection {
 public:
  enum class Kind { kEhFrame, kDebugFrame };
  // Where the size of the section is not known, it ends at the first length of zero.
  enum class End { kAtSize, kAtZero };

  // One entry: its bytes after the length, and where they and the next entry begin.
  struct Entry {
    base::Bytes content;
    uint64_t begin = 0;
    uint64_t next = 0;
    bool is_wide = false;  // 64-bit DWARF
  };

  CfiSection() = default;
  // `address` is that of the content, `data_base` what pointers "relative to data" are relative to.
  CfiSection(base::Bytes content, uint64_t address, Kind kind, bool is_64bit, uint64_t data_base = 0,
             End end = End::kAtSize)
      : content_(content), address_(address), data_base_(data_base), kind_(kind), end_(end), is_64bit_(is_64bit) {}

  bool empty() const { return content_.empty(); }
  uint64_t address() const { return address_; }
  base::Bytes content() const { return content_; }

  // The entry that begins there; nothing at the end, at the zero that ends .eh_frame, and where it is damaged.
  std::optional<Entry> entry(uint64_t offset) const;
  // Whether there is no entry there, but a length of zero of 4 bytes and more behind it: object files that were linked
  // in may end with one.
  bool goes_on_after(uint64_t offset) const;
  // Where the common entry of a function's entry is; nothing if the entry is a common one itself.
  std::optional<uint64_t> common_of(const Entry& entry) const;
  std::optional<CfiCommon> read_common(uint64_t offset) const;
  // `common` is what common_of points to.
  std::optional<CfiFunction> read_function(const Entry& entry, const CfiCommon& common) const;
  // An encoded pointer; `reader` is over bytes that begin at `reader_start` of the section.
  std::optional<uint64_t> read_pointer(base::ByteReader& reader, uint8_t encoding, uint64_t reader_start) const;
  // Where bytes that are part of this section begin.
  uint64_t offset_of(base::Bytes part) const { return static_cast<uint64_t>(part.data() - content_.data()); }

 private:
  void read_augmentation(base::ByteReader& reader, std::string_view letters, uint64_t start, CfiCommon& common) const;

  base::Bytes content_;
  uint64_t address_ = 0;
  uint64_t data_base_ = 0;
  Kind kind_ = Kind::kEhFrame;
  End end_ = End::kAtSize;
  bool is_64bit_ = true;
};

// What .eh_frame_hdr tells, if it has the form that every linker writes.
struct EhFrameHeader {
  uint64_t address = 0;   // of the header
  uint64_t eh_frame = 0;  // where .eh_frame is
  base::Bytes table;      // pairs of 32-bit offsets from `address`: where a function begins, where its entry is; sorted
};
std::optional<EhFrameHeader> read_eh_frame_header(const ElfFile& elf);

// .eh_frame of a file, by its section, else (files without sections) by its header; empty where there is none.
CfiSection eh_frame_of(const ElfFile& elf);

}  // namespace tephra::objects
