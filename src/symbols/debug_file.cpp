#include "symbols/debug_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "model/build_id.h"
#include "objects/crc32.h"

namespace tephra::symbols {
namespace {

using objects::ElfFile;

bool same_bytes(base::Bytes a, base::Bytes b) { return std::ranges::equal(a, b); }

std::optional<base::FileContent> with_build_id(const std::string& path, base::Bytes wanted) {
  auto file = open_regular(path);
  if (!file) return std::nullopt;
  const auto elf = ElfFile::parse(file->bytes());
  if (!elf || !same_bytes(elf->build_id(), wanted)) return std::nullopt;
  return std::move(file).value();
}

std::optional<base::FileContent> with_checksum(const std::string& path, uint32_t wanted) {
  auto file = open_regular(path);
  if (!file || !ElfFile::parse(file->bytes()) || objects::crc32(file->bytes()) != wanted) return std::nullopt;
  return std::move(file).value();
}

std::vector<std::string> link_candidates(const std::string& path, std::string_view name,
                                         const std::vector<std::string>& roots) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::vector<std::string> candidates{folder + std::string(name), folder + ".debug/" + std::string(name)};
  for (const std::string& root : roots) candidates.push_back(root + folder + std::string(name));
  std::erase(candidates, path);
  return candidates;
}

}  // namespace

base::Result<base::FileContent> open_regular(const std::string& path) {
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return base::system_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return base::system_error("cannot open", path, errno);
  if (!S_ISREG(info.st_mode)) return base::failed("cannot open", path, "it is not a regular file");
  return base::FileContent::from_descriptor(fd.get(), path);
}

std::optional<base::FileContent> find_debug_file(const std::string& path, const ElfFile& elf,
                                                 const std::vector<std::string>& roots) {
  const base::Bytes build_id = elf.build_id();
  if (build_id.size() > 1) {
    const std::string hex = model::BuildId(build_id).hex();
    for (const std::string& root : roots) {
      const std::string candidate = root + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
      if (auto file = with_build_id(candidate, build_id)) return file;
    }
  }
  const auto link = elf.debug_link();
  if (!link) return std::nullopt;
  for (const std::string& candidate : link_candidates(path, link->name, roots)) {
    auto file = build_id.empty() ? with_checksum(candidate, link->crc) : with_build_id(candidate, build_id);
    if (file) return file;
  }
  return std::nullopt;
}

}  // namespace tephra::symbols
