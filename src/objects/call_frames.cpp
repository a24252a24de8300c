#include "objects/call_frames.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

// Numbers of the frame pointer register in DWARF.
uint64_t frame_register_of(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return 6;
    case EM_386:
      return 5;
    case EM_AARCH64:
      return 29;
    case EM_RISCV:
      return 8;
    default:
      return UINT64_MAX;
  }
}

// One entry of a section: its bytes after the length, and where they and the next entry begin.
struct Entry {
  Bytes content;
  uint64_t begin = 0;
  uint64_t next = 0;
  bool wide = false;  // 64-bit DWARF
};

std::optional<Entry> read_entry(Bytes section, uint64_t offset) {
  if (offset >= section.size()) return std::nullopt;
  ByteReader reader(section.subspan(offset));
  Entry entry;
  uint64_t length = reader.u32();
  if (length == UINT32_MAX) {
    length = reader.u64();
    entry.wide = true;
  }
  entry.begin = offset + reader.position();
  entry.content = reader.bytes(length);
  entry.next = entry.begin + length;
  if (!reader.ok() || length == 0) return std::nullopt;
  return entry;
}

}  // namespace

// The rules for the caller's frame at one address, found by running the instructions up to it. Only what Facts need is
// kept: what the canonical frame address is computed from, and whether the return address is undefined.
class CallFrames::Rules {
 public:
  Rules(const Description& function, uint64_t address, const Source& source, uint64_t frame_register)
      : function_(function), address_(address), source_(source), frame_register_(frame_register) {
    at_ = function.begin;
    run(function.common.instructions);
    initial_ = state_;
    at_ = function.begin;
    run(function.instructions);
  }

  bool outermost() const { return state_.return_undefined; }
  bool frame_is_set_up() const { return state_.from_frame_pointer; }

 private:
  struct State {
    bool from_frame_pointer = false;
    bool return_undefined = false;
  };

  void run(Bytes instructions) {
    ByteReader reader(instructions);
    while (!reader.at_end() && reader.ok() && at_ <= address_) step(reader);
  }

  void step(ByteReader& reader) {
    const uint8_t code = reader.u8();
    switch (code & 0xc0) {
      case DW_CFA_advance_loc:
        return advance(code & 0x3f);
      case DW_CFA_offset:
        read_uleb(reader);
        return set_defined(code & 0x3f);
      case DW_CFA_restore:
        return restore(code & 0x3f);
      default:
        return step_extended(code, reader);
    }
  }

  void step_extended(uint8_t code, ByteReader& reader) {
    switch (code) {
      case DW_CFA_nop:
        return;
      case DW_CFA_set_loc:
        at_ = source_.is_64bit ? reader.u64() : reader.u32();
        return;
      case DW_CFA_advance_loc1:
        return advance(reader.u8());
      case DW_CFA_advance_loc2:
        return advance(reader.u16());
      case DW_CFA_advance_loc4:
        return advance(reader.u32());
      case DW_CFA_undefined:
        if (read_uleb(reader) == function_.common.return_register) state_.return_undefined = true;
        return;
      case DW_CFA_same_value:
        return set_defined(read_uleb(reader));
      case DW_CFA_restore_extended:
        return restore(read_uleb(reader));
      case DW_CFA_offset_extended:
      case DW_CFA_register:
      case DW_CFA_val_offset:
      case DW_CFA_offset_extended_sf:
      case DW_CFA_val_offset_sf:
      case DW_CFA_GNU_negative_offset_extended:
        set_defined(read_uleb(reader));
        read_uleb(reader);
        return;
      case DW_CFA_expression:
      case DW_CFA_val_expression:
        set_defined(read_uleb(reader));
        reader.skip(read_uleb(reader));
        return;
      case DW_CFA_remember_state:
        if (saved_.size() < kDeepest) saved_.push_back(state_);
        return;
      case DW_CFA_restore_state:
        if (saved_.empty()) return reader.fail();
        state_ = saved_.back();
        saved_.pop_back();
        return;
      case DW_CFA_def_cfa:
      case DW_CFA_def_cfa_sf:
        state_.from_frame_pointer = read_uleb(reader) == frame_register_;
        read_uleb(reader);
        return;
      case DW_CFA_def_cfa_register:
        state_.from_frame_pointer = read_uleb(reader) == frame_register_;
        return;
      case DW_CFA_def_cfa_offset:
      case DW_CFA_def_cfa_offset_sf:
      case DW_CFA_GNU_args_size:
        read_uleb(reader);
        return;
      case DW_CFA_def_cfa_expression: {
        const Bytes expression = reader.bytes(read_uleb(reader));
        // Functions that realign their stack keep the frame address in a slot beside a proper frame.
        state_.from_frame_pointer =
            !expression.empty() && static_cast<uint64_t>(expression[0]) == DW_OP_breg0 + frame_register_;
        return;
      }
      case DW_CFA_GNU_window_save:
        return;
      default:
        return reader.fail();
    }
  }

