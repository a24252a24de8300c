#include "unwind/table_store.h"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "objects/elf_file.h"
#include "objects/frame_rows.h"
#include "symbols/vdso.h"
#include "unwind/compiled_table.h"

namespace tephra::unwind {
namespace {

using objects::ElfFile;

constexpr std::string_view kKind = "frames";
// Shorter build ids were given by hand and need not tell files apart.
constexpr size_t kShortestKey = 8;

// The key of a build id in the cache; records pad build ids with zeros. Empty where it does not identify a file.
std::string key_of(base::Bytes build_id) {
  const model::BuildId shortened(build_id);
  base::Bytes bytes = shortened.bytes();
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes.size() < kShortestKey ? std::string() : model::BuildId(bytes).hex();
}

std::string key_of(const symbols::WantedFile& file) {
  const std::string build_id = key_of(file.build_id.bytes());
  if (!build_id.empty()) return build_id;
  const auto& id = file.identity;
  return file.path + '\0' + file.build_id.hex() + '\0' + std::to_string(id.device) + ' ' + std::to_string(id.inode) +
         ' ' + std::to_string(id.generation);
}

}  // namespace

struct TableStore::State {
  // A table that is being made, or was; null inside when the file is not at hand.
  struct Slot {
    std::once_flag made;
    std::optional<CompiledTable> owned;
    const FrameTable* table = nullptr;
  };

  symbols::FileFinder& files;
  const base::DiskCache& cache;
  mutable std::mutex mutex;
  std::map<std::string, std::unique_ptr<Slot>> slots;
  Totals totals;

  Slot& slot_of(const std::string& key) {
    const std::lock_guard lock(mutex);
    auto& slot = slots[key];
    if (!slot) slot = std::make_unique<Slot>();
    return *slot;
  }

  void keep(Slot& slot, CompiledTable table) {
    slot.owned.emplace(std::move(table));
    slot.table = &slot.owned->table();
    const std::lock_guard lock(mutex);
    ++totals.tables;
    totals.rows += slot.table->rows;
  }

  bool load(Slot& slot, const std::string& build_id) {
    if (build_id.empty()) return false;
    auto entry = cache.find(kKind, build_id, CompiledTable::kVersion);
    auto table = entry ? CompiledTable::from_cache(std::move(*entry)) : std::nullopt;
    if (!table) return false;
    keep(slot, std::move(*table));
    return true;
  }

  void compile(Slot& slot, const ElfFile& elf, const symbols::WantedFile* file) {
    const auto begin = std::chrono::steady_clock::now();
    objects::FrameRows rows = objects::build_frame_rows(elf);
    if (file != nullptr && lacks_call_frames(rows)) add_debug_file(rows, elf, *file);
    CompiledTable table(std::move(rows));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const std::string key = key_of(elf.build_id());
    // One without rows is made as fast as it is found, and a debug file may appear.
    if (!key.empty() && !table.table().empty()) {
      const std::string content = table.cache_content();
      // Without a cache the next run compiles again.
      static_cast<void>(cache.store(kKind, key, CompiledTable::kVersion, base::as_bytes(content)));
    }
    keep(slot, std::move(table));
    const std::lock_guard lock(mutex);
    ++totals.compiled;
    totals.compile_seconds += spent.count();
  }

  void add_debug_file(objects::FrameRows& rows, const ElfFile& elf, const symbols::WantedFile& file) {
    const auto debug = files.find_debug(file, elf);
    if (!debug.content) return;
    const auto debug_elf = ElfFile::parse(debug.content->bytes());
    if (debug_elf) rows = objects::build_frame_rows(elf, &*debug_elf);
  }

  void make(Slot& slot, const symbols::WantedFile& file) {
    const std::string wanted = key_of(file.build_id.bytes());
    if (load(slot, wanted)) return;
    const auto code = files.find_code(file);
    if (!code.content) return;
    const auto elf = ElfFile::parse(code.content->bytes());
    if (!elf) return;
    const std::string own = key_of(elf->build_id());
    if (wanted.empty() && !own.empty()) {
      // The build id shows only now; the table may be known by it.
      Slot& known = slot_of(own);
      std::call_once(known.made, [&] {
        if (!load(known, own)) compile(known, *elf, &file);
      });
      slot.table = known.table;
      return;
    }
    compile(slot, *elf, &file);
  }

  void make_vdso(Slot& slot, const model::BuildId& build_id) {
    const auto elf = ElfFile::parse(symbols::own_vdso());
    if (!elf) return;
    if (!build_id.empty() && !symbols::same_build_id(elf->build_id(), build_id.bytes())) return;
    keep(slot, CompiledTable(objects::build_frame_rows(*elf)));
  }
};

TableStore::TableStore(symbols::FileFinder& files, const base::DiskCache& cache)
    : state_(new State{files, cache, {}, {}, {}}) {}
TableStore::~TableStore() = default;

const FrameTable* TableStore::find(const symbols::WantedFile& file) {
  State::Slot& slot = state_->slot_of(key_of(file));
  std::call_once(slot.made, [&] { state_->make(slot, file); });
  return slot.table;
}

const FrameTable* TableStore::find_vdso(const model::BuildId& build_id) {
  State::Slot& slot = state_->slot_of("[vdso]" + build_id.hex());
  std::call_once(slot.made, [&] { state_->make_vdso(slot, build_id); });
  return slot.table;
}

TableStore::Totals TableStore::totals() const {
  const std::lock_guard lock(state_->mutex);
  return state_->totals;
}

}  // namespace tephra::unwind
