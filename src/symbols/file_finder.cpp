#include "symbols/file_finder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "symbols/debug_file.h"
#include "symbols/kept_files.h"

namespace tephra::symbols {
namespace {

using model::Reason;
using objects::ElfFile;

// Whether another file of the same filesystem is at `path` now. Devices tell nothing when they differ: layered
// filesystems show another one to the kernel than to programs.
bool was_replaced(const std::string& path, const model::FileIdentity& recorded) {
  struct stat now {};
  if (recorded.inode == 0 || ::stat(path.c_str(), &now) != 0) return false;
  const uint64_t device = uint64_t{major(now.st_dev)} << 32 | minor(now.st_dev);
  return recorded.device == device && recorded.inode != now.st_ino;
}

// Whether a file that was kept is still the one that ran; without a build id KeptFiles has seen to it.
bool is_proven(base::Bytes file, const model::BuildId& build_id) {
  if (build_id.empty()) return true;
  const auto elf = ElfFile::parse(file);
  return elf && same_build_id(elf->build_id(), build_id.bytes());
}

FileFinder::Found not_found(Reason reason) { return {nullptr, {}, reason}; }

FileFinder::Found found(base::FileContent content, std::string path) {
  return {std::make_shared<const base::FileContent>(std::move(content)), std::move(path), {}};
}

}  // namespace

bool same_build_id(base::Bytes a, base::Bytes b) {
  a = a.first(std::min(a.size(), model::BuildId::kMostBytes));
  b = b.first(std::min(b.size(), model::BuildId::kMostBytes));
  if (a.size() > b.size()) std::swap(a, b);
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  return !a.empty() && std::ranges::equal(a, b.first(a.size())) && std::ranges::all_of(b.subspan(a.size()), is_zero);
}

struct FileFinder::State {
  FinderOptions options;
};

FileFinder::FileFinder(FinderOptions options) : state_(new State{std::move(options)}) {}
FileFinder::~FileFinder() = default;

FileFinder::Found FileFinder::find_code(const WantedFile& file) {
  if (state_->options.kept != nullptr) {
    auto kept = state_->options.kept->open(file.build_id, file.identity);
    if (kept && is_proven(kept->bytes(), file.build_id)) return found(std::move(*kept), file.path);
  }
  auto content = open_regular(file.path);
  if (!content) return not_found(Reason::file_missing);
  if (file.build_id.empty()) {
    if (was_replaced(file.path, file.identity)) return not_found(Reason::build_id_mismatch);
    return found(std::move(content).value(), file.path);
  }
  const auto elf = ElfFile::parse(content->bytes());
  if (!elf || !same_build_id(elf->build_id(), file.build_id.bytes())) return not_found(Reason::build_id_mismatch);
  return found(std::move(content).value(), file.path);
}

FileFinder::Found FileFinder::find_debug(const WantedFile& file, const ElfFile& elf) {
  auto content = find_debug_file(file.path, elf, state_->options.debug_roots);
  if (!content) return not_found(Reason::file_missing);
  return found(std::move(*content), {});
}

}  // namespace tephra::symbols
