#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "model/string_table.h"

namespace tephra::symbols {

// What was found for the frames of one mapping (or of the kernel), with texts of its own, so that mappings can be
// looked up by several threads and joined afterwards.
struct Answers {
  // One function at an address: first the one that holds the code, then those inlined into it, outer before inner.
  struct Level {
    model::StringId name;
    model::StringId system_name;
    model::StringId file;
    uint32_t line = 0;
    bool named = false;
  };
  struct Row {
    model::FrameId frame;
    uint32_t first_level = 0;
    uint32_t level_count = 0;
    uint8_t facts = 0;
    std::optional<model::Reason> reason;  // why there is no name
    uint32_t symbol_offset = 0;           // see model::Frame
  };

  // Answers `frame` with one level, a name.
  void add_named(model::FrameId frame, std::string_view name, std::string_view system_name,
                 uint64_t symbol_offset = 0) {
    add_row(frame, Level{strings.add(name), strings.add(system_name), {}, 0, true}, std::nullopt);
    rows.back().symbol_offset = static_cast<uint32_t>(symbol_offset);
  }
  // Answers `frame` with a stand-in for a name, and why.
  void add_unknown(model::FrameId frame, std::string_view stand_in, model::Reason reason) {
    add_row(frame, Level{strings.add(stand_in), {}, {}, 0, false}, reason);
  }

  model::StringTable strings;
  std::vector<Level> levels;
  std::vector<Row> rows;

 private:
  void add_row(model::FrameId frame, const Level& level, std::optional<model::Reason> reason) {
    rows.push_back({frame, static_cast<uint32_t>(levels.size()), 1, 0, reason});
    levels.push_back(level);
  }
};

}  // namespace tephra::symbols
