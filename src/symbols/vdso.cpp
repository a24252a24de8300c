#include "symbols/vdso.h"

#include <sys/auxv.h>

#include <charconv>
#include <string_view>

#include "base/file.h"

namespace tephra::symbols {
namespace {

// The end of the mapping that begins at `start`, from the text of /proc/self/maps; `start` itself if there is none.
uint64_t mapping_end(std::string_view maps, uint64_t start) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    uint64_t begin = 0;
    uint64_t end = 0;
    const char* stop = line.data() + line.size();
    const auto first = std::from_chars(line.data(), stop, begin, 16);
    if (first.ec == std::errc() && begin == start && first.ptr < stop) {
      if (std::from_chars(first.ptr + 1, stop, end, 16).ec == std::errc()) return end;
    }
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
  }
  return start;
}

}  // namespace

base::Bytes own_vdso() {
  const uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) return {};
  const auto maps = base::read_small_file("/proc/self/maps");
  if (!maps) return {};
  return {reinterpret_cast<const std::byte*>(start), mapping_end(*maps, start) - start};  // NOLINT: given by the kernel
}

}  // namespace tephra::symbols
