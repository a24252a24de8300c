#include "objects/debug_info.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/parallel.h"
#include "objects/debug_files.h"
#include "objects/debug_index.h"
#include "objects/debug_unit.h"
#include "objects/dwarf_handle.h"
#include "objects/elf_file.h"
#include "objects/loaded_code.h"
#include "objects/reading_budget.h"

namespace tephra::objects {
namespace {

using Range = DebugIndex::Range;

LoadedCode code_of(base::Bytes file) {
  const auto elf = ElfFile::parse(file);
  return LoadedCode(elf ? *elf : ElfFile());
}

base::Bytes lines_of(base::Bytes image) {
  const auto elf = ElfFile::parse(image);
  const auto* section = elf ? elf->section(".debug_line") : nullptr;
  return section != nullptr ? section->content : base::Bytes();
}

// Handles of libdw over one image, each used by one thread at a time, and what all of them need to know.
class DwarfPool {
 public:
  DwarfPool(base::Bytes file, DebugSources* sources)
      : files_(file, sources),
        code_(code_of(file)),
        budget_(files_.image().size()),
        line_section_(lines_of(files_.image())) {}

  UnitSurroundings surroundings() { return {code_, budget_, line_section_}; }
  bool is_cut() const { return budget_.is_spent(); }
  bool has_loose_parts() const { return files_.has_loose_parts(); }

  std::optional<DwarfHandle> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        DwarfHandle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    return DwarfHandle::open(files_.image(), files_.alternate());
  }
  void give_back(DwarfHandle handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }
  // Frees what libdw keeps of the units it has read.
  void close() { idle_.clear(); }

 private:
  DebugFiles files_;  // outlives the handles
  LoadedCode code_;   // of the file itself: the image that libdw reads may be made of debug sections alone
  ReadingBudget budget_;
  base::Bytes line_section_;
  std::mutex mutex_;
  std::vector<DwarfHandle> idle_;
};

// Finds where the code of each unit is.
class UnitRanges {
 public:
  UnitRanges(Dwarf* dwarf, const UnitSurroundings& surroundings)
      : dwarf_(dwarf), code_(surroundings.code), budget_(surroundings.budget) {
    add_listed();
    Dwarf_CU* cu = nullptr;
    Dwarf_Die root;
    uint8_t kind = 0;
    while (::dwarf_get_units(dwarf, cu, &cu, nullptr, &kind, &root, nullptr) == 0) {
      if (kind != DW_UT_compile && kind != DW_UT_skeleton) continue;
      if (!listed_.contains(::dwarf_dieoffset(&root))) add_own(root);
    }
  }

  std::vector<Range> ranges;
  std::vector<uint64_t> silent;  // units that do not say where their code is: only their functions do

 private:
  // .debug_aranges tells the ranges of most units without reading them; the others are asked themselves.
  void add_listed() {
    Dwarf_Aranges* table = nullptr;
    size_t count = 0;
    if (::dwarf_getaranges(dwarf_, &table, &count) != 0) return;
    for (size_t i = 0; i < count; ++i) {
      Dwarf_Addr begin = 0;
      Dwarf_Word length = 0;
      Dwarf_Off root = 0;
      Dwarf_Arange* row = ::dwarf_onearange(table, i);
      if (row == nullptr || ::dwarf_getarangeinfo(row, &begin, &length, &root) != 0) continue;
      if (length == 0 || begin + length < begin) continue;
      listed_.insert(root);
      if (!code_.may_begin_at(begin)) continue;
      ranges.push_back({begin, begin + length, root});
    }
  }

  void add_own(Dwarf_Die& root) {
    const Dwarf_Off offset = ::dwarf_dieoffset(&root);
    const bool says = for_each_range(root, code_, budget_, lists_, [&](uint64_t begin, uint64_t end) {
      ranges.push_back({begin, end, offset});
    });
    if (!says) silent.push_back(offset);
  }

  Dwarf* dwarf_;
  const LoadedCode& code_;
  ReadingBudget& budget_;
  RangeLists lists_;
  std::unordered_set<Dwarf_Off> listed_;
};

// Where the functions of a unit are.
void add_code_ranges(const UnitTables& tables, uint64_t root, std::vector<Range>& ranges) {
  const size_t first = ranges.size();
  for (size_t i = 0; i + 1 < tables.segment_begins.size(); ++i) {
    if (tables.segment_nodes[i] == UnitTables::kNone) continue;
    const uint64_t begin = tables.segment_begins[i];
    if (ranges.size() > first && ranges.back().end == begin) {
      ranges.back().end = tables.segment_begins[i + 1];
    } else {
      ranges.push_back({begin, tables.segment_begins[i + 1], root});
    }
  }
}

class IndexedDebugInfo : public DebugInfo {
 public:
  IndexedDebugInfo(base::Bytes file, base::Bytes stored, DebugSources* sources)
      : file_(file), sources_(sources), index_(stored) {
    if (index_.empty()) {
      read_ranges();
      ranges_ = own_ranges_;
    } else {
      ranges_ = index_.ranges();
    }
  }

