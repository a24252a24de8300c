#include "objects/call_frames.h"

#include <algorithm>
#include <unordered_map>

namespace tephra::objects {
namespace {

// A function with what its common entry says.
struct Described {
  CfiCommon common;
  CfiFunction function;
};

std::optional<Described> describe(const CfiSection& section, uint64_t offset) {
  const auto entry = section.entry(offset);
  const auto common_offset = entry ? section.common_of(*entry) : std::nullopt;
  const auto common = common_offset ? section.read_common(*common_offset) : std::nullopt;
  if (!common) return std::nullopt;
  const auto function = section.read_function(*entry, *common);
  if (!function) return std::nullopt;
  return Described{*common, *function};
}

// The state at an address inside the function; where instructions cannot be read, what they said up to there.
CfiState state_at(const CfiSection& section, const CfiRegisters& registers, const Described& described,
                  uint64_t address) {
  CfiProgram program(section, registers);
  const CfiProgram::Initial initial = program.begin(described.common);
  CfiState found = initial.state;
  const bool whole = program.run(described.function, described.common, initial, [&](uint64_t begin, const auto& state) {
    if (begin > address) return false;
    found = state;
    return true;
  });
  return whole || program.at() > address ? found : program.state();
}

// Functions that realign their stack keep the frame address in a slot beside a proper frame.
bool is_from_frame_pointer(const CfiState& state, const CfiRegisters& registers) {
  return state.cfa_is_said && state.cfa.number == registers.frame_pointer && registers.frame_pointer != UINT16_MAX;
}

}  // namespace

CallFrames::CallFrames(const ElfFile& elf, const ElfFile* debug_file)
    : section_(eh_frame_of(elf)), registers_(CfiRegisters::of(elf.machine())) {
  if (!section_.empty()) header_ = read_eh_frame_header(elf).value_or(EhFrameHeader{});
  for (const ElfFile* file : {&elf, debug_file}) {
    if (!section_.empty() || file == nullptr) continue;
    debug_frame_ = std::make_shared<const DebugFrame>(*file);
    section_ = debug_frame_->section();
  }
  if (header_.table.empty()) index_all();
}

void CallFrames::index_all() {
  std::unordered_map<uint64_t, std::optional<CfiCommon>> commons;
  const auto common_at = [&](uint64_t offset) -> const std::optional<CfiCommon>& {
    const auto [at, fresh] = commons.try_emplace(offset);
    if (fresh) at->second = section_.read_common(offset);
    return at->second;
  };
  uint64_t offset = 0;
  while (const auto entry = section_.entry(offset)) {
    if (const auto common_offset = section_.common_of(*entry)) {
      const auto& common = common_at(*common_offset);
      const auto function = common ? section_.read_function(*entry, *common) : std::nullopt;
      if (function && function->begin < function->end) index_.push_back({function->begin, function->end, offset});
    }
    offset = entry->next;
  }
  std::sort(index_.begin(), index_.end(), [](const IndexRow& a, const IndexRow& b) { return a.begin < b.begin; });
}

std::optional<uint64_t> CallFrames::search_index(uint64_t address) const {
  const auto after = std::upper_bound(index_.begin(), index_.end(), address,
                                      [](uint64_t wanted, const IndexRow& row) { return wanted < row.begin; });
  if (after == index_.begin() || address >= (after - 1)->end) return std::nullopt;
  return (after - 1)->offset;
}

std::optional<uint64_t> CallFrames::search_header(uint64_t address) const {
  const auto word = [&](size_t index) {
    const auto relative = base::load<int32_t>(header_.table.data() + index * 4);
    return header_.address + static_cast<uint64_t>(static_cast<int64_t>(relative));
  };
  size_t low = 0;
  size_t high = header_.table.size() / 8;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (word(middle * 2) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return std::nullopt;
  return word(low * 2 - 1) - section_.address();
}

std::optional<CallFrames::Facts> CallFrames::find(uint64_t address) const {
  const auto offset = header_.table.empty() ? search_index(address) : search_header(address);
  const auto described = offset ? describe(section_, *offset) : std::nullopt;
  if (!described) return std::nullopt;
  const CfiFunction& function = described->function;
  if (address < function.begin || address >= function.end) return std::nullopt;
  const CfiState state = state_at(section_, registers_, *described, address);
  return Facts{function.begin, function.end, state.return_address.saved == CfiState::Saved::kUndefined,
               is_from_frame_pointer(state, registers_)};
}

}  // namespace tephra::objects
