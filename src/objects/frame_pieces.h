#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "abi/frame_rules.h"
#include "objects/cfi_program.h"
#include "objects/cfi_section.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// A piece of code, by file offset, that one function's call-frame information describes, or one rule.
struct FramePiece {
  static constexpr uint32_t kOneRule = uint32_t{1} << 31;

  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t what = 0;  // a place in FramePieces::functions; with kOneRule, in FramePieces::rules
};

// Which code of a file is described by what: pieces that are sorted and do not overlap. Holds views into the file.
class FramePieces {
 public:
  struct Common {
    CfiCommon common;
    CfiProgram::Initial initial;
    const CfiSection* section = nullptr;
    bool has_usual_return = true;  // the return address is where the machine's calls leave it
  };
  struct Function {
    CfiFunction described;
    uint64_t to_offset = 0;  // what to add to an address
    uint32_t common = 0;
  };
  // A loaded, executable part of the file.
  struct Code {
    uint64_t address = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  explicit FramePieces(const ElfFile& elf);
  // Of code that is in no file.
  FramePieces(uint16_t machine, const Code& code) : machine_(machine), code_{code} {}

  // Adds what a section describes and no earlier one did.
  void add(const CfiSection& section);
  // Adds rules for code that nothing describes yet; what is described stays as it is.
  struct Ruled {
    uint64_t from;  // file offsets
    uint64_t to;
    tephra_frame_rule rule;
  };
  void add_rules(std::vector<Ruled> ruled);
  // Gives the piece that the offset lies in one rule.
  void replace_rule(uint64_t offset, const tephra_frame_rule& rule);

  // The piece that an offset lies in, or null.
  const FramePiece* find(uint64_t offset) const;
  // Where the first piece behind an offset begins; UINT64_MAX if none does.
  uint64_t next_begin(uint64_t offset) const;
  struct Gap {
    uint64_t from;
    uint64_t to;
  };
  // Code of at least `size` bytes in a row that nothing describes.
  std::vector<Gap> gaps(uint64_t size) const;
  // Of loaded, executable code only.
  std::optional<uint64_t> offset_of(uint64_t address) const;
  std::optional<uint64_t> address_of(uint64_t offset) const;

  const std::vector<FramePiece>& pieces() const { return pieces_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Common>& commons() const { return commons_; }
  const std::vector<tephra_frame_rule>& rules() const { return rules_; }
  const std::vector<Code>& code() const { return code_; }

  // Functions of which no piece was made: not in code that is loaded (linkers leave such for what they discarded), or
  // beyond what a row can say; and those whose entry could not be read.
  uint64_t discarded = 0;
  uint64_t beyond_reach = 0;
  uint64_t damaged = 0;

 private:
  std::vector<FramePiece> read_pieces(const CfiSection& section);
  void add_function(const CfiSection& section, const CfiSection::Entry& entry, uint32_t common,
                    std::vector<FramePiece>& found);
  std::optional<uint32_t> common_at(const CfiSection& section, uint64_t offset);
  const Code* code_at(uint64_t address);
  std::vector<FramePiece>::const_iterator behind(uint64_t offset) const;
  uint32_t place_of(const tephra_frame_rule& rule);
  void merge(const std::vector<FramePiece>& later);

  uint16_t machine_;
  std::vector<Code> code_;
  const Code* last_code_ = nullptr;
  std::vector<std::unique_ptr<CfiSection>> sections_;
  std::vector<Common> commons_;
  std::unordered_map<uint64_t, uint32_t> common_places_;  // of the section that is being read
  std::vector<Function> functions_;
  std::vector<tephra_frame_rule> rules_;
  std::vector<FramePiece> pieces_;
};

}  // namespace tephra::objects
