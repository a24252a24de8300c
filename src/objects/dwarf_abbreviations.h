#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// What the entries of a unit look like: one table of .debug_abbrev.
class DwarfAbbreviations {
 public:
  struct Attribute {
    uint32_t name = 0;
    uint32_t form = 0;
    int64_t constant = 0;  // of DW_FORM_implicit_const
  };
  struct Entry {
    uint64_t code = 0;
    uint32_t tag = 0;
    bool has_children = false;
    uint32_t first = 0;  // of its attributes
    uint32_t count = 0;
  };

  // The table at the beginning of `bytes`; nothing when it is damaged. `bytes` is set to what the table takes.
  static std::optional<DwarfAbbreviations> parse(base::Bytes& bytes);

  // Null when there is none of this code.
  const Entry* find(uint64_t code) const;
  const std::vector<Entry>& entries() const { return entries_; }
  std::span<const Attribute> attributes(const Entry& entry) const {
    return std::span(attributes_).subspan(entry.first, entry.count);
  }

 private:
  std::vector<Entry> entries_;
  std::vector<Attribute> attributes_;
  std::unordered_map<uint64_t, uint32_t> out_of_order_;  // codes that are not their place in the table
};

// The tables that units share. Tables of a hostile file overlap; reading stops when they are together larger than the
// sections they are in can hold several times over.
class DwarfAbbreviationCache {
 public:
  // The table at an offset of a section, valid while the cache lives; null when there is none.
  const DwarfAbbreviations* find(base::Bytes section, uint64_t offset);
  // Lets tables be read from one more section.
  void allow(base::Bytes section) { left_ += section.size() * 4; }

 private:
  std::unordered_map<const std::byte*, std::optional<DwarfAbbreviations>> tables_;
  uint64_t left_ = 0;
};

}  // namespace tephra::objects
