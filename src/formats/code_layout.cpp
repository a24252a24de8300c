#include "formats/code_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "stream/converted_facts.h"
#include "stream/event.h"
#include "stream/jit_traces.h"

namespace tephra::formats {

using model::AddressKind;
using model::CodeKind;
using model::FrameId;
using model::MappingId;
using model::Profile;
using model::StackId;

namespace {

constexpr uint64_t kPage = 4096;
// What lies further from the beginning of a mapping is no place in it.
constexpr uint64_t kLargestMapping = uint64_t{1} << 40;
constexpr uint64_t kFirstUser = uint64_t{1} << 32;
constexpr uint64_t kFirstUser32 = 0x1000'0000;
constexpr uint64_t kEndOfUser = uint64_t{1} << 47;
constexpr uint64_t kFirstKernel = 0xffff'c900'0000'0000;
constexpr uint64_t kFirstKernel32 = 0xd000'0000;
// Room for a frame that has a name only, and where in it its address is: one less must still be in it.
constexpr uint64_t kSlot = 16;
constexpr uint64_t kInSlot = 8;

uint64_t page_floor(uint64_t address) { return address / kPage * kPage; }
uint64_t page_ceil(uint64_t address) { return page_floor(address + kPage - 1); }

bool is_32bit(std::string_view arch) {
  return (arch.starts_with("arm") && !arch.starts_with("arm64")) || (arch.size() == 4 && arch.ends_with("86"));
}

// Whether addresses are those of memory that begins at Mapping::base.
bool begins_at_base(CodeKind kind) {
  return kind == CodeKind::kAnonymous || kind == CodeKind::kJit || kind == CodeKind::kKernelModule ||
         kind == CodeKind::kKernelCode;
}

// Hands out memory that nothing has.
class FreeMemory {
 public:
  explicit FreeMemory(uint64_t first) : next_(first) {}

  void reserve(uint64_t start, uint64_t end) { taken_.emplace_back(start, end); }
  // To be called when all is reserved.
  void seal() { std::ranges::sort(taken_); }
  uint64_t take(uint64_t size, uint64_t alignment) {
    next_ = (next_ + alignment - 1) / alignment * alignment;
    for (; at_ < taken_.size() && taken_[at_].first < next_ + size; ++at_) {
      if (taken_[at_].second > next_) next_ = (taken_[at_].second + alignment - 1) / alignment * alignment;
    }
    const uint64_t start = next_;
    next_ += size;
    return start;
  }

 private:
  uint64_t next_;
  size_t at_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> taken_;
};

}  // namespace

class LayoutMaker {
 public:
  explicit LayoutMaker(CodeLayout& layout)
      : layout_(layout),
        profile_(layout.profile_),
        user_(is_32bit(profile_.facts.arch) ? kFirstUser32 : kFirstUser),
        kernel_(is_32bit(profile_.facts.arch) ? kFirstKernel32 : kFirstKernel) {}

