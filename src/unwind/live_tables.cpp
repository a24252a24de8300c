#include "unwind/live_tables.h"

#include <sys/stat.h>

#include "base/file_copy.h"
#include "objects/frame_rows.h"
#include "symbols/file_finder.h"
#include "symbols/regular_file.h"
#include "symbols/vdso.h"

namespace tephra::unwind {
namespace {

using objects::ElfFile;

constexpr size_t kMostKnown = 100'000;

LiveTables::Table shared(CompiledTable table) {
  const auto owner = std::make_shared<const CompiledTable>(std::move(table));
  return {owner, &owner->table()};
}

}  // namespace

LiveTables::LiveTables(const base::DiskCache& cache) : cache_(cache), seed_(unforeseeable_seed()) {}

LiveTables::Table LiveTables::of_file(int fd) {
  const auto copy = base::FileCopy::of(fd);
  if (!copy) return nullptr;
  const auto elf = ElfFile::parse(copy->bytes(), [&](uint64_t offset, uint64_t size) { copy->need(offset, size); });
  if (!elf) return nullptr;
  const Key key{TableCache::key_of(elf->build_id()), TableOrigin::of(*elf, seed_).hash};
  if (const auto known = known_.find(key); known != known_.end()) {
    if (auto table = known->second.lock()) return table;
  }
  Table table = make(*elf, fd);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.insert_or_assign(key, table);
  return table;
}

LiveTables::Table LiveTables::make(const ElfFile& elf, int fd) {
  if (auto stored = cache_.find(elf)) return shared(std::move(*stored));
  CompiledTable table = compile(elf);
  struct stat info {};
  if (::fstat(fd, &info) == 0 && symbols::is_trusted_owner(info.st_uid) && cache_.store(elf, table)) {
    // The one on disk takes no memory of ours.
    if (auto stored = cache_.find(elf)) return shared(std::move(*stored));
  }
  return shared(std::move(table));
}

CompiledTable LiveTables::compile(const ElfFile& elf) {
  ++compiled_;
  objects::FrameRows rows = objects::build_frame_rows(elf);
  if (!objects::lacks_call_frames(rows) || elf.build_id().empty()) return CompiledTable(std::move(rows));
  // Only what is installed under its build id: beside the file anybody may have put one.
  symbols::FileFinder files;
  const auto debug = files.find_debug_of({.path = {}, .build_id = model::BuildId(elf.build_id()), .identity = {}});
  if (!debug.content) return CompiledTable(std::move(rows));
  if (const auto debug_elf = ElfFile::parse(debug.content->bytes())) rows = objects::build_frame_rows(elf, &*debug_elf);
  return CompiledTable(std::move(rows));
}

LiveTables::Table LiveTables::of_vdso() {
  if (vdso_) return vdso_;
  if (const auto elf = ElfFile::parse(symbols::own_vdso())) {
    vdso_ = shared(CompiledTable(objects::build_frame_rows(*elf)));
  }
  return vdso_;
}

}  // namespace tephra::unwind
