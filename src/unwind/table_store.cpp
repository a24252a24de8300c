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
#include "unwind/table_cache.h"

namespace tephra::unwind {
namespace {

using objects::ElfFile;

std::string key_of(const symbols::WantedFile& file) {
  const std::string build_id = TableCache::key_of(file.build_id.bytes());
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
  TableCache cache;
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

  bool keep_if(Slot& slot, std::optional<CompiledTable> table) {
    if (!table) return false;
    keep(slot, std::move(*table));
    return true;
  }

  void compile(Slot& slot, const ElfFile& elf, const symbols::WantedFile& file, bool trusted) {
    const auto begin = std::chrono::steady_clock::now();
    objects::FrameRows rows = objects::build_frame_rows(elf);
    if (lacks_call_frames(rows)) add_debug_file(rows, elf, file);
    CompiledTable table(std::move(rows));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (trusted) cache.store(elf, table);
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
    const std::string wanted = TableCache::key_of(file.build_id.bytes());
    const auto code = files.find_code(file);
    const auto elf = code.content ? ElfFile::parse(code.content->bytes()) : base::failed("there is no file");
    if (!elf) {
      // It may be gone, and have been here before.
      keep_if(slot, cache.find_unseen(file.build_id.bytes()));
      return;
    }
    const auto load_or_compile = [&](Slot& to) {
      if (!keep_if(to, cache.find(*elf))) compile(to, *elf, file, code.trusted);
    };
    const std::string own = TableCache::key_of(elf->build_id());
    if (!wanted.empty() || own.empty()) return load_or_compile(slot);
    // The build id shows only now; the table may be known by it.
    Slot& known = slot_of(own);
    std::call_once(known.made, [&] { load_or_compile(known); });
    slot.table = known.table;
  }

  void make_vdso(Slot& slot, const model::BuildId& build_id) {
    const auto elf = ElfFile::parse(symbols::own_vdso());
    if (!elf) return;
    if (!build_id.empty() && !symbols::same_build_id(elf->build_id(), build_id.bytes())) return;
    keep(slot, CompiledTable(objects::build_frame_rows(*elf)));
  }
};

TableStore::TableStore(symbols::FileFinder& files, const base::DiskCache& cache)
    : state_(new State{files, TableCache(cache), {}, {}, {}}) {}
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
