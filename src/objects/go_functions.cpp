#include "objects/go_functions.h"

#include <elf.h>

#include <algorithm>
#include <span>

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

constexpr uint32_t kMagic1_16 = 0xfffffffa;
constexpr uint32_t kMagic1_18 = 0xfffffff0;
constexpr uint32_t kMagic1_20 = 0xfffffff1;

constexpr unsigned kInlineIndex = 2;  // among the tables of a function (PCDATA_InlTreeIndex)
constexpr unsigned kInlineTree = 3;   // among its data (FUNCDATA_InlTree)
constexpr size_t kDeepest = 256;      // of inlined calls; more than the compiler nests
constexpr uint64_t kMostSteps = 1 << 18;
constexpr uint64_t kMostFunctions = 1 << 26;
constexpr size_t kMostRelocations = 1 << 24;
constexpr unsigned kMostModules = 256;  // words that may be the first of a module's description; one is
constexpr size_t kScanStep = 8;         // the table begins at a multiple of this

template <class T>
std::optional<T> number_at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  return base::load<T>(bytes.data() + offset);
}

Bytes from(Bytes bytes, uint64_t offset) { return offset < bytes.size() ? bytes.subspan(offset) : Bytes(); }

bool is_magic(uint32_t magic) { return magic == kMagic1_16 || magic == kMagic1_18 || magic == kMagic1_20; }

// Whether a table may begin here: a magic number, two zeros, the least size of an instruction and that of a pointer.
bool begins_table(Bytes at) {
  if (at.size() < 8 || !is_magic(base::load<uint32_t>(at.data()))) return false;
  const auto byte = [&](size_t index) { return static_cast<unsigned>(at[index]); };
  return byte(4) == 0 && byte(5) == 0 && (byte(6) == 1 || byte(6) == 2 || byte(6) == 4) &&
         (byte(7) == 4 || byte(7) == 8);
}

struct Place {
  Bytes bytes;
  uint64_t address = 0;
};

bool looks_like_go(const ElfFile& elf) {
  return elf.sections().empty() || elf.section(".note.go.buildid") != nullptr ||
         elf.section(".go.buildinfo") != nullptr;
}

// Of which programs have a dozen. Each is searched, and all of them may be of the whole file.
std::span<const ElfFile::Segment> first_segments(const ElfFile& elf) {
  return std::span(elf.segments()).first(std::min<size_t>(elf.segments().size(), 64));
}

// Where tables may begin, the likeliest first.
std::vector<Place> candidates(const ElfFile& elf) {
  std::vector<Place> places;
  for (const char* name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const ElfFile::Section* section = elf.section(name);
    if (section != nullptr && begins_table(section->content)) places.push_back({section->content, section->address});
  }
  if (!places.empty() || !looks_like_go(elf)) return places;
  for (const ElfFile::Segment& segment : first_segments(elf)) {
    if (segment.type != PT_LOAD) continue;
    const Bytes bytes = elf.bytes_at(segment.address);
    for (size_t at = 0; at + 8 <= bytes.size() && places.size() < 16; at += kScanStep) {
      if (begins_table(bytes.subspan(at))) places.push_back({bytes.subspan(at), segment.address + at});
    }
  }
  return places;
}

// Signed numbers of variable length, the sign in the lowest bit.
int64_t read_signed(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

uint64_t read_number(ByteReader& reader) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = reader.u8();
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  reader.fail();
  return 0;
}

}  // namespace

std::optional<GoFunctions> GoFunctions::open(const ElfFile& elf) {
  for (const Place& place : candidates(elf)) {
    GoFunctions functions;
    if (functions.read_header(elf, place.bytes, place.address)) return functions;
  }
  return std::nullopt;
}

