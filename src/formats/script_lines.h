#pragma once

#include <optional>
#include <string_view>

namespace tephra::formats {

// The lines of `perf script` as stackcollapse-perf.pl tells them apart, whose reading everyone relies on. It decides
// what `tephra fold` writes; perf_script.cpp, which wants to know more, reads the same lines with perf_script_header.h.

// What perl's \s, \d and \w match.
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// "java 24636/25607 [000] 4794564.109216: 1 cycles:"
struct EventLine {
  std::string_view comm;
  std::string_view pid;  // empty: the line has one number alone, which is the thread's
  std::string_view tid;
  std::string_view period;                // empty: none
  std::optional<std::string_view> event;  // nothing where the line does not end with one
};
std::optional<EventLine> parse_event_line(std::string_view line);

// "	ffffffff8103ce3b native_safe_halt+0x6 ([kernel.kallsyms])"
struct FrameLine {
  std::string_view address;
  std::string_view function;  // with its offset, where there is one
  std::string_view module;
};
std::optional<FrameLine> parse_frame_line(std::string_view line);

// A function's text without the "+0x1f" at its end.
std::string_view without_offset(std::string_view function);

}  // namespace tephra::formats
