#include "formats/plain_text.h"

#include <cstdint>

namespace tephra::formats {
namespace {

using base::Bytes;

constexpr size_t kMostSniffedBytes = 64 << 20;  // where a line is longer
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr std::string_view kUtf16LittleMark = "\xff\xfe";
constexpr std::string_view kUtf16BigMark = "\xfe\xff";
constexpr uint32_t kReplacement = 0xfffd;

void append_utf8(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

// Half a pair, and half a unit at the end, become the replacement character.
std::string from_utf16(std::string_view text, bool big_endian) {
  const auto unit = [&](size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(text[at + 1]);
    return static_cast<uint32_t>(big_endian ? first << 8 | second : second << 8 | first);
  };
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t at = 0; at < text.size(); at += 2) {
    uint32_t c = at + 1 < text.size() ? unit(at) : kReplacement;
    if (c >= 0xd800 && c < 0xe000) {
      const uint32_t next = c < 0xdc00 && at + 3 < text.size() ? unit(at + 2) : 0;
      if (next >= 0xdc00 && next < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (next - 0xdc00);
        at += 2;
      } else {
        c = kReplacement;
      }
    }
    append_utf8(out, c);
  }
  return out;
}

// What the first line ends in decides for all: a \r at the end of single lines belongs to them.
bool has_windows_lines(std::string_view text) {
  const size_t end = text.find('\n');
  return end != std::string_view::npos && end > 0 && text[end - 1] == '\r';
}

std::string without_returns(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const bool ended = text.find('\n') != std::string_view::npos;
    std::string_view line = take_line(text);
    if (ended && line.ends_with('\r')) line.remove_suffix(1);
    out += line;
    if (ended) out += '\n';
  }
  return out;
}

}  // namespace

Bytes beginning(Bytes bytes) {
  for (const size_t most : {kSniffedBytes, kMostSniffedBytes}) {
    if (bytes.size() <= most) return bytes;
    const size_t end = base::as_text(bytes.first(most)).rfind('\n');
    if (end != std::string_view::npos) return bytes.first(end + 1);
  }
  return bytes.first(kMostSniffedBytes);
}

PlainText::PlainText(Bytes bytes) : text_(base::as_text(bytes)) {
  if (text_.starts_with(kUtf8Mark)) {
    text_.remove_prefix(kUtf8Mark.size());
  } else if (text_.starts_with(kUtf16LittleMark) || text_.starts_with(kUtf16BigMark)) {
    converted_ = from_utf16(text_.substr(kUtf16LittleMark.size()), text_.starts_with(kUtf16BigMark));
    text_ = converted_;
  }
  if (has_windows_lines(text_)) {
    converted_ = without_returns(text_);
    text_ = converted_;
  }
}

}  // namespace tephra::formats