  void advance(uint64_t units) { at_ += units * function_.common.code_alignment; }
  void set_defined(uint64_t number) {
    if (number == function_.common.return_register) state_.return_undefined = false;
  }
  void restore(uint64_t number) {
    if (number == function_.common.return_register) state_.return_undefined = initial_.return_undefined;
  }

  static constexpr size_t kDeepest = 64;

  const Description& function_;
  uint64_t address_;
  const Source& source_;
  uint64_t frame_register_;
  uint64_t at_ = 0;
  State state_;
  State initial_;
  std::vector<State> saved_;
};

CallFrames::CallFrames(const ElfFile& elf, const ElfFile* debug_file)
    : frame_register_(frame_register_of(elf.machine())) {
  source_.is_64bit = elf.is_64bit();
  use_header(elf);
  if (const auto* section = elf.section(".eh_frame"); section != nullptr && !section->content.empty()) {
    source_.content = section->content;
    source_.address = section->address;
  }
  for (const ElfFile* file : {&elf, debug_file}) {
    if (!source_.content.empty() || file == nullptr) continue;
    const auto* section = file->section(".debug_frame");
    if (section == nullptr || section->content.empty()) continue;
    source_.content = section->content;
    source_.is_eh_frame = false;
    header_table_ = {};
  }
  if (header_table_.empty()) index_all();
}

// Takes the search table of .eh_frame_hdr if it has the form that every linker writes, and finds .eh_frame through it,
// for files without sections.
void CallFrames::use_header(const ElfFile& elf) {
  constexpr uint8_t kFormOfTable = DW_EH_PE_datarel | DW_EH_PE_sdata4;
  for (const auto& segment : elf.segments()) {
    if (segment.type != PT_GNU_EH_FRAME) continue;
    ByteReader reader(elf.bytes_at(segment.address));
    const uint8_t version = reader.u8();
    const uint8_t start_encoding = reader.u8();
    const uint8_t count_encoding = reader.u8();
    const uint8_t table_encoding = reader.u8();
    if (version != 1 || start_encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) return;
    const uint64_t start = segment.address + 4 + static_cast<uint64_t>(static_cast<int64_t>(reader.read<int32_t>()));
    if (count_encoding != DW_EH_PE_udata4 || table_encoding != kFormOfTable) return;
    const uint64_t count = reader.u32();
    const Bytes table = reader.bytes(count * 8);
    if (!reader.ok()) return;
    header_table_ = table;
    header_address_ = segment.address;
    source_.content = elf.bytes_at(start);
    source_.address = start;
  }
}

