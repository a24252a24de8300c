#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::formats {

// Text as parsers want it: UTF-8 without a byte order mark, lines that end in \n alone. Files of other systems (UTF-16
// with a mark, lines that end in \r\n) are converted; all others stay where they are and are not copied.
class PlainText {
 public:
  explicit PlainText(base::Bytes bytes);
  PlainText(const PlainText&) = delete;
  PlainText& operator=(const PlainText&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string converted_;
  std::string_view text_;
};

// How much of a text is looked at, where its lines are no longer than that.
inline constexpr size_t kSniffedBytes = 64 << 10;

// The first lines of a file, enough to tell what kind of text it is.
base::Bytes beginning(base::Bytes bytes);

// Takes the next line off `text`, without its end.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace tephra::formats