  bool empty() const { return index_.empty() && !readable_; }

  void prepare(std::span<const uint64_t> addresses) override {
    std::vector<uint64_t> missing;
    for (const uint64_t address : addresses) {
      for_each_candidate(address, [&](uint64_t root) {
        if (!known(root)) missing.push_back(root);
        return true;  // the next ones are needed only where this one has nothing to say
      });
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    read_units(std::move(missing));
    // The tables hold all that is needed of them.
    if (pool_) pool_->close();
  }

  void find(uint64_t address, std::vector<Level>& levels) override {
    levels.clear();
    for_each_candidate(address, [&](uint64_t root) {
      unit(root).find(address, levels);
      return !levels.empty();
    });
  }

  bool is_cut() const override { return pool_ && pool_->is_cut(); }

  std::string updated_index() const override {
    // Files of single units come and go unnoticed; what was left out is to be told every time.
    if (fresh_.empty() || is_cut() || (pool_ && pool_->has_loose_parts())) return {};
    std::map<uint64_t, UnitTables> units;
    index_.for_each_unit([&](uint64_t root, const UnitTables& tables) { units.emplace(root, tables); });
    for (const auto& [root, tables] : fresh_) units.insert_or_assign(root, tables->view());
    return DebugIndex::store(ranges_, units);
  }

 private:
  // Calls visit(root) for the units that may hold an address, the likeliest first, until it returns true.
  template <class Visit>
  void for_each_candidate(uint64_t address, Visit visit) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                        [](uint64_t wanted, const Range& range) { return wanted < range.begin; });
    // Ranges of units seldom overlap, so the nearest few decide.
    for (auto at = after; at != ranges_.begin() && after - at < 4;) {
      --at;
      if (address < at->end && visit(at->unit)) return;
    }
  }

  bool known(uint64_t root) {
    if (units_.contains(root)) return true;
    const auto stored = index_.unit(root);
    if (stored) units_.emplace(root, *stored);
    return stored.has_value();
  }

  const UnitTables& unit(uint64_t root) {
    if (!known(root)) read_units({root});
    return units_[root];
  }

  DwarfPool& pool() {
    if (!pool_) pool_ = std::make_unique<DwarfPool>(file_, sources_);
    return *pool_;
  }

  void read_ranges() {
    auto dwarf = pool().take();
    if (!dwarf) return;
    readable_ = true;
    UnitRanges found(dwarf->get(), pool().surroundings());
    pool().give_back(std::move(*dwarf));
    own_ranges_ = std::move(found.ranges);
    read_units(found.silent);
    for (const uint64_t root : found.silent) add_code_ranges(units_[root], root, own_ranges_);
    std::sort(own_ranges_.begin(), own_ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  // Reads units, the longest first, so that the threads end together.
  void read_units(std::vector<uint64_t> roots) {
    if (roots.empty()) return;
    pool();
    std::sort(roots.begin(), roots.end());
    std::vector<std::pair<uint64_t, uint64_t>> by_size;  // as far as the next one shows
    for (size_t i = 0; i < roots.size(); ++i) {
      by_size.emplace_back(i + 1 < roots.size() ? roots[i + 1] - roots[i] : UINT64_MAX, roots[i]);
    }
    std::sort(by_size.begin(), by_size.end(), std::greater<>());
    std::vector<std::unique_ptr<OwnedUnitTables>> read(roots.size());
    base::parallel_for(roots.size(), [&](size_t i) { read[i] = read_unit(by_size[i].second); });
    for (size_t i = 0; i < roots.size(); ++i) {
      const uint64_t root = by_size[i].second;
      units_.insert_or_assign(root, read[i] ? read[i]->view() : UnitTables{});
      if (read[i]) fresh_.insert_or_assign(root, std::move(read[i]));
    }
  }

  std::unique_ptr<OwnedUnitTables> read_unit(uint64_t root) {
    auto dwarf = pool_->take();
    if (!dwarf) return nullptr;
    auto tables = std::make_unique<OwnedUnitTables>(DebugUnit(dwarf->get(), root, pool_->surroundings()).take());
    pool_->give_back(std::move(*dwarf));
    return tables;
  }

  base::Bytes file_;
  DebugSources* sources_;
  DebugIndex index_;
  bool readable_ = false;
  std::unique_ptr<DwarfPool> pool_;  // made when the file itself is needed
  std::vector<Range> own_ranges_;
  std::span<const Range> ranges_;
  std::unordered_map<uint64_t, UnitTables> units_;  // by root entry: those that were asked for
  std::unordered_map<uint64_t, std::unique_ptr<OwnedUnitTables>> fresh_;
};

}  // namespace

std::unique_ptr<DebugInfo> DebugInfo::open(base::Bytes file, base::Bytes stored, DebugSources* sources) {
  auto info = std::make_unique<IndexedDebugInfo>(file, stored, sources);
  if (info->empty()) return nullptr;
  return info;
}

}  // namespace tephra::objects
