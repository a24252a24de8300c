#include "symbols/kernel_image.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tephra::symbols {
namespace {

// The names are in an optional file of the distribution, or of the one who built the kernel.
FileFinder::Found find_file(FileFinder& finder, const model::BuildId& build_id, const std::string& release) {
  if (!release.empty() && release.find('/') == std::string::npos) {
    for (const char* place :
         {"/usr/lib/debug/boot/vmlinux-{}", "/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux",
          "/lib/modules/{}/vmlinux", "/lib/modules/{}/build/vmlinux"}) {
      const std::string path = fmt::format(fmt::runtime(place), release);
      if (::access(path.c_str(), F_OK) != 0) continue;
      if (auto found = finder.find_code({path, build_id, {}}); found.content) return found;
    }
  }
  return finder.find_debug_of({"vmlinux", build_id, {}});
}

// Where the image begins, which is where _text is. Per-CPU variables are linked at 0.
std::optional<uint64_t> start_of(const objects::ElfFile& elf) {
  std::optional<uint64_t> start;
  for (const auto& segment : elf.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.address == 0) continue;
    start = std::min(start.value_or(UINT64_MAX), segment.address);
  }
  return start;
}

}  // namespace

std::optional<KernelImage> KernelImage::find(FileFinder& finder, const model::BuildId& build_id,
                                             const std::string& release) {
  if (build_id.empty()) return std::nullopt;
  KernelImage image;
  image.file_ = find_file(finder, build_id, release);
  if (!image.file_.content) return std::nullopt;
  const auto elf = objects::ElfFile::parse(image.file_.content->bytes());
  const auto start = elf ? start_of(*elf) : std::nullopt;
  if (!start || elf->section(".symtab") == nullptr) return std::nullopt;
  image.text_ = *start;
  image.symbols_.add(*elf);
  image.symbols_.finish();
  return image;
}

std::optional<objects::SymbolTable::Function> KernelImage::function_at(uint64_t distance) const {
  auto function = symbols_.find(text_ + distance);
  if (!function) return std::nullopt;
  function->address -= text_;
  function->end -= text_;
  return function;
}

}  // namespace tephra::symbols
