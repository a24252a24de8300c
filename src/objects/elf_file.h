#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::objects {

// The headers of an ELF file of this machine's byte order, 32 or 64 bit. Holds views into the bytes it was parsed from,
// which must outlive it. A section or segment that reaches past the end of the file is cut there, so that a file
// without its tail still gives what it has.
class ElfFile {
 public:
  struct Section {
    std::string_view name;
    uint32_t type = 0;
    uint64_t flags = 0;
    uint64_t address = 0;
    uint64_t size = 0;  // as stated; `content` may be shorter
    uint32_t link = 0;
    uint64_t entry_size = 0;
    base::Bytes content;             // empty for sections without bytes in the file, and for compressed ones
    base::Bytes compressed_content;  // of a compressed section, its header included
  };
  struct Segment {
    uint32_t type = 0;
    uint32_t flags = 0;
    uint64_t offset = 0;
    uint64_t address = 0;
    uint64_t file_size = 0;
    uint64_t memory_size = 0;
  };
  // The name of the separate debug file and its checksum.
  struct DebugLink {
    std::string_view name;
    uint32_t crc = 0;
  };
  // The name and build id of the file that dwz moved common debug information to.
  struct AlternateLink {
    std::string_view name;
    base::Bytes build_id;
  };

  // Fills in a part of a file that is read piece by piece (base::FileCopy).
  using Need = std::function<void(uint64_t offset, uint64_t size)>;

  // With `need`, nothing of the file is there before it was asked for: the headers, their names and the build id are,
  // by this; all else is to be asked for by need() before it is looked at.
  static base::Result<ElfFile> parse(base::Bytes file, Need need = {});

  // Makes sure that a part of the file is there: of a section's content, or of bytes_at().
  void need(base::Bytes part) const;

  bool is_64bit() const { return is_64bit_; }
  uint16_t machine() const { return machine_; }
  uint16_t type() const { return type_; }
  uint64_t entry() const { return entry_; }  // where a program begins; 0 where the file tells none
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // The first section of that name, or null.
  const Section* section(std::string_view name) const;
  const Section* section_at(uint32_t index) const { return index < sections_.size() ? &sections_[index] : nullptr; }
  base::Bytes build_id() const { return build_id_; }
  std::optional<DebugLink> debug_link() const;
  std::optional<AlternateLink> alternate_link() const;
  // Whether there is DWARF in the file itself.
  bool has_debug_info() const;

  // Where a byte of the file is in memory as linked, and back. A file offset may be loaded by several segments; the
  // executable one is preferred.
  std::optional<uint64_t> address_of_offset(uint64_t offset) const;
  std::optional<uint64_t> offset_of_address(uint64_t address) const;
  // The bytes of the file loaded at an address, to the end of its segment; empty where there are none.
  base::Bytes bytes_at(uint64_t address) const;

 private:
  void read_segments(uint64_t table, uint64_t entry_size, uint64_t count);
  void read_sections(uint64_t table, uint64_t entry_size, uint64_t count, uint32_t names_index);
  Section read_section(base::Bytes entry) const;
  void find_build_id();
  base::Bytes part(uint64_t offset, uint64_t size) const;

  base::Bytes file_;
  Need need_;
  bool is_64bit_ = true;
  uint16_t machine_ = 0;
  uint16_t type_ = 0;
  uint64_t entry_ = 0;
  std::vector<Section> sections_;
  std::vector<Segment> segments_;
  base::Bytes build_id_;
};

// The build id among the notes of a PT_NOTE segment, a note section, or /sys/kernel/notes; empty where there is none.
base::Bytes find_build_id_note(base::Bytes notes, uint64_t alignment = 4);

}  // namespace tephra::objects