void CallFrames::index_all() {
  uint64_t offset = 0;
  while (const auto entry = read_entry(source_.content, offset)) {
    if (const auto function = describe(offset); function && function->begin < function->end) {
      index_.push_back({function->begin, function->end, offset});
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
    const auto relative = base::load<int32_t>(header_table_.data() + index * 4);
    return header_address_ + static_cast<uint64_t>(static_cast<int64_t>(relative));
  };
  size_t low = 0;
  size_t high = header_table_.size() / 8;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (word(middle * 2) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return std::nullopt;
  return word(low * 2 - 1) - source_.address;
}

std::optional<uint64_t> CallFrames::read_pointer(ByteReader& reader, uint8_t encoding, uint64_t reader_start) const {
  if (encoding == DW_EH_PE_omit) return std::nullopt;
  const uint64_t place = source_.address + reader_start + reader.position();
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
      value = source_.is_64bit ? reader.u64() : reader.u32();
      break;
    case DW_EH_PE_uleb128:
      value = read_uleb(reader);
      break;
    case DW_EH_PE_udata2:
      value = reader.u16();
      break;
    case DW_EH_PE_udata4:
      value = reader.u32();
      break;
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      value = reader.u64();
      break;
    case DW_EH_PE_sleb128:
      value = static_cast<uint64_t>(read_sleb(reader));
      break;
    case DW_EH_PE_sdata2:
      value = static_cast<uint64_t>(static_cast<int64_t>(reader.read<int16_t>()));
      break;
    case DW_EH_PE_sdata4:
      value = static_cast<uint64_t>(static_cast<int64_t>(reader.read<int32_t>()));
      break;
    default:
      return std::nullopt;
  }
  if (!reader.ok()) return std::nullopt;
  switch (encoding & 0x70) {
    case 0:
      return value;
    case DW_EH_PE_pcrel:
      return value + place;
    case DW_EH_PE_datarel:
      return value + header_address_;
    default:
      return std::nullopt;
  }
}

std::optional<CallFrames::Common> CallFrames::read_common(uint64_t offset) const {
  const auto entry = read_entry(source_.content, offset);
  if (!entry) return std::nullopt;
  ByteReader reader(entry->content);
  reader.skip(entry->wide ? 8 : 4);
  const uint8_t version = reader.u8();
  const std::string_view augmentation = reader.c_string();
  Common common;
  if (version >= 4) reader.skip(2);
  common.code_alignment = read_uleb(reader);
  read_sleb(reader);
  common.return_register = version == 1 ? reader.u8() : read_uleb(reader);
  common.has_augmentation = augmentation.starts_with('z');
  if (!augmentation.empty() && !common.has_augmentation) return std::nullopt;
  if (common.has_augmentation) {
    const uint64_t start = entry->begin;
    const uint64_t size = read_uleb(reader);
    const size_t end = reader.position() + size;
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') common.pointer_encoding = reader.u8();
      if (letter == 'L') reader.skip(1);
      if (letter == 'P') read_pointer(reader, reader.u8() & 0x7f, start);
    }
    if (!reader.ok() || end < reader.position()) return std::nullopt;
    reader.skip(end - reader.position());
  }
  common.instructions = reader.bytes(reader.remaining());
  if (!reader.ok()) return std::nullopt;
  return common;
}

std::optional<CallFrames::Description> CallFrames::describe(uint64_t offset) const {
  const auto entry = read_entry(source_.content, offset);
  if (!entry) return std::nullopt;
  ByteReader reader(entry->content);
  const uint64_t reference = entry->wide ? reader.u64() : reader.u32();
  const uint64_t end_of_ids = entry->wide ? UINT64_MAX : UINT32_MAX;
  const bool is_common = source_.is_eh_frame ? reference == 0 : reference == end_of_ids;
  if (!reader.ok() || is_common || (source_.is_eh_frame && reference > entry->begin)) return std::nullopt;
  const auto common = read_common(source_.is_eh_frame ? entry->begin - reference : reference);
  if (!common) return std::nullopt;
  Description function;
  function.common = *common;
  const auto begin = read_pointer(reader, common->pointer_encoding, entry->begin);
  const auto size = read_pointer(reader, common->pointer_encoding & 0x0f, entry->begin);
  if (!begin || !size) return std::nullopt;
  function.begin = *begin;
  function.end = *begin + *size;
  if (common->has_augmentation) reader.skip(read_uleb(reader));
  function.instructions = reader.bytes(reader.remaining());
  if (!reader.ok()) return std::nullopt;
  return function;
}

std::optional<CallFrames::Facts> CallFrames::find(uint64_t address) const {
  const auto offset = header_table_.empty() ? search_index(address) : search_header(address);
  if (!offset) return std::nullopt;
  const auto function = describe(*offset);
  if (!function || address < function->begin || address >= function->end) return std::nullopt;
  const Rules rules(*function, address, source_, frame_register_);
  return Facts{function->begin, function->end, rules.outermost(), rules.frame_is_set_up()};
}

}  // namespace tephra::objects