bool GoFunctions::read_header(const ElfFile& elf, Bytes table, uint64_t table_address) {
  elf_ = &elf;
  ByteReader reader(table);
  const uint32_t magic = reader.u32();
  layout_ = magic == kMagic1_16 ? Layout::k1_16 : magic == kMagic1_18 ? Layout::k1_18 : Layout::k1_20;
  reader.skip(2);
  quantum_ = reader.u8();
  pointer_size_ = reader.u8();
  const auto word = [&] { return pointer_size_ == 8 ? reader.u64() : reader.u32(); };
  count_ = word();
  word();  // number of files
  const uint64_t text_field = table_address + reader.position();
  if (layout_ != Layout::k1_16) text_start_ = word();
  names_ = from(table, word());
  unit_files_ = from(table, word());
  files_ = from(table, word());
  pc_tables_ = from(table, word());
  functions_ = from(table, word());
  const uint64_t row_size = layout_ == Layout::k1_16 ? 2 * pointer_size_ : 8;
  if (!reader.ok() || count_ == 0 || count_ > kMostFunctions || (count_ + 1) * row_size > functions_.size())
    return false;
  if (layout_ == Layout::k1_16) return true;
  // Where the program is position-independent, the linker has left the address to a relocation; newer releases have
  // none here at all.
  if (text_start_ == 0) text_start_ = word_at(elf, text_field).value_or(0);
  find_call_trees(elf, table_address);
  relocations_.reset();
  const ElfFile::Section* text = elf.section(".text");
  if (text_start_ == 0 && text != nullptr) text_start_ = text->address;
  return true;
}

// A word of the file as it is once loaded at the address it was linked to.
std::optional<uint64_t> GoFunctions::word_at(const ElfFile& elf, uint64_t address) {
  const Bytes bytes = elf.bytes_at(address);
  const auto value =
      pointer_size_ == 8 ? number_at<uint64_t>(bytes, 0) : std::optional<uint64_t>(number_at<uint32_t>(bytes, 0));
  if (value.value_or(0) != 0 || pointer_size_ != 8) return value;
  const auto& all = relocations(elf);
  const auto at = std::ranges::lower_bound(all, address, {}, &Relocation::place);
  return at != all.end() && at->place == address ? at->value : value;
}

// Those of the file, by where they apply; of several at one place the first.
const std::vector<GoFunctions::Relocation>& GoFunctions::relocations(const ElfFile& elf) {
  if (relocations_) return *relocations_;
  auto& all = relocations_.emplace();
  for (const ElfFile::Section& section : elf.sections()) {
    if (section.type != SHT_RELA) continue;
    const Bytes rows = section.content;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= rows.size() && all.size() < kMostRelocations;
         at += sizeof(Elf64_Rela)) {
      const auto row = base::load<Elf64_Rela>(rows.data() + at);
      all.push_back({row.r_offset, static_cast<uint64_t>(row.r_addend)});
    }
  }
  std::ranges::stable_sort(all, {}, &Relocation::place);
  return all;
}

uint64_t GoFunctions::entry_address(uint64_t index) const {
  if (layout_ != Layout::k1_16) return text_start_ + number_at<uint32_t>(functions_, index * 8).value_or(0);
  const uint64_t at = index * 2 * pointer_size_;
  return pointer_size_ == 8 ? number_at<uint64_t>(functions_, at).value_or(0)
                            : number_at<uint32_t>(functions_, at).value_or(0);
}

std::optional<GoFunctions::Entry> GoFunctions::entry_at(uint64_t address) const {
  uint64_t first = 0;
  uint64_t last = count_;  // the row behind the last function is where it ends
  while (first < last) {
    const uint64_t middle = first + (last - first) / 2;
    if (entry_address(middle) <= address) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == 0 || address >= entry_address(first)) return std::nullopt;
  return read_entry(first - 1);
}

