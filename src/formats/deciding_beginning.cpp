#include "formats/deciding_beginning.h"

#include <string_view>

#include "formats/plain_text.h"
#include "formats/pprof.h"

namespace tephra::formats {
namespace {

// JSON is known by members that may come late, some profiles of Java by what stands below their first line.
bool decides_later(std::string_view text) {
  constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
  if (text.starts_with("---")) return true;
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || text[first] == '{' || text[first] == '[';
}

// Text is judged by its first lines; zeros are in no text, but for that of other systems, which begins with a mark.
bool shows_lines_or_no_text(std::string_view text) {
  text = text.substr(0, kSniffedBytes);
  const bool marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  return text.find('\n') != std::string_view::npos || (!marked && text.find('\0') != std::string_view::npos);
}

}  // namespace

bool decides_format(base::Bytes beginning) {
  const std::string_view text = base::as_text(beginning);
  return !decides_later(text) && shows_lines_or_no_text(text) && !ends_within_first_fields_of_pprof(beginning);
}

}  // namespace tephra::formats
