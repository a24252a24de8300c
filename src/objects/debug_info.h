#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "objects/debug_sources.h"

namespace tephra::objects {

// DWARF as a table from addresses to source lines and inlined calls. Each compile unit is flattened once, when the
// first of its addresses is asked for: into segments of code with equal inline chains and into sorted line rows, both
// found by binary search. What was flattened can be stored and given to a later object, which then reads the file only
// for units that nobody asked for before. Not thread-safe; several objects over the same bytes are independent.
class DebugInfo {
 public:
  // One function at an address, and where in it.
  struct Level {
    std::string_view function;  // the linkage name if there is one, else the name with its namespaces and classes
    std::string_view file;      // empty when unknown
    uint32_t line = 0;
  };

  // The debug information of an ELF file. Null when there is none that can be read. `stored` is what updated_index() of
  // an earlier object over the same file and the same other files returned, or nothing; bytes of any other origin do no
  // harm but give wrong answers. `sources` gets the other files that the debug information is spread over. All must
  // outlive the object.
  static std::unique_ptr<DebugInfo> open(base::Bytes elf_file, base::Bytes stored = {},
                                         DebugSources* sources = nullptr);
  virtual ~DebugInfo() = default;

  // Reads what find() will need for these addresses, by several threads. Asking without it gives the same answers.
  virtual void prepare(std::span<const uint64_t> addresses) = 0;
  // Replaces `levels` by those of an address as linked: the function that holds the code, then those inlined into it,
  // outer before inner. Empty when no compile unit covers the address; one level without a function when only its line
  // is known. Texts stay valid while the object lives.
  virtual void find(uint64_t address, std::vector<Level>& levels) = 0;

  // Whether something of what was asked for was left out, because the file stands for more than a file of its size can
  // hold: it is damaged or hostile.
  virtual bool is_cut() const = 0;

  // Everything in `stored` and what was read since; empty when nothing was, or something was left out.
  virtual std::string updated_index() const = 0;
};

}  // namespace tephra::objects
