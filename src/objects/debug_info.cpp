#include "objects/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "objects/debug_files.h"
#include "objects/debug_unit.h"
#include "objects/dwarf_handle.h"

namespace tephra::objects {
namespace {

class LibdwInfo : public DebugInfo {
 public:
  LibdwInfo(std::unique_ptr<DebugFiles> files, DwarfHandle handle)
      : files_(std::move(files)), handle_(std::move(handle)), dwarf_(handle_.get()) {
    index_units();
  }

  void find(uint64_t address, std::vector<Level>& levels) override {
    levels.clear();
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                        [](uint64_t wanted, const Range& range) { return wanted < range.begin; });
    // Ranges of units seldom overlap, so the nearest few decide.
    for (auto at = after; at != ranges_.begin() && after - at < 4;) {
      --at;
      if (address >= at->end) continue;
      unit(at->unit).find(address, levels);
      if (!levels.empty()) return;
    }
  }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    Dwarf_Off unit;  // the offset of its root entry
  };

  // .debug_aranges tells the ranges of most units without reading them; the others are asked themselves.
  void index_units() {
    std::unordered_map<Dwarf_Off, bool> listed;
    add_listed_ranges(listed);
    Dwarf_CU* cu = nullptr;
    Dwarf_Die root;
    uint8_t kind = 0;
    while (::dwarf_get_units(dwarf_, cu, &cu, nullptr, &kind, &root, nullptr) == 0) {
      if (kind != DW_UT_compile && kind != DW_UT_skeleton) continue;
      if (listed.contains(::dwarf_dieoffset(&root))) continue;
      add_own_ranges(root);
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  void add_listed_ranges(std::unordered_map<Dwarf_Off, bool>& listed) {
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
      listed[root] = true;
      ranges_.push_back({begin, begin + length, root});
    }
  }

  void add_own_ranges(Dwarf_Die& root) {
    const size_t before = ranges_.size();
    const Dwarf_Off offset = ::dwarf_dieoffset(&root);
    for_each_range(root, [&](uint64_t begin, uint64_t end) { ranges_.push_back({begin, end, offset}); });
    if (ranges_.size() > before) return;
    // The unit does not say where its code is: only its functions do.
    for (const auto& [begin, end] : unit(offset).code_ranges()) ranges_.push_back({begin, end, offset});
  }

  DebugUnit& unit(Dwarf_Off offset) {
    const auto [at, fresh] = units_.try_emplace(offset);
    if (fresh) at->second.emplace(dwarf_, offset);
    return *at->second;
  }

  std::unique_ptr<DebugFiles> files_;  // outlives the handle
  DwarfHandle handle_;
  Dwarf* dwarf_;
  std::vector<Range> ranges_;
  std::unordered_map<Dwarf_Off, std::optional<DebugUnit>> units_;
};

}  // namespace

std::unique_ptr<DebugInfo> DebugInfo::open(base::Bytes elf_file, DebugSources* sources) {
  auto files = std::make_unique<DebugFiles>(elf_file, sources);
  auto handle = DwarfHandle::open(files->image(), files->alternate());
  if (!handle) return nullptr;
  return std::make_unique<LibdwInfo>(std::move(files), std::move(*handle));
}

}  // namespace tephra::objects