  void make() {
    find_equal_files();
    find_locations();
    find_uses();
    choose_kernel();
    layout_.places_.resize(layout_.locations_.size());
    nameless_.resize(layout_.locations_.size());
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] != 0) nameless_[i] = !has_place(i);
    }
    reserve_known();
    place_mappings();
    place_locations();
    place_names_only();
  }

 private:
  const model::Frame& holder(uint32_t location) const { return profile_.frames[layout_.locations_[location].holder]; }
  const model::Mapping& mapping_of(uint32_t location) const { return profile_.mappings[holder(location).mapping]; }

  // Readers tell files apart by what they are, not by where they are.
  void find_equal_files() {
    std::map<model::Mapping, uint32_t> known;
    model::for_each_id(profile_.mappings, [&](MappingId id) {
      model::Mapping mapping = profile_.mappings[id];
      if (mapping.kind == CodeKind::kFile) mapping.base = mapping.size = 0;
      mapping.unproven = false;
      equal_file_.push_back(known.try_emplace(mapping, id.value).first->second);
    });
  }

  // The location of `frame`, at the place of `outer` where it is inlined into that.
  uint32_t intern(FrameId frame, uint32_t outer) {
    const auto next = static_cast<uint32_t>(layout_.locations_.size());
    const auto [at, fresh] = known_.try_emplace({outer, frame.value}, next);
    if (!fresh) return at->second;
    CodeLayout::Location location{.frame = frame, .holder = frame, .outer = outer};
    uint32_t names_of_outer = CodeLayout::kNoOuter;
    if (outer != CodeLayout::kNoOuter) {
      const CodeLayout::Location& into = layout_.locations_[outer];
      location.holder = into.holder;
      location.depth = into.depth + 1;
      names_of_outer = into.names;
    }
    const model::Frame& row = profile_.frames[frame];
    location.names =
        names_.try_emplace({names_of_outer, row.function.value, row.file.value, row.line}, next).first->second;
    layout_.locations_.push_back(location);
    return next;
  }

  void find_locations() {
    layout_.location_.resize(profile_.stacks.size());
    layout_.caller_.resize(profile_.stacks.size());
    for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
      const model::Stack& stack = profile_.stacks[StackId{i}];
      const bool inlined = profile_.frames[stack.frame].inlined && stack.parent;
      const uint32_t outer = inlined ? layout_.location_[stack.parent.value] : CodeLayout::kNoOuter;
      layout_.location_[i] = intern(stack.frame, outer);
      layout_.caller_[i] = inlined ? layout_.caller_[stack.parent.value] : stack.parent;
    }
  }

  // Readers take the first address behind a change between kernel and user for where execution was, and the others for
  // return addresses.
  void find_uses() {
    layout_.uses_.resize(layout_.locations_.size());
    std::vector<uint8_t> used(profile_.stacks.size());
    for (const StackId stack : profile_.samples.stack) used[stack.value] |= CodeLayout::kAsInstruction;
    for (size_t i = used.size(); i-- > 1;) {
      if (used[i] == 0) continue;
      layout_.uses_[layout_.location_[i]] |= used[i];
      const StackId caller = layout_.caller_[i];
      if (!caller) continue;
      const bool same_side = model::is_kernel(mapping_of(layout_.location_[i]).kind) ==
                             model::is_kernel(mapping_of(layout_.location_[caller.value]).kind);
      used[caller.value] |= same_side ? CodeLayout::kAsReturn : CodeLayout::kAsInstruction;
    }
  }

  // Memory has one image of the kernel: of those of several boots, the one that most locations are in.
  void choose_kernel() {
    std::map<uint32_t, size_t> locations;
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] != 0 && mapping_of(i).kind == CodeKind::kKernel) {
        ++locations[equal_file_[holder(i).mapping.value]];
      }
    }
    const auto most = std::ranges::max_element(locations, {}, [](const auto& kernel) { return kernel.second; });
    if (most != locations.end()) kernel_image_ = most->first;
  }

  std::vector<CodeLayout::Use> uses_of(uint32_t location) const {
    std::vector<CodeLayout::Use> uses;
    for (const auto use : {CodeLayout::kAsInstruction, CodeLayout::kAsReturn}) {
      if (layout_.uses_[location] & use) uses.push_back(use);
    }
    return uses;
  }

  bool is_named(uint32_t location) const { return profile_.functions[holder(location).function].named; }

  // Whether the frame says where in its mapping it is.
  bool is_somewhere(uint32_t location) const {
    const uint64_t address = holder(location).address;
    const model::Mapping& mapping = mapping_of(location);
    switch (mapping.kind) {
      case CodeKind::kImported:
        return false;
      case CodeKind::kFile:
      case CodeKind::kVdso:
        return address < kLargestMapping;
      case CodeKind::kAnonymous:
      case CodeKind::kJit:
        return address >= mapping.base && address - mapping.base < kLargestMapping && address < kEndOfUser;
      case CodeKind::kKernelModule:
      case CodeKind::kKernelCode:
        return address >= mapping.base && address - mapping.base < kLargestMapping &&
               address < stream::kFirstChainMarker;
      case CodeKind::kKernel:
        if (equal_file_[holder(location).mapping.value] != kernel_image_) return false;
        [[fallthrough]];
      default:
        return address < stream::kFirstChainMarker && (address != 0 || !is_named(location));
    }
  }

  bool same_names(uint32_t a, uint32_t b) const { return layout_.locations_[a].names == layout_.locations_[b].names; }

  // What a frame's address is if it is read so: a call is right before where it returns to.
  uint64_t address_as(const model::Frame& frame, CodeLayout::Use use) const {
    const model::Mapping& mapping = profile_.mappings[frame.mapping];
    const uint64_t beginning = begins_at_base(mapping.kind) ? mapping.base : 0;
    const bool returns = frame.kind == AddressKind::kReturn;
    if (use == CodeLayout::kAsInstruction) return frame.address - (returns && frame.address > beginning ? 1 : 0);
    return frame.address + (!returns && frame.address + 1 < stream::kFirstChainMarker ? 1 : 0);
  }

  // Takes the frame's own place, unless another frame has it and would be read with this one's name.
  bool has_place(uint32_t location) {
    if (!is_somewhere(location)) return false;
    const model::Frame& frame = holder(location);
    const auto uses = uses_of(location);
    for (const auto use : uses) {
      const auto found = taken_.find({equal_file_[frame.mapping.value], address_as(frame, use), use});
      if (found != taken_.end() && !same_names(found->second, location)) return false;
    }
    for (const auto use : uses) {
      const uint64_t address = address_as(frame, use);
      taken_.emplace(std::tuple(equal_file_[frame.mapping.value], address, use), location);
      auto [extent, fresh] = extents_.try_emplace(frame.mapping.value, Extent{address, address});
      extent->second.first = std::min(extent->second.first, address);
      extent->second.last = std::max(extent->second.last, address);
    }
    return true;
  }

  // Memory without a file must not look like one to readers.
  std::string path_of(const model::Mapping& mapping) const {
    const std::string_view path = profile_.text(mapping.path);
    const bool looks_like_file = mapping.kind == CodeKind::kAnonymous && !stream::is_anonymous_memory(path);
    return looks_like_file ? fmt::format("[anon:{}]", path) : std::string(path);
  }

  // The memory that a mapping has by itself; nothing: it may be anywhere.
  std::optional<CodeLayout::Range> known_range(MappingId id) const {
    const model::Mapping& mapping = profile_.mappings[id];
    const Extent extent = extents_.at(id.value);
    CodeLayout::Range range{.mapping = id, .kind = mapping.kind, .path = path_of(mapping)};
    switch (mapping.kind) {
      case CodeKind::kFile:
        if (mapping.base == 0 || mapping.base % kPage != 0 || mapping.base + extent.last >= kEndOfUser) return {};
        range.offset = page_floor(extent.first);
        range.start = mapping.base + range.offset;
        range.end = mapping.base + page_ceil(std::max(extent.last + 1, std::min(mapping.size, kLargestMapping)));
        return range;
      case CodeKind::kAnonymous:
      case CodeKind::kJit:
      case CodeKind::kKernelModule:
      case CodeKind::kKernelCode:
        range.start = mapping.base;
        range.end = extent.last + 1;
        return range;
      case CodeKind::kKernel:
        range.start = page_floor(mapping.base == 0 ? extent.first : std::min(extent.first, mapping.base));
        range.end = extent.last > UINT64_MAX - 2 * kPage ? extent.last + 1 : page_ceil(extent.last + 1);
        range.offset = mapping.base;
        return range;
      default:
        return {};
    }
  }

  static bool is_of_process(CodeKind kind) { return kind == CodeKind::kAnonymous || kind == CodeKind::kJit; }

  // Two things at one address cannot both be there; the second goes elsewhere. The kernel's image may reach around
  // modules, since what lies nowhere is taken for a part of it.
  bool reserve(const CodeLayout::Range& range) {
    if (range.kind == CodeKind::kKernel) return true;
    const int32_t owner = is_of_process(range.kind) ? profile_.mappings[range.mapping].pid : -1;
    auto& of_owner = reserved_[owner];
    const auto after = of_owner.upper_bound(range.start);
    if (after != of_owner.end() && after->first < range.end) return false;
    if (after != of_owner.begin() && std::prev(after)->second > range.start) return false;
    of_owner.emplace(range.start, range.end);
    (model::is_kernel(range.kind) ? kernel_ : user_).reserve(range.start, range.end);
    return true;
  }

  void reserve_known() {
    for (const auto& [id, extent] : extents_) {
      if (const auto range = known_range(MappingId{id}); range && reserve(*range)) add_range(*range);
    }
    reserve_single_addresses();
    user_.seal();
    kernel_.seal();
  }

  // Those without a range of their own.
  void reserve_single_addresses() {
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] == 0 || nameless_[i]) continue;
      const CodeKind kind = mapping_of(i).kind;
      for (const auto use : uses_of(i)) {
        const uint64_t address = address_as(holder(i), use);
        if (kind == CodeKind::kNone && address < kEndOfUser) user_.reserve(address, address + 1);
        if (kind == CodeKind::kKernel || kind == CodeKind::kKernelUnmapped) kernel_.reserve(address, address + 1);
      }
    }
  }

  void add_range(const CodeLayout::Range& range) {
    range_of_[range.mapping.value] = static_cast<uint32_t>(layout_.ranges_.size());
    layout_.ranges_.push_back(range);
  }

  static bool has_no_range(CodeKind kind) { return kind == CodeKind::kNone || kind == CodeKind::kKernelUnmapped; }

  void place_mappings() {
    for (const auto& [id, extent] : extents_) {
      const model::Mapping& mapping = profile_.mappings[MappingId{id}];
      if (range_of_.contains(id) || has_no_range(mapping.kind)) continue;
      const bool whole_pages = mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kVdso;
      CodeLayout::Range range{.mapping = MappingId{id}, .kind = mapping.kind, .path = path_of(mapping)};
      if (mapping.kind == CodeKind::kFile) range.offset = page_floor(extent.first);
      const uint64_t first = whole_pages ? range.offset : mapping.base;
      const uint64_t size = page_ceil(extent.last + 1 - first);
      range.start = (model::is_kernel(mapping.kind) ? kernel_ : user_).take(size, kPage);
      range.end = range.start + size;
      add_range(range);
    }
  }

  void place_locations() {
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] == 0 || nameless_[i]) continue;
      const model::Frame& frame = holder(i);
      CodeLayout::Place& place = layout_.places_[i];
      place.kernel = model::is_kernel(mapping_of(i).kind);
      place.address = address_as(frame, CodeLayout::kAsInstruction);
      place.return_address = address_as(frame, CodeLayout::kAsReturn);
      const auto range = range_of_.find(frame.mapping.value);
      if (range == range_of_.end()) continue;
      place.range = range->second;
      place.address = address_in(layout_.ranges_[range->second], place.address);
      place.return_address = address_in(layout_.ranges_[range->second], place.return_address);
    }
  }

  // Where what the profile calls `address` is, in a range that need not be where the profile has it.
  uint64_t address_in(const CodeLayout::Range& range, uint64_t address) const {
    const model::Mapping& mapping = profile_.mappings[range.mapping];
    switch (mapping.kind) {
      case CodeKind::kFile:
      case CodeKind::kVdso:
        return range.start + (address - range.offset);
      case CodeKind::kKernel:
        return address;
      default:
        return range.start + (address - mapping.base);
    }
  }

  void place_names_only() {
    std::map<MappingId, std::vector<uint32_t>> by_mapping;
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] == 0 || !nameless_[i]) continue;
      if (model::is_kernel(mapping_of(i).kind)) {
        place_kernel_name(i);
      } else {
        by_mapping[holder(i).mapping].push_back(i);
      }
    }
    for (const auto& [id, locations] : by_mapping) place_names(id, locations);
  }

  void place_names(MappingId id, const std::vector<uint32_t>& locations) {
    const std::string_view path = profile_.text(profile_.mappings[id].path);
    const uint64_t size = page_ceil(locations.size() * kSlot);
    CodeLayout::Range range{.mapping = id, .kind = CodeKind::kImported};
    range.path = fmt::format("{}{}{}", stream::kNamesOnlyPath, path.empty() ? "" : " ", path);
    range.start = user_.take(size, kPage);
    range.end = range.start + size;
    uint64_t address = range.start + kInSlot;
    for (const uint32_t location : locations) {
      layout_.places_[location] = {address, address, false, static_cast<uint32_t>(layout_.ranges_.size())};
      address += kSlot;
    }
    layout_.ranges_.push_back(range);
  }

  void place_kernel_name(uint32_t location) {
    CodeLayout::Range range{.mapping = holder(location).mapping, .kind = CodeKind::kKernelCode};
    range.path = profile_.text(profile_.functions[holder(location).function].name);
    range.start = kernel_.take(kSlot, kSlot);
    range.end = range.start + kSlot;
    const uint64_t address = range.start + kInSlot;
    layout_.places_[location] = {address, address, true, static_cast<uint32_t>(layout_.ranges_.size())};
    layout_.ranges_.push_back(range);
  }

  struct Extent {
    uint64_t first = 0;
    uint64_t last = 0;
  };

  CodeLayout& layout_;
  const Profile& profile_;
  FreeMemory user_;
  FreeMemory kernel_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known_;  // locations by what they are inlined into, and frame
  // Of locations that are read alike the first, by that of what they are inlined into, function, file and line.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> names_;
  std::vector<uint32_t> equal_file_;  // by mapping
  uint32_t kernel_image_ = 0;         // the mapping, as equal_file_ has it
  std::vector<bool> nameless_;        // by location: it has no place of its own
  std::map<std::tuple<uint32_t, uint64_t, uint8_t>, uint32_t> taken_;
  std::map<uint32_t, Extent> extents_;     // by mapping
  std::map<uint32_t, uint32_t> range_of_;  // by mapping
  std::map<int32_t, std::map<uint64_t, uint64_t>> reserved_;
};

CodeLayout::CodeLayout(const Profile& profile) : profile_(profile) { LayoutMaker(*this).make(); }

}  // namespace tephra::formats
