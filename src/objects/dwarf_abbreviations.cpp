#include "objects/dwarf_abbreviations.h"

#include <dwarf.h>

#include <algorithm>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

// No compiler is near these.
constexpr size_t kMostEntries = 1 << 20;
constexpr size_t kMostAttributes = 1 << 23;

}  // namespace

std::optional<DwarfAbbreviations> DwarfAbbreviations::parse(base::Bytes& bytes) {
  DwarfAbbreviations table;
  base::ByteReader reader(bytes);
  for (;;) {
    const uint64_t code = read_uleb(reader);
    if (!reader.ok()) return std::nullopt;
    if (code == 0) {
      bytes = bytes.first(reader.position());
      return table;
    }
    Entry entry{code, static_cast<uint32_t>(read_uleb(reader)), reader.u8() != 0,
                static_cast<uint32_t>(table.attributes_.size()), 0};
    for (;;) {
      Attribute attribute{static_cast<uint32_t>(read_uleb(reader)), static_cast<uint32_t>(read_uleb(reader)), 0};
      if (!reader.ok() || table.attributes_.size() >= kMostAttributes) return std::nullopt;
      if (attribute.name == 0 && attribute.form == 0) break;
      if (attribute.form == DW_FORM_implicit_const) attribute.constant = read_sleb(reader);
      table.attributes_.push_back(attribute);
      ++entry.count;
    }
    if (table.entries_.size() >= kMostEntries) return std::nullopt;
    if (code != table.entries_.size() + 1) {
      table.out_of_order_.emplace(code, static_cast<uint32_t>(table.entries_.size()));
    }
    table.entries_.push_back(entry);
  }
}

const DwarfAbbreviations::Entry* DwarfAbbreviations::find(uint64_t code) const {
  if (code - 1 < entries_.size() && entries_[code - 1].code == code) return &entries_[code - 1];
  const auto at = out_of_order_.find(code);
  return at == out_of_order_.end() ? nullptr : &entries_[at->second];
}

const DwarfAbbreviations* DwarfAbbreviationCache::find(base::Bytes section, uint64_t offset) {
  if (offset >= section.size()) return nullptr;
  const auto [at, fresh] = tables_.try_emplace(section.data() + offset);
  if (fresh && left_ > 0) {
    base::Bytes table = section.subspan(offset);
    at->second = DwarfAbbreviations::parse(table);
    left_ -= std::min<uint64_t>(left_, table.size());
  }
  return at->second ? &*at->second : nullptr;
}

}  // namespace tephra::objects
