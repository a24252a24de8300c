#include "objects/debug_files.h"

#include "objects/elf_file.h"

namespace tephra::objects {
namespace {

bool refers_to_alternate(base::Bytes file) {
  const auto elf = ElfFile::parse(file);
  return elf && elf->section(".gnu_debugaltlink") != nullptr;
}

}  // namespace

DebugFiles::DebugFiles(base::Bytes elf_file, DebugSources* sources) : unpacked_(elf_file) {
  image_ = unpacked_.bytes();
  if (image_.empty()) return;
  if (sources != nullptr) {
    joined_ = join_split_units(image_, *sources);
    if (!joined_.image.bytes().empty()) image_ = joined_.image.bytes();
  }
  if (!refers_to_alternate(elf_file)) return;
  if (sources != nullptr) unpacked_alternate_ = DebugImage(sources->alternate());
  alternate_ = unpacked_alternate_.bytes();
  if (!alternate_.empty()) return;
  // libdw would look for the file itself if it were not given one.
  static constexpr std::byte kEmptyText{0};
  nothing_ = SectionImage(image_, {SectionImage::copied(".debug_str", {&kEmptyText, 1})});
  alternate_ = nothing_.bytes();
}

}  // namespace tephra::objects
