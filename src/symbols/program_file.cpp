#include "symbols/program_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/file.h"
#include "base/names.h"
#include "objects/elf_file.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {
namespace {

using model::MappingId;
using model::Profile;

bool is_file(const Profile& profile, MappingId id) { return profile.mappings[id].kind == model::CodeKind::kFile; }

// The first mapping of a file that `holds` is true of.
template <class Holds>
std::optional<MappingId> first_file(const Profile& profile, Holds holds) {
  for (uint32_t i = 1; i < profile.mappings.size(); ++i) {
    if (is_file(profile, MappingId{i}) && holds(profile.mappings[MappingId{i}])) return MappingId{i};
  }
  return std::nullopt;
}

std::optional<MappingId> mapping_of_program(const Profile& profile, const std::string& path, base::Bytes build_id) {
  const std::string_view name = base::path_base_name(path);
  const auto same_id = [&](const model::Mapping& row) {
    return !row.build_id.empty() && !build_id.empty() && same_build_id(row.build_id.bytes(), build_id);
  };
  const auto same_name = [&](const model::Mapping& row) {
    return base::path_base_name(profile.text(row.path)) == name;
  };
  if (const auto found = first_file(profile, same_id)) return found;
  if (const auto found = first_file(profile, same_name)) return found;
  return first_file(profile, [](const model::Mapping&) { return true; });
}

// All mappings of that file: a program may be mapped in parts.
void rename(Profile& profile, MappingId program, model::StringId path, const model::BuildId& build_id) {
  const model::Mapping named = profile.mappings[program];
  for (uint32_t i = 1; i < profile.mappings.size(); ++i) {
    model::Mapping& row = profile.mappings[MappingId{i}];
    if (row.kind != named.kind || row.path != named.path || row.build_id != named.build_id) continue;
    row.path = path;
    if (!build_id.empty()) row.build_id = build_id;
  }
}

// Frames without a mapping become frames of the program, where it has code at their addresses.
void place_frames(Profile& profile, MappingId program, const objects::ElfFile& elf) {
  for (uint32_t i = 1; i < profile.frames.size(); ++i) {
    model::Frame& frame = profile.frames[model::FrameId{i}];
    const model::Mapping& mapping = profile.mappings[frame.mapping];
    if (mapping.kind != model::CodeKind::kImported || mapping.path || frame.function) continue;
    if (const auto offset = elf.offset_of_address(frame.address)) {
      frame.mapping = program;
      frame.address = *offset;
    }
  }
}

}  // namespace

bool is_elf_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  std::array<char, 4> magic{};
  const bool read = ::pread(file, magic.data(), magic.size(), 0) == ssize_t{magic.size()};
  ::close(file);
  return read && std::string_view(magic.data(), magic.size()) ==
                     "\x7f"
                     "ELF";
}

base::Result<Profile> with_program(Profile profile, const std::string& path) {
  TEPHRA_TRY(const auto content, base::FileContent::open(path));
  TEPHRA_TRY(const objects::ElfFile elf, objects::ElfFile::parse(content.bytes()));
  const std::string whole_path = std::filesystem::absolute(path).lexically_normal().string();
  const auto program = mapping_of_program(profile, whole_path, elf.build_id());
  const model::StringId name = profile.strings.add(whole_path);
  const model::BuildId build_id(elf.build_id());
  if (!program) {
    const MappingId added = profile.mappings.add({.path = name, .build_id = build_id, .kind = model::CodeKind::kFile});
    place_frames(profile, added, elf);
    return profile;
  }
  const model::BuildId recorded = profile.mappings[*program].build_id;
  if (!recorded.empty() && !same_build_id(recorded.bytes(), elf.build_id())) {
    return base::failed("cannot use the program", path,
                        fmt::format("its build id is {}, and that of {} in the profile {}",
                                    build_id.empty() ? "not there" : build_id.hex(),
                                    profile.text(profile.mappings[*program].path), recorded.hex()),
                        "Name the file that ran, or none.");
  }
  rename(profile, *program, name, build_id);
  return profile;
}

}  // namespace tephra::symbols