std::optional<GoFunctions::Entry> GoFunctions::read_entry(uint64_t index) const {
  const bool wide = layout_ == Layout::k1_16 && pointer_size_ == 8;
  const uint64_t row_size = layout_ == Layout::k1_16 ? 2 * pointer_size_ : 8;
  const uint64_t offset_at = index * row_size + row_size / 2;
  const auto offset = wide ? number_at<uint64_t>(functions_, offset_at)
                           : std::optional<uint64_t>(number_at<uint32_t>(functions_, offset_at));
  if (!offset) return std::nullopt;
  const Bytes function = from(functions_, *offset);
  ByteReader reader(function);
  reader.skip(wide ? 8 : 4);  // the address again
  Entry entry;
  entry.address = entry_address(index);
  entry.end = entry_address(index + 1);
  entry.name = name_at(reader.u32());
  reader.skip(12);  // size of arguments, of deferred calls, and the stack's
  entry.file_table = reader.u32();
  entry.line_table = reader.u32();
  const uint32_t pc_data_count = reader.u32();
  entry.first_file = reader.u32();
  if (layout_ == Layout::k1_20) reader.skip(4);  // the line of its first instruction
  reader.skip(3);
  const uint32_t data_count = reader.u8();
  if (!reader.ok() || entry.end <= entry.address) return std::nullopt;
  if (pc_data_count > kInlineIndex) {
    entry.inline_table = number_at<uint32_t>(function, reader.position() + kInlineIndex * 4).value_or(0);
    entry.inlined = inline_tree(function, reader.position(), pc_data_count, data_count);
  }
  return entry;
}

// A function's data follows its tables: addresses before 1.18, offsets from one address since.
Bytes GoFunctions::inline_tree(Bytes function, uint64_t fields_end, uint32_t pc_data_count, uint32_t data_count) const {
  if (data_count <= kInlineTree) return {};
  uint64_t at = fields_end + uint64_t{pc_data_count} * 4;
  if (layout_ != Layout::k1_16) {
    const auto offset = number_at<uint32_t>(function, at + kInlineTree * 4);
    if (!offset || *offset == UINT32_MAX || call_trees_ == 0) return {};
    return elf_->bytes_at(call_trees_ + *offset);
  }
  // Aligned in memory; descriptions begin at a multiple of a pointer.
  at = (at + pointer_size_ - 1) / pointer_size_ * pointer_size_;
  at += uint64_t{kInlineTree} * pointer_size_;
  const auto address = pointer_size_ == 8 ? number_at<uint64_t>(function, at)
                                          : std::optional<uint64_t>(number_at<uint32_t>(function, at));
  return address && *address != 0 ? elf_->bytes_at(*address) : Bytes();
}

std::optional<GoFunctions::Call> GoFunctions::call_at(const Entry& entry, int64_t index) const {
  if (index < 0) return std::nullopt;
  const uint64_t size = layout_ == Layout::k1_20 ? 16 : 20;
  if (static_cast<uint64_t>(index) >= entry.inlined.size() / size) return std::nullopt;
  ByteReader reader(entry.inlined.subspan(static_cast<uint64_t>(index) * size, size));
  Call call;
  if (layout_ == Layout::k1_20) {
    reader.skip(4);
    call.name = name_at(reader.u32());
    call.parent_offset = reader.u32();
  } else {
    call.parent = static_cast<int16_t>(reader.u16());
    reader.skip(2);
    call.file = static_cast<int32_t>(reader.u32());
    call.line = static_cast<int32_t>(reader.u32());
    call.name = name_at(reader.u32());
  }
  return call;
}

// The value that holds at an address: a table is pairs of how much it changes and for how many bytes of code.
std::optional<int64_t> GoFunctions::value_at(const Entry& entry, uint64_t table, uint64_t address) const {
  if (table == 0) return std::nullopt;
  ByteReader reader(from(pc_tables_, table));
  int64_t value = -1;
  uint64_t pc = entry.address;
  // Every pair but hostile ones is of at least one byte of code.
  const uint64_t most = std::min(entry.end - entry.address, kMostSteps);
  for (uint64_t step = 0; step < most; ++step) {
    const uint64_t change = read_number(reader);
    if (!reader.ok() || (change == 0 && step > 0)) return std::nullopt;
    value = static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(read_signed(change)));
    pc += read_number(reader) * quantum_;
    if (!reader.ok()) return std::nullopt;
    if (address < pc) return value;
  }
  return std::nullopt;
}

std::string_view GoFunctions::name_at(uint64_t offset) const { return base::until_nul(from(names_, offset)); }

std::string_view GoFunctions::file_at(const Entry& entry, std::optional<int64_t> index) const {
  if (!index || *index < 0) return {};
  const auto offset = number_at<uint32_t>(unit_files_, (entry.first_file + static_cast<uint64_t>(*index)) * 4);
  if (!offset || *offset == UINT32_MAX) return {};
  return base::until_nul(from(files_, *offset));
}

