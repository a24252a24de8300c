#include "objects/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "objects/debug_image.h"
#include "objects/debug_unit.h"

namespace tephra::objects {
namespace {

struct ElfCloser {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};
struct DwarfCloser {
  void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;
using DwarfHandle = std::unique_ptr<Dwarf, DwarfCloser>;

class LibdwInfo : public DebugInfo {
 public:
  LibdwInfo(DebugImage image, ElfHandle elf, DwarfHandle dwarf)
      : image_(std::move(image)), elf_(std::move(elf)), dwarf_(std::move(dwarf)) {
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
    while (::dwarf_get_units(dwarf_.get(), cu, &cu, nullptr, &kind, &root, nullptr) == 0) {
      if (kind != DW_UT_compile && kind != DW_UT_skeleton) continue;
      if (listed.contains(::dwarf_dieoffset(&root))) continue;
      add_own_ranges(root);
    }
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  void add_listed_ranges(std::unordered_map<Dwarf_Off, bool>& listed) {
    Dwarf_Aranges* table = nullptr;
    size_t count = 0;
    if (::dwarf_getaranges(dwarf_.get(), &table, &count) != 0) return;
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
    if (fresh) at->second.emplace(dwarf_.get(), offset);
    return *at->second;
  }

  DebugImage image_;  // outlives the handles
  ElfHandle elf_;
  DwarfHandle dwarf_;
  std::vector<Range> ranges_;
  std::unordered_map<Dwarf_Off, std::optional<DebugUnit>> units_;
};

}  // namespace

std::unique_ptr<DebugInfo> DebugInfo::open(base::Bytes file) {
  ::elf_version(EV_CURRENT);
  // libelf never writes to an image of the machine's own byte order.
  DebugImage image(file);
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(image.bytes().data()));
  if (image.bytes().empty()) return nullptr;
  ElfHandle elf(::elf_memory(start, image.bytes().size()));
  GElf_Ehdr header;
  if (!elf || ::gelf_getehdr(elf.get(), &header) == nullptr || header.e_type == ET_REL) return nullptr;
  DwarfHandle dwarf(::dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
  if (!dwarf) return nullptr;
  return std::make_unique<LibdwInfo>(std::move(image), std::move(elf), std::move(dwarf));
}

}  // namespace tephra::objects
