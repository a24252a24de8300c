#include "collect/elf_build_id.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "objects/elf_file.h"

namespace tephra::collect {
namespace {

constexpr size_t kMaxNoteBytes = 64 << 10;
constexpr size_t kMaxProgramHeaders = 4096;

// Where a file's bytes come from: `read` copies up to size bytes and returns whether all were there.
template <class Header, class ProgramHeader, class Read>
model::BuildId find_note(Read&& read) {
  Header header;
  if (!read(0, &header, sizeof header) || header.e_phentsize != sizeof(ProgramHeader)) return {};
  std::vector<ProgramHeader> segments(std::min<size_t>(header.e_phnum, kMaxProgramHeaders));
  if (!read(header.e_phoff, segments.data(), segments.size() * sizeof(ProgramHeader))) return {};
  for (const ProgramHeader& segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    std::vector<std::byte> notes(std::min<size_t>(segment.p_filesz, kMaxNoteBytes));
    if (!read(segment.p_offset, notes.data(), notes.size())) continue;
    if (auto id = build_id_in_notes(notes); !id.empty()) return id;
  }
  return {};
}

template <class Read>
model::BuildId find_in_elf(Read&& read) {
  unsigned char ident[EI_NIDENT];
  if (!read(0, ident, sizeof ident) || !std::equal(ident, ident + SELFMAG, ELFMAG)) return {};
  if (ident[EI_CLASS] == ELFCLASS64) return find_note<Elf64_Ehdr, Elf64_Phdr>(read);
  if (ident[EI_CLASS] == ELFCLASS32) return find_note<Elf32_Ehdr, Elf32_Phdr>(read);
  return {};
}

}  // namespace

model::BuildId build_id_in_notes(base::Bytes notes) { return model::BuildId(objects::find_build_id_note(notes)); }

model::BuildId build_id_of_file(int fd) {
  return find_in_elf([fd](uint64_t offset, void* to, size_t size) {
    return ::pread(fd, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  });
}

model::BuildId build_id_of_image(base::Bytes image) {
  return find_in_elf([image](uint64_t offset, void* to, size_t size) {
    if (offset > image.size() || size > image.size() - offset) return false;
    std::copy_n(image.data() + offset, size, static_cast<std::byte*>(to));
    return true;
  });
}

model::BuildId kernel_build_id() {
  const auto notes = base::read_small_file("/sys/kernel/notes");
  return notes ? build_id_in_notes(base::as_bytes(*notes)) : model::BuildId();
}

}  // namespace tephra::collect
