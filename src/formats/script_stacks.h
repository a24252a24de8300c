#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "formats/script_blocks.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// Turns frame lines of `perf script` into stacks of a profile. Lines that return are read once.
class ScriptStacks {
 public:
  explicit ScriptStacks(model::ProfileAssembler& assembler) : assembler_(assembler) {}

  // `body` holds the frames from the innermost on, perhaps each with its place in the source below it.
  model::StackId read(std::string_view body);
  // Lines that were none of these.
  uint64_t malformed() const { return malformed_; }

 private:
  struct Function {
    std::string name;  // as shown
    std::string raw;   // as in the text
    bool named = false;
  };
  // A line of the text, taken apart.
  struct Line {
    bool is_frame = false;
    bool inlined = false;
    uint64_t address = 0;
    uint32_t offset = 0;
    std::string module;
    std::vector<Function> functions;  // from the outermost on: more than one where the line says what was inlined
  };
  // A frame with what the line below it tells.
  struct Entry {
    const Line* line;
    std::string_view file;
    uint32_t source_line;
  };

  const Line& line_of(std::string_view text);
  static Line parse(std::string_view text);
  bool add_source(std::string_view text);
  model::FunctionId function_of(const Function& function);
  model::MappingId mapping_of(const Line& line, const Function& function);
  model::StackId add(model::StackId stack, const Entry& entry, bool innermost);

  model::ProfileAssembler& assembler_;
  KeyNumbers numbers_;
  std::deque<Line> lines_;
  std::vector<Entry> entries_;
  model::Frame around_;  // the last frame that was not inlined
  uint64_t malformed_ = 0;
};

// Whether a line, which is no event line, is a frame: with an address, perhaps a function, perhaps a code object.
bool is_frame_line(std::string_view text);

// The end of an event line that names the place of a sample without a stack: "ffffffff8bad311d f ([kernel.kallsyms])".
// Empty where it names none.
std::string_view place_in(std::string_view rest);

}  // namespace tephra::formats