std::optional<GoFunctions::Function> GoFunctions::function_at(uint64_t address) const {
  const auto entry = entry_at(address);
  if (!entry || entry->name.empty()) return std::nullopt;
  return Function{entry->name, entry->address, entry->end};
}

DebugInfo::Level GoFunctions::level_at(const Entry& entry, uint64_t address) const {
  DebugInfo::Level level;
  level.file = file_at(entry, value_at(entry, entry.file_table, address));
  level.line = static_cast<uint32_t>(std::max<int64_t>(value_at(entry, entry.line_table, address).value_or(0), 0));
  return level;
}

void GoFunctions::find(uint64_t address, std::vector<DebugInfo::Level>& levels) const {
  levels.clear();
  const auto entry = entry_at(address);
  if (!entry || entry->name.empty()) return;
  if (layout_ == Layout::k1_20) {
    find_by_parent_place(*entry, address, levels);
  } else {
    find_by_parent_index(*entry, address, levels);
  }
  std::reverse(levels.begin(), levels.end());
}

// Before 1.20 a call says which call it is in, and at which line.
void GoFunctions::find_by_parent_index(const Entry& entry, uint64_t address,
                                       std::vector<DebugInfo::Level>& levels) const {
  DebugInfo::Level level = level_at(entry, address);
  auto call = call_at(entry, value_at(entry, entry.inline_table, address).value_or(-1));
  while (call && !call->name.empty() && levels.size() < kDeepest) {
    level.function = call->name;
    levels.push_back(level);
    level.file = file_at(entry, call->file);
    level.line = static_cast<uint32_t>(std::max<int64_t>(call->line, 0));
    call = call_at(entry, call->parent);
  }
  level.function = entry.name;
  levels.push_back(level);
}

// Since 1.20 it names an instruction of its caller, which is looked up in turn.
void GoFunctions::find_by_parent_place(const Entry& entry, uint64_t address,
                                       std::vector<DebugInfo::Level>& levels) const {
  while (levels.size() < kDeepest) {
    DebugInfo::Level level = level_at(entry, address);
    const auto call = call_at(entry, value_at(entry, entry.inline_table, address).value_or(-1));
    level.function = call && !call->name.empty() ? call->name : entry.name;
    levels.push_back(level);
    if (!call || call->name.empty()) return;
    address = entry.address + call->parent_offset;
  }
}

// Since 1.18 trees are found by offsets from an address that only the program's own description of itself has
// (runtime.firstmoduledata), a word of which points to the table. Its words, as far as needed here, are the same in all
// releases but for two that were added in between.
void GoFunctions::find_call_trees(const ElfFile& elf, uint64_t table_address) {
  constexpr uint64_t kTextWord = 22;
  const uint64_t tree_word = layout_ == Layout::k1_18 ? 38 : 40;
  unsigned left = kMostModules;
  // Whether the search is over, with or without success.
  const auto check = [&](uint64_t address) {
    if (left == 0) return true;
    --left;
    const auto text = word_at(elf, address + kTextWord * pointer_size_);
    const auto trees = word_at(elf, address + tree_word * pointer_size_);
    if (!text || *text == 0 || (text_start_ != 0 && *text != text_start_)) return false;
    if (!trees || elf.bytes_at(*trees).empty()) return false;
    text_start_ = *text;
    call_trees_ = *trees;
    return true;
  };
  for (const ElfFile::Segment& segment : first_segments(elf)) {
    if (segment.type != PT_LOAD || (segment.flags & PF_W) == 0) continue;
    const Bytes bytes = elf.bytes_at(segment.address);
    for (size_t at = 0; at + pointer_size_ <= bytes.size(); at += pointer_size_) {
      const uint64_t word =
          pointer_size_ == 8 ? base::load<uint64_t>(bytes.data() + at) : base::load<uint32_t>(bytes.data() + at);
      if (word == table_address && check(segment.address + at)) return;
    }
  }
  // Position-independent: the word is a relocation.
  if (pointer_size_ != 8) return;
  for (const Relocation& row : relocations(elf)) {
    if (row.value == table_address && check(row.place)) return;
  }
}

}  // namespace tephra::objects
