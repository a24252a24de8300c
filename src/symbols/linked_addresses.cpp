#include "symbols/linked_addresses.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tephra::symbols {
namespace {

using model::MappingId;
using model::Profile;
using objects::ElfFile;

// A file whose program headers can be asked.
struct LinkedFile {
  FileFinder::Found file;  // owns what `elf` looks into
  ElfFile elf;
  uint64_t first = 0;  // where its first segment is, as linked
};

std::optional<LinkedFile> open(FileFinder::Found file, const model::BuildId& build_id) {
  if (!file.content) return std::nullopt;
  auto elf = ElfFile::parse(file.content->bytes());
  if (!elf || (!build_id.empty() && !same_build_id(elf->build_id(), build_id.bytes()))) return std::nullopt;
  const auto& segments = elf->segments();
  const auto first = std::find_if(segments.begin(), segments.end(), [](const auto& s) { return s.type == PT_LOAD; });
  if (first == segments.end()) return std::nullopt;
  const uint64_t address = first->address;
  return LinkedFile{std::move(file), std::move(elf).value(), address};
}

std::optional<uint64_t> offset_of(const LinkedFile& file, uint64_t relative) {
  return file.elf.offset_of_address(file.first + relative);
}

std::optional<uint64_t> relative_of(const LinkedFile& file, uint64_t offset) {
  const auto address = file.elf.address_of_offset(offset);
  return address && *address >= file.first ? std::optional(*address - file.first) : std::nullopt;
}

// What is of a file, by mapping: whether there are frames, and whether any of them has no name yet.
enum class Use : uint8_t { kNone, kNamed, kToName };

std::vector<Use> uses_of(const Profile& profile) {
  std::vector<Use> uses(profile.mappings.size());
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    const model::Frame& frame = profile.frames[model::FrameId{i}];
    if (profile.mappings[frame.mapping].kind != model::CodeKind::kFile) continue;
    Use& use = uses[frame.mapping.value];
    use = std::max(use, frame.function ? Use::kNamed : Use::kToName);
  }
  return uses;
}

template <class Convert>
Profile converted(Profile profile, FileFinder& finder, Convert convert) {
  const std::vector<Use> uses = uses_of(profile);
  std::vector<std::optional<LinkedFile>> files(profile.mappings.size());
  for (uint32_t i = 1; i < files.size(); ++i) {
    if (uses[i] == Use::kNone) continue;
    const model::Mapping& mapping = profile.mappings[MappingId{i}];
    const WantedFile wanted{std::string(profile.text(mapping.path)), mapping.build_id, mapping.file};
    const bool asked_for = uses[i] == Use::kToName;
    files[i] = open(asked_for ? finder.find_code(wanted) : finder.find_code_at_hand(wanted), mapping.build_id);
  }
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    model::Frame& frame = profile.frames[model::FrameId{i}];
    const auto& file = files[frame.mapping.value];
    if (!file) continue;
    // A call may be the last instruction of its segment.
    const uint64_t back = frame.kind == model::AddressKind::kReturn && frame.address > 0 ? 1 : 0;
    if (const auto address = convert(*file, frame.address - back)) frame.address = *address + back;
  }
  return profile;
}

}  // namespace

Profile with_file_offsets(Profile profile, FileFinder& finder) {
  return converted(std::move(profile), finder, offset_of);
}

Profile with_relative_addresses(Profile profile, FileFinder& finder) {
  return converted(std::move(profile), finder, relative_of);
}

}  // namespace tephra::symbols
