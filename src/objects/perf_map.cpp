#include "objects/perf_map.h"

#include <charconv>

namespace tephra::objects {
namespace {

constexpr size_t kMaxName = 16 << 10;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

bool take_number(std::string_view& text, uint64_t& number) {
  skip_blanks(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number, 16);
  if (result.ec != std::errc() || result.ptr == end || !is_blank(*result.ptr)) return false;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  return true;
}

bool read_line(std::string_view line, PerfMapEntry& entry) {
  if (!take_number(line, entry.start) || !take_number(line, entry.size)) return false;
  skip_blanks(line);
  // A NUL is what the holes of a file read as, never part of a name.
  entry.name = line.substr(0, line.find('\0')).substr(0, kMaxName);
  while (!entry.name.empty() && is_blank(entry.name.back())) entry.name.remove_suffix(1);
  return !entry.name.empty() && entry.size > 0 && entry.start + entry.size > entry.start;
}

}  // namespace

bool PerfMapReader::next(PerfMapEntry& entry) {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (read_line(line, entry)) return true;
    ++refused_;
  }
  return false;
}

}  // namespace tephra::objects
