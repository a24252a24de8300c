#include "formats/imported_mapping.h"

#include <algorithm>
#include <array>

namespace tephra::formats {
namespace {

// Memory that shows no file, whatever its name looks like.
bool has_no_file(std::string_view path) {
  constexpr std::array<std::string_view, 6> kBeginnings{"[",       "//anon",    "/anon_hugepage",
                                                        "/memfd:", "/dev/zero", "linux-vdso"};
  return path.empty() || std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                     [&](std::string_view beginning) { return path.starts_with(beginning); });
}

model::CodeKind kind_of(std::string_view path) {
  if (path.starts_with("[kernel") || path.starts_with("[guest.kernel")) return model::CodeKind::kKernel;
  return has_no_file(path) ? model::CodeKind::kImported : model::CodeKind::kFile;
}

}  // namespace

model::MappingId add_mapping(model::ProfileAssembler& assembler, const ImportedMapping& from) {
  model::Mapping row{.path = assembler.string(from.path), .build_id = from.build_id, .kind = kind_of(from.path)};
  // The base of the kernel says where its code was at that boot, which such profiles do not tell.
  if (row.kind == model::CodeKind::kKernel) return assembler.mapping(row);
  row.base = from.start - from.offset;
  row.size = from.limit - row.base;
  return assembler.mapping(row);
}

uint64_t frame_address(const model::Mapping& mapping, uint64_t address) {
  return mapping.kind == model::CodeKind::kFile ? address - mapping.base : address;
}

}  // namespace tephra::formats
