#include "objects/split_dwarf.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/parallel.h"
#include "objects/debug_image.h"
#include "objects/elf_file.h"
#include "objects/joined_unit.h"
#include "objects/split_package.h"

namespace tephra::objects {
namespace {

using base::Bytes;

constexpr uint64_t kLargest = uint64_t{2} << 30;
constexpr size_t kMostUnits = 1 << 20;

Bytes content_of(const ElfFile& elf, std::string_view name) {
  const auto* section = elf.section(name);
  return section == nullptr ? Bytes() : section->content;
}

Bytes part_of(Bytes section, const SplitPackage::Part& part) {
  if (part.offset > section.size() || part.size > section.size() - part.offset) return {};
  return section.subspan(part.offset, part.size);
}

// Calls visit(header) for every unit until it returns false.
template <class Visit>
void for_each_unit(Bytes info, Visit visit) {
  uint64_t at = 0;
  for (size_t i = 0; i < kMostUnits && at < info.size(); ++i) {
    const auto header = DwarfUnitHeader::read(info, at);
    if (!header || !visit(*header)) return;
    at += header->size;
  }
}

// An opened .dwo or .dwp file.
struct SplitFile {
  explicit SplitFile(Bytes file) : image(file) {
    auto parsed = ElfFile::parse(image.bytes());
    if (!parsed) return;
    const ElfFile& elf = *parsed;
    sections = {.info = content_of(elf, ".debug_info.dwo"),
                .abbrev = content_of(elf, ".debug_abbrev.dwo"),
                .str = content_of(elf, ".debug_str.dwo"),
                .str_offsets = content_of(elf, ".debug_str_offsets.dwo"),
                .rnglists = content_of(elf, ".debug_rnglists.dwo")};
    if (const Bytes index = content_of(elf, ".debug_cu_index"); !index.empty()) package = SplitPackage::parse(index);
  }

  DebugImage image;
  DwarfSections sections;
  std::optional<SplitPackage> package;
  std::unordered_map<uint64_t, DwarfUnitHeader> units;  // by id, where there is no package
  uint64_t string_base = 0;                             // where its strings will be
};

// A unit in both its places.
struct Pair {
  SkeletonUnit skeleton;
  const SplitFile* file = nullptr;
  DwarfUnitHeader split;
  DwarfSections sections;
  const DwarfAbbreviations* abbreviations = nullptr;
  std::optional<JoinedUnit> joined;
};

class Joiner {
 public:
  Joiner(Bytes image, const ElfFile& elf, DebugSources& sources) : image_(image), elf_(elf), sources_(sources) {
    program_ = {.info = content_of(elf, ".debug_info"),
                .abbrev = content_of(elf, ".debug_abbrev"),
                .str = content_of(elf, ".debug_str"),
                .line_str = content_of(elf, ".debug_line_str"),
                .str_offsets = content_of(elf, ".debug_str_offsets"),
                .addr = content_of(elf, ".debug_addr"),
                .rnglists = content_of(elf, ".debug_rnglists"),
                .ranges = content_of(elf, ".debug_ranges")};
    abbreviations_.allow(program_.abbrev);
    ranges_left_ = program_.rnglists.size() + program_.ranges.size() + program_.info.size();
  }

  JoinedUnits join() && {
    find_pairs();
    return {assemble(), loose_};
  }

 private:
  SectionImage assemble() {
    if (pairs_.empty()) return {};
    base::parallel_for(pairs_.size(), [&](size_t index) {
      Pair& pair = pairs_[index];
      pair.joined =
          JoinedUnit::make(pair.skeleton, pair.split, pair.sections, *pair.abbreviations, pair.file->string_base);
    });
    std::erase_if(pairs_, [&](const Pair& pair) {
      if (!pair.joined) refuse(pair.skeleton, "cannot be read");
      return !pair.joined;
    });
    return pairs_.empty() ? SectionImage() : make_image();
  }

  void refuse(const SkeletonUnit& unit, const std::string& why) {
    sources_.refuse({unit.id, unit.name, unit.folder}, why);
  }

