#include "objects/dwarf_handle.h"

#include <gelf.h>

namespace tephra::objects {

std::optional<DwarfHandle> DwarfHandle::open(base::Bytes image, base::Bytes alternate) {
  if (image.empty()) return std::nullopt;
  ::elf_version(EV_CURRENT);
  DwarfHandle handle;
  // libelf never writes to an image of the machine's own byte order.
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(image.data()));
  handle.elf_.reset(::elf_memory(start, image.size()));
  GElf_Ehdr header;
  if (!handle.elf_ || ::gelf_getehdr(handle.elf_.get(), &header) == nullptr) return std::nullopt;
  if (header.e_type == ET_REL) return std::nullopt;
  handle.dwarf_.reset(::dwarf_begin_elf(handle.elf_.get(), DWARF_C_READ, nullptr));
  if (!handle.dwarf_) return std::nullopt;
  if (auto other = open(alternate)) {
    handle.alternate_ = std::make_unique<DwarfHandle>(std::move(*other));
    ::dwarf_setalt(handle.get(), handle.alternate_->get());
  }
  return handle;
}

}  // namespace tephra::objects
