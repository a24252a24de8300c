#include "objects/dwarf_handle.h"

#include <gelf.h>

namespace tephra::objects {

bool DwarfHandle::read(base::Bytes image) {
  if (image.empty()) return false;
  ::elf_version(EV_CURRENT);
  // libelf never writes to an image of the machine's own byte order.
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(image.data()));
  elf_.reset(::elf_memory(start, image.size()));
  if (elf_) dwarf_.reset(::dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
  return dwarf_ != nullptr;
}

bool DwarfHandle::is_linked() const {
  GElf_Ehdr header;
  return ::gelf_getehdr(elf_.get(), &header) != nullptr && header.e_type != ET_REL;
}

std::optional<DwarfHandle> DwarfHandle::open(base::Bytes image, base::Bytes alternate) {
  DwarfHandle handle;
  // What is not linked yet has no addresses. (The file that dwz writes looks as if it were not, and needs none.)
  if (!handle.read(image) || !handle.is_linked()) return std::nullopt;
  DwarfHandle other;
  if (other.read(alternate)) {
    handle.alternate_ = std::make_unique<DwarfHandle>(std::move(other));
    ::dwarf_setalt(handle.get(), handle.alternate_->get());
  }
  return handle;
}

}  // namespace tephra::objects