  void find_pairs() {
    strings_end_ = program_.str.size();
    const SplitFile* package = nullptr;
    bool package_opened = false;
    for_each_unit(program_.info, [&](const DwarfUnitHeader& header) {
      auto skeleton = SkeletonUnit::read(header, program_, abbreviations_);
      if (!skeleton) return true;
      if (skeleton->range_bytes > ranges_left_) return false;
      ranges_left_ -= skeleton->range_bytes;
      if (!ids_.insert(skeleton->id).second) return true;
      if (!package_opened) package = open(sources_.package());
      package_opened = true;
      Pair pair{.skeleton = std::move(*skeleton)};
      if (package != nullptr && find_in_package(*package, pair)) {
        pairs_.push_back(std::move(pair));
      } else {
        loose_ = true;
        if (find_in_file(pair)) pairs_.push_back(std::move(pair));
      }
      return strings_end_ < kLargest;
    });
  }

  // Null when the bytes are no such file, or the strings of all would be too many.
  const SplitFile* open(Bytes file) {
    if (file.empty()) return nullptr;
    SplitFile& opened = files_.emplace_back(file);
    if (opened.sections.info.empty() || opened.sections.str.size() > kLargest - std::min(kLargest, strings_end_)) {
      files_.pop_back();
      return nullptr;
    }
    opened.sections.addr = program_.addr;
    opened.sections.ranges = program_.ranges;
    opened.string_base = strings_end_;
    strings_end_ += opened.sections.str.size();
    abbreviations_.allow(opened.sections.abbrev);
    if (!opened.package) index_units(opened);
    return &opened;
  }

  void index_units(SplitFile& file) {
    for_each_unit(file.sections.info, [&](const DwarfUnitHeader& header) {
      if (const auto id = split_unit_id(header, file.sections, abbreviations_)) file.units.emplace(*id, header);
      return true;
    });
  }

  bool find_in_package(const SplitFile& package, Pair& pair) {
    const auto* parts = package.package ? package.package->find(pair.skeleton.id) : nullptr;
    if (parts == nullptr) return false;
    pair.sections = package.sections;
    pair.sections.info = part_of(package.sections.info, (*parts)[SplitPackage::kInfo]);
    pair.sections.abbrev = part_of(package.sections.abbrev, (*parts)[SplitPackage::kAbbrev]);
    pair.sections.str_offsets = part_of(package.sections.str_offsets, (*parts)[SplitPackage::kStrOffsets]);
    pair.sections.rnglists = part_of(package.sections.rnglists, (*parts)[SplitPackage::kRnglists]);
    const auto header = DwarfUnitHeader::read(pair.sections.info, 0);
    if (!header || split_unit_id(*header, pair.sections, abbreviations_) != pair.skeleton.id) return false;
    return take(package, *header, pair);
  }

  bool find_in_file(Pair& pair) {
    const SkeletonUnit& skeleton = pair.skeleton;
    const Bytes content = sources_.split({skeleton.id, skeleton.name, skeleton.folder});
    if (content.empty()) {
      refuse(skeleton, "was not found, so its inlined calls are missing");
      return false;
    }
    // Several units may be in one file.
    const auto [at, fresh] = opened_.try_emplace(content.data(), nullptr);
    if (fresh) at->second = open(content);
    if (at->second != nullptr) {
      pair.sections = at->second->sections;
      const auto unit = at->second->units.find(skeleton.id);
      if (unit != at->second->units.end() && take(*at->second, unit->second, pair)) return true;
    }
    refuse(skeleton, "is of another build, and not used");
    return false;
  }

  bool take(const SplitFile& file, const DwarfUnitHeader& header, Pair& pair) {
    pair.file = &file;
    pair.split = header;
    pair.abbreviations = abbreviations_.find(pair.sections.abbrev, header.abbrev_offset);
    return pair.abbreviations != nullptr;
  }

