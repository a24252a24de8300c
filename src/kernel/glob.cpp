#include "kernel/glob.h"

#include <cstddef>

namespace tephra::kernel {
namespace {

struct SetMatch {
  size_t end = 0;  // behind the closing bracket; 0: not a set
  bool contains = false;
};

// The set that begins at pattern[at] == '['. A bracket that is never closed is an ordinary character.
SetMatch match_set(std::string_view pattern, size_t at, char letter) {
  size_t next = at + 1;
  const bool inverted = next < pattern.size() && (pattern[next] == '!' || pattern[next] == '^');
  if (inverted) ++next;
  bool contains = false;
  for (size_t first = next; next < pattern.size(); ++next) {
    if (pattern[next] == ']' && next > first) return {next + 1, contains != inverted};
    const bool range = next + 2 < pattern.size() && pattern[next + 1] == '-' && pattern[next + 2] != ']';
    const char low = pattern[next];
    if (range) next += 2;
    if (low <= letter && letter <= pattern[next]) contains = true;
  }
  return {};
}

// Where the pattern goes on when its element at `at` matches the letter; 0 when it does not.
size_t match_one(std::string_view pattern, size_t at, char letter) {
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    const SetMatch set = match_set(pattern, at, letter);
    if (set.end != 0) return set.contains ? set.end : 0;
  }
  return pattern[at] == letter ? at + 1 : 0;
}

}  // namespace

bool is_pattern(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

bool matches(std::string_view pattern, std::string_view text) {
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0;
  size_t star = kNone;   // behind the last star seen
  size_t star_text = 0;  // where the text goes on if that star takes no more
  for (size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
    } else if (const size_t next = p < pattern.size() ? match_one(pattern, p, text[t]) : 0; next != 0) {
      p = next;
      ++t;
    } else if (star != kNone) {
      p = star;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tephra::kernel
