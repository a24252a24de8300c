#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/profile.h"
#include "model/string_table.h"

namespace tephra::model {

// Names that a recorder found for the addresses it had sampled, while the files that ran were at hand. Tables like
// those of a Profile, with texts of their own. Addresses and mappings are those of the frames of the profile that is
// read from the same recording.
struct EmbeddedNames {
  // One function at an address: first the one that holds the code, then those inlined into it, outer before inner.
  struct Level {
    StringId name;         // as shown when it differs from what demangling `system_name` gives; a stand-in if unnamed
    StringId system_name;  // as in the symbol table
    StringId file;
    uint32_t line = 0;
    bool operator==(const Level&) const = default;
  };
  struct Row {
    uint64_t address = 0;
    AddressKind kind = AddressKind::kInstruction;
    bool named = false;
    uint8_t facts = 0;             // FrameFact
    std::optional<Reason> reason;  // why there is no name, or why it is doubtful
    uint32_t symbol_offset = 0;    // see Frame
    uint32_t first_level = 0;
    uint32_t level_count = 0;  // at least one
    bool operator==(const Row&) const = default;
  };
  struct Module {
    Mapping mapping;  // its path is a text of this table
    uint32_t first_row = 0;
    uint32_t row_count = 0;  // sorted by address and kind, each once
    bool has_lines = false;  // debug information was at hand: looking at the file again tells no more
    bool operator==(const Module&) const = default;
  };

  StringTable strings;
  std::vector<Level> levels;
  std::vector<Row> rows;
  std::vector<Module> modules;
  bool inlines_cut = false;  // for want of time some rows lack inlined functions and lines

  bool empty() const { return rows.empty(); }
};

}  // namespace tephra::model
