#include "program_code.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/file.h"
#include "collect/elf_build_id.h"
#include "kernel/procfs.h"
#include "objects/elf_file.h"

namespace tephra::fake {
namespace {

constexpr uint64_t kKernelGuess = 0xffffffff81001000;

std::string program_path(pid_t pid) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

// Functions of a program by name, as file offsets.
std::map<std::string, uint64_t> functions_of(const std::string& path) {
  std::map<std::string, uint64_t> found;
  const auto content = base::FileContent::open(path);
  if (!content) return found;
  const auto elf = objects::ElfFile::parse(content->bytes());
  if (!elf) return found;
  for (const auto& section : elf->sections()) {
    const auto* names = section.type == SHT_SYMTAB ? elf->section_at(section.link) : nullptr;
    if (names == nullptr) continue;
    const std::string_view text = base::as_text(names->content);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= section.content.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, section.content.data() + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= text.size()) continue;
      const auto offset = elf->offset_of_address(symbol.st_value);
      if (offset) found.emplace(text.data() + symbol.st_name, *offset);
    }
  }
  return found;
}

std::optional<uint64_t> address_of(uint64_t offset, const std::string& path, const std::vector<Mapping>& mappings) {
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable || mapping.path != path) continue;
    if (offset >= mapping.offset && offset < mapping.offset + mapping.size) {
      return mapping.start + offset - mapping.offset;
    }
  }
  return {};
}

Place kernel_place(double weight, uint64_t caller) {
  const auto text = kernel::kernel_text();
  const uint64_t start = text ? text->start + 0x1000 : kKernelGuess;
  return {weight, start, {caller}, {start + 0x40, start + 0x80}, true};
}

// Without names: spread over the text of the program.
Code anywhere(const std::string& path, const std::vector<Mapping>& mappings) {
  Code code;
  code.places.clear();
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable || (mapping.path != path && !path.empty())) continue;
    for (int part = 1; part < 10; ++part) {
      const uint64_t ip = mapping.start + mapping.size / 16 * static_cast<uint64_t>(part);
      code.places.push_back({1, ip, {mapping.start + mapping.size / 2 + 5, mapping.start + mapping.size / 4 + 9}});
    }
    break;
  }
  if (code.places.empty()) code.places.push_back(Place{});
  code.places.push_back(kernel_place(static_cast<double>(code.places.size()) / 9, code.places[0].ip));
  return code;
}

}  // namespace

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> mappings;
  const std::string text = kernel::maps_text(pid);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    const auto map = kernel::parse_map_line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!map || (!map->executable && map->inode == 0)) continue;
    Mapping mapping{map->start,
                    map->end - map->start,
                    map->offset,
                    std::string(map->path),
                    map->executable,
                    map->major,
                    map->minor,
                    map->inode,
                    ""};
    if (mapping.path.empty()) mapping.path = "//anon";
    mappings.push_back(std::move(mapping));
  }
  std::map<std::string, std::string> ids;
  for (Mapping& mapping : mappings) {
    if (mapping.path[0] != '/' || mapping.inode == 0) continue;
    const auto [known, added] = ids.try_emplace(mapping.path);
    if (added) {
      const base::FileDescriptor fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (fd) known->second = base::as_text(collect::build_id_of_file(fd.get()).bytes());
    }
    mapping.build_id = known->second;
  }
  return mappings;
}

std::shared_ptr<const Code> code_of(pid_t pid, const std::vector<Mapping>& mappings,
                                    const std::vector<std::pair<std::string, double>>& functions) {
  const std::string path = program_path(pid);
  if (functions.empty()) return std::make_shared<const Code>(anywhere(path, mappings));
  const auto offsets = functions_of(path);
  Code code;
  code.places.clear();
  std::vector<uint64_t> callers;
  const auto address = [&](const std::string& name) -> std::optional<uint64_t> {
    const auto found = offsets.find(name);
    return found == offsets.end() ? std::nullopt : address_of(found->second, path, mappings);
  };
  if (const auto main = address("main")) callers.push_back(*main + 5);
  for (const auto& [name, weight] : functions) {
    if (const auto start = address(name)) code.places.push_back({weight, *start + 4, callers});
  }
  if (code.places.empty()) return std::make_shared<const Code>(anywhere(path, mappings));
  return std::make_shared<const Code>(std::move(code));
}

}  // namespace tephra::fake
