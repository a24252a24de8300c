#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/script_lines.h"

namespace tephra::formats {

// Whose rules make names of functions shorter: those of stackcollapse-perf.pl, which cuts at the first bracket, or
// those of inferno-collapse-perf, which knows template arguments, Rust names, and kernel files by a version or ".ko".
enum class NameRules : uint8_t { kFlameGraph, kInferno };

struct ScriptNameOptions {
  NameRules rules = NameRules::kFlameGraph;
  bool kernel = false;     // kernel frames end in _[k]
  bool jit = false;        // frames of generated code end in _[j]
  bool addresses = false;  // a frame without a name is [MODULE <ADDRESS>]
  bool operator==(const ScriptNameOptions&) const = default;
};

// The frames that one line stands for: several where functions were inlined ("a->b", the caller first).
struct FrameTexts {
  std::string text;  // folded, joined by ';'
  uint32_t frames = 0;
  uint32_t named = 0;
};

// `java`: the thread's name begins so, and signatures lose their 'L'. `source` is put behind every frame but those of
// which nothing is known, where it is not empty.
FrameTexts frame_texts(const FrameLine& line, const ScriptNameOptions& options, bool java,
                       std::string_view source = {});

// A file's name for the eye. What is longer than such names can be is cut: a line that says often that a function of a
// file is not known would repeat it as often.
inline std::string_view cut_file_name(std::string_view name) {
  constexpr size_t kLongest = 255;  // NAME_MAX
  return name.substr(0, kLongest);
}

// One function's name, made shorter; "->" and brackets in front of it have no meaning here.
std::string shorter_name(std::string_view raw, NameRules rules, bool java);

// Rust's spelling of a name that only a demangler of C++ has seen: "core::ptr::read::h0123456789abcdef" and "$LT$".
// Other names come back as they are.
std::string rust_spelling(std::string_view name);

}  // namespace tephra::formats
