#include "symbols/kernel_symbol_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>

#include "base/file.h"

namespace tephra::symbols {
namespace {

constexpr std::string_view kKind = "kallsyms";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kLimit = 64 << 20;
constexpr size_t kLongestText = 32 << 20;
constexpr size_t kUsualText = 12 << 20;

// A boot id is a UUID: its hex digits.
std::string key_of(const std::string& boot_id_path) {
  const auto line = base::read_small_file(boot_id_path);
  if (!line) return "";
  std::string key;
  for (const char c : *line) {
    if (std::isxdigit(static_cast<unsigned char>(c))) key += c;
  }
  return key;
}

}  // namespace

KernelSymbolText::KernelSymbolText(std::string path, const std::string& boot_id, base::DiskCache cache)
    : path_(std::move(path)), cache_(std::move(cache)) {
  if (!cache_.folder().empty()) key_ = key_of(boot_id);
}

// False: more than the code of the kernel image is asked for, or nothing is kept.
bool KernelSymbolText::feed_kept(objects::Kallsyms& symbols) const {
  if (key_.empty()) return false;
  const auto entry = cache_.find(kKind, key_, kVersion);
  return entry && !symbols.feed(entry->bytes());
}

void KernelSymbolText::feed_listed(objects::Kallsyms& symbols) const {
  const base::FileDescriptor fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return;
  std::string text;
  if (!key_.empty()) text.reserve(kUsualText);
  std::array<std::byte, 64 << 10> piece;
  bool complete = false;
  while (!complete) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const base::Bytes bytes(piece.data(), static_cast<size_t>(got));
    if (!key_.empty() && text.size() < kLongestText) text += base::as_text(bytes);
    complete = !symbols.feed(bytes);
  }
  // Complete means that the text goes up to the end of the image's code, where the next reader may stop, too.
  if (!complete || key_.empty() || text.size() >= kLongestText) return;
  text.resize(text.rfind('\n') + 1);
  (void)cache_.store(kKind, key_, kVersion, base::as_bytes(text), kLimit);
}

void KernelSymbolText::read_into(objects::Kallsyms& symbols) const {
  if (!feed_kept(symbols)) feed_listed(symbols);
  symbols.finish();
}

}  // namespace tephra::symbols
