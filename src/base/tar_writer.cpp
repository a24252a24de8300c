#include "base/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace tephra::base {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kNameBytes = 100;
constexpr uint64_t kMostOctal = (uint64_t{1} << 33) - 1;

// The header of an entry; all texts, numbers in octal.
struct Header {
  char name[kNameBytes] = {};
  char mode[8] = {};
  char uid[8] = {};
  char gid[8] = {};
  char size[12] = {};
  char mtime[12] = {};
  char checksum[8] = {};
  char type = '0';
  char target[kNameBytes] = {};
  char magic[6] = {'u', 's', 't', 'a', 'r', '\0'};
  char version[2] = {'0', '0'};
  char user[32] = "root";
  char group[32] = "root";
  char device_major[8] = {};
  char device_minor[8] = {};
  char prefix[155] = {};
  char unused[12] = {};
};
static_assert(sizeof(Header) == kBlock);

template <size_t N>
void put_octal(char (&field)[N], uint64_t value) {
  const std::string text = fmt::format("{:0{}o}", value, N - 1);
  std::copy_n(text.begin(), N - 1, field);
}

template <size_t N>
void put_text(char (&field)[N], std::string_view text) {
  std::copy_n(text.begin(), std::min(N, text.size()), field);
}

// "LENGTH key=value\n", where LENGTH counts its own digits.
std::string pax_line(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

bool TarWriter::is_inside(std::string_view path) {
  if (path.empty() || path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  for (std::string_view rest = path; !rest.empty();) {
    const size_t slash = rest.find('/');
    if (rest.substr(0, slash) == "..") return false;
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  }
  return true;
}

Status TarWriter::file(std::string_view path, Bytes content, bool executable) {
  return put({.path = path, .size = content.size(), .mode = executable ? 0755u : 0644u}, content);
}

Status TarWriter::link(std::string_view path, std::string_view target) {
  return put({.path = path, .target = target, .type = '1'}, {});
}

Status TarWriter::put(const Entry& entry, Bytes content) {
  if (!is_inside(entry.path) || (!entry.target.empty() && !is_inside(entry.target))) {
    return failed("cannot put into the archive", std::string(entry.path), "the name leads out of it");
  }
  std::string more;
  if (entry.path.size() > kNameBytes) more += pax_line("path", entry.path);
  if (entry.target.size() > kNameBytes) more += pax_line("linkpath", entry.target);
  if (entry.size > kMostOctal) more += pax_line("size", std::to_string(entry.size));
  if (!more.empty()) {
    TEPHRA_CHECK_OK(put_header({.path = "pax", .size = more.size(), .type = 'x'}));
    TEPHRA_CHECK_OK(put_padded(as_bytes(more)));
  }
  TEPHRA_CHECK_OK(put_header(entry));
  return put_padded(content);
}

Status TarWriter::put_header(const Entry& entry) {
  Header header;
  put_text(header.name, entry.path);
  put_octal(header.mode, entry.mode);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_octal(header.size, std::min(entry.size, kMostOctal));
  put_octal(header.mtime, 0);
  header.type = entry.type;
  put_text(header.target, entry.target);
  put_octal(header.device_major, 0);
  put_octal(header.device_minor, 0);
  // The checksum is made as if it were spaces.
  std::fill(std::begin(header.checksum), std::end(header.checksum), ' ');
  const auto bytes = std::as_bytes(std::span(&header, 1));
  uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<uint64_t>(byte);
  const std::string text = fmt::format("{:06o}", sum);
  std::copy_n(text.begin(), 6, header.checksum);
  header.checksum[6] = '\0';
  return sink_(bytes);
}

Status TarWriter::put_padded(Bytes content) {
  if (content.empty()) return {};
  TEPHRA_CHECK_OK(sink_(content));
  static constexpr std::array<std::byte, kBlock> kZeros{};
  const size_t padding = (kBlock - content.size() % kBlock) % kBlock;
  return padding == 0 ? Status() : sink_(Bytes(kZeros).first(padding));
}

Status TarWriter::finish() {
  static constexpr std::array<std::byte, 2 * kBlock> kEnd{};
  return sink_(kEnd);
}

}  // namespace tephra::base