  // The program's sections, with the joined units behind its own. The skeletons are emptied. The program's table of
  // address ranges would lead to them, so it is left out.
  SectionImage make_image() {
    uint64_t info_size = program_.info.size();
    uint64_t abbrev_size = program_.abbrev.size();
    uint64_t rnglists_size = program_.rnglists.size();
    for (Pair& pair : pairs_) {
      JoinedUnit& unit = *pair.joined;
      const auto abbrev_offset = static_cast<uint32_t>(abbrev_size);
      std::memcpy(unit.info.data() + JoinedUnit::kAbbrevOffsetAt, &abbrev_offset, sizeof abbrev_offset);
      for (const uint32_t at : unit.rnglists_at) {
        const auto offset =
            static_cast<uint32_t>(base::load<uint32_t>(base::as_bytes(unit.info).data() + at) + rnglists_size);
        std::memcpy(unit.info.data() + at, &offset, sizeof offset);
      }
      info_size += unit.info.size();
      abbrev_size += unit.abbrev.size();
      rnglists_size += unit.rnglists.size();
    }
    if (info_size + abbrev_size + rnglists_size + strings_end_ > kLargest) return {};
    std::vector<SectionImage::Section> sections;
    for (const std::string_view name :
         {".debug_line", ".debug_line_str", ".debug_ranges", ".debug_str_offsets", ".debug_addr", ".debug_types"}) {
      if (const Bytes content = content_of(elf_, name); !content.empty()) {
        sections.push_back(SectionImage::copied(std::string(name), content));
      }
    }
    sections.push_back(appended(".debug_abbrev", program_.abbrev, abbrev_size, &JoinedUnit::abbrev));
    sections.push_back(appended(".debug_rnglists", program_.rnglists, rnglists_size, &JoinedUnit::rnglists));
    sections.push_back(strings());
    auto info = appended(".debug_info", program_.info, info_size, &JoinedUnit::info);
    info.fill = [this, fill = info.fill](std::span<std::byte> output) {
      fill(output);
      for (const Pair& pair : pairs_) empty(pair.skeleton.header, output);
      return true;
    };
    sections.push_back(std::move(info));
    return SectionImage(image_, sections);
  }

  // A unit without entries, in place of a skeleton.
  static void empty(const DwarfUnitHeader& header, std::span<std::byte> info) {
    const uint64_t id_size = header.type == DW_UT_skeleton ? 8 : 0;
    const size_t begin = header.offset + header.root - id_size;
    std::memset(info.data() + begin, 0, header.offset + header.size - begin);
    const size_t type_at = header.offset + (header.offset_size == 8 ? 12 : 4) + 2;
    if (header.version >= 5) info[type_at] = std::byte{DW_UT_compile};
  }

  SectionImage::Section appended(std::string name, Bytes own, uint64_t size, std::string JoinedUnit::*part) {
    return {std::move(name), size, [this, own, part](std::span<std::byte> output) {
              if (!own.empty()) std::memcpy(output.data(), own.data(), own.size());
              size_t at = own.size();
              for (const Pair& pair : pairs_) {
                const std::string& content = (*pair.joined).*part;
                std::memcpy(output.data() + at, content.data(), content.size());
                at += content.size();
              }
              return true;
            }};
  }

  SectionImage::Section strings() {
    return {".debug_str", strings_end_, [this](std::span<std::byte> output) {
              if (!program_.str.empty()) std::memcpy(output.data(), program_.str.data(), program_.str.size());
              for (const SplitFile& file : files_) {
                if (file.sections.str.empty()) continue;
                std::memcpy(output.data() + file.string_base, file.sections.str.data(), file.sections.str.size());
              }
              return true;
            }};
  }

  Bytes image_;
  const ElfFile& elf_;
  DebugSources& sources_;
  DwarfSections program_;
  DwarfAbbreviationCache abbreviations_;
  std::unordered_set<uint64_t> ids_;
  uint64_t ranges_left_ = 0;  // bytes of lists that skeletons may have: no more than their sections have
  std::deque<SplitFile> files_;
  std::unordered_map<const std::byte*, const SplitFile*> opened_;
  uint64_t strings_end_ = 0;
  bool loose_ = false;
  std::vector<Pair> pairs_;
};

}  // namespace

JoinedUnits join_split_units(Bytes image, DebugSources& sources) {
  const auto elf = ElfFile::parse(image);
  // Split units index the addresses in the program.
  if (!elf || elf->section(".debug_addr") == nullptr) return {};
  return Joiner(image, *elf, sources).join();
}

}  // namespace tephra::objects
