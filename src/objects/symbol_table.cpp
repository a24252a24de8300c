#include "objects/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "objects/demangle.h"

namespace tephra::objects {
namespace {

using base::Bytes;

// Tables are read from end to end, and a sparse file can claim any size: many times what the largest programs have.
constexpr size_t kMostSymbolBytes = size_t{256} << 20;
constexpr size_t kMostRelocationBytes = size_t{64} << 20;
constexpr size_t kMostStubBytes = size_t{64} << 20;

Bytes at_most(Bytes bytes, size_t size) { return bytes.first(std::min(bytes.size(), size)); }

// How far to look back for a symbol that encloses an address; bounds the work on a hostile table.
constexpr size_t kMostEnclosing = 256;
// Symbols at one address that are compared; more than any library has.
constexpr size_t kMostAliases = 64;

struct RawSymbol {
  uint32_t name = 0;
  uint8_t type = 0;
  uint8_t binding = 0;
  uint8_t visibility = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;
};

template <class Sym>
RawSymbol to_symbol(const std::byte* at) {
  const auto raw = base::load<Sym>(at);
  return {raw.st_name,
          static_cast<uint8_t>(raw.st_info & 0xf),
          static_cast<uint8_t>(raw.st_info >> 4),
          static_cast<uint8_t>(raw.st_other & 3),
          raw.st_shndx,
          raw.st_value,
          raw.st_size};
}

// The text up to its last NUL, so that every name inside it ends.
Bytes whole_strings(Bytes strings) {
  const size_t last = base::as_text(strings).rfind('\0');
  return strings.first(last == std::string_view::npos ? 0 : last + 1);
}

bool is_function(const RawSymbol& symbol, const ElfFile::Section* section) {
  if (symbol.name == 0 || symbol.section == SHN_UNDEF) return false;
  if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) return true;
  // Labels of assembly code.
  const bool visible = symbol.visibility != STV_HIDDEN && symbol.visibility != STV_INTERNAL;
  return symbol.type == STT_NOTYPE && visible && section != nullptr && (section->flags & SHF_EXECINSTR) != 0;
}

// Variables, those without bytes in the file included. Not those of threads: where they are is not told by the file.
// One without a size says nothing of what lies behind it.
bool is_data(const RawSymbol& symbol, const ElfFile::Section* section) {
  if (symbol.name == 0 || symbol.size == 0 || section == nullptr) return false;
  if (symbol.type != STT_OBJECT && symbol.type != STT_COMMON) return false;
  return (section->flags & SHF_ALLOC) != 0 && (section->flags & (SHF_TLS | SHF_EXECINSTR)) == 0;
}

// Calls visit(symbol) for every entry of a symbol section that lies in the file.
template <class Visit>
void for_each_symbol(const ElfFile& elf, Bytes content, Visit visit) {
  const size_t size = elf.is_64bit() ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
  for (size_t at = 0; at + size <= content.size(); at += size) {
    const std::byte* entry = content.data() + at;
    visit(elf.is_64bit() ? to_symbol<Elf64_Sym>(entry) : to_symbol<Elf32_Sym>(entry));
  }
}

struct Relocation {
  uint64_t slot = 0;
  uint32_t symbol = 0;
  uint64_t addend = 0;
};

template <class Rel>
Relocation to_relocation(const std::byte* at, bool is_64bit) {
  const auto raw = base::load<Rel>(at);
  Relocation relocation;
  relocation.slot = raw.r_offset;
  relocation.symbol = static_cast<uint32_t>(is_64bit ? static_cast<uint64_t>(raw.r_info) >> 32 : raw.r_info >> 8);
  if constexpr (requires { raw.r_addend; }) relocation.addend = static_cast<uint64_t>(raw.r_addend);
  return relocation;
}

template <class Visit>
void for_each_relocation(const ElfFile& elf, const ElfFile::Section& section, Visit visit) {
  const bool with_addend = section.type == SHT_RELA;
  const size_t size = elf.is_64bit() ? (with_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel))
                                     : (with_addend ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
  const Bytes content = at_most(section.content, kMostRelocationBytes);
  for (size_t at = 0; at + size <= content.size(); at += size) {
    const std::byte* entry = content.data() + at;
    if (elf.is_64bit()) {
      visit(with_addend ? to_relocation<Elf64_Rela>(entry, true) : to_relocation<Elf64_Rel>(entry, true));
    } else {
      visit(with_addend ? to_relocation<Elf32_Rela>(entry, false) : to_relocation<Elf32_Rel>(entry, false));
    }
  }
}

// The slot that an x86-64 stub jumps through: `jmp *disp32(%rip)`, found by its two bytes of opcode.
std::optional<uint64_t> slot_of_stub(Bytes stub, uint64_t address) {
  for (size_t at = 0; at + 6 <= stub.size(); ++at) {
    if (stub[at] != std::byte{0xff} || stub[at + 1] != std::byte{0x25}) continue;
    const auto displacement = base::load<int32_t>(stub.data() + at + 2);
    return address + at + 6 + static_cast<uint64_t>(static_cast<int64_t>(displacement));
  }
  return std::nullopt;
}

// Names of the functions behind the slots of the global offset table that stubs jump through. Large libraries have a
// hundred times as many relocations as stubs, so names are made of those that are asked for.
class SlotNames {
 public:
  // For slots between `lowest` and `highest`.
  SlotNames(const ElfFile& elf, uint64_t lowest, uint64_t highest) : elf_(elf) {
    for (const auto& section : elf.sections()) {
      if (section.type != SHT_RELA && section.type != SHT_REL) continue;
      const auto* symbols = elf.section_at(section.link);
      if (symbols == nullptr || symbols->type != SHT_DYNSYM) continue;
      const bool of_plt = section.name == ".rela.plt" || section.name == ".rel.plt";
      for_each_relocation(elf, section, [&](const Relocation& relocation) {
        if (of_plt) in_order_.push_back({symbols, relocation});
        if (relocation.slot < lowest || relocation.slot > highest) return;
        by_slot_.try_emplace(relocation.slot, Named{symbols, relocation});
      });
    }
  }

  // Empty: it has none.
  std::string of_slot(uint64_t slot) const {
    const auto at = by_slot_.find(slot);
    return at == by_slot_.end() ? std::string() : name_of(at->second);
  }
  std::string in_order(uint64_t index) const {
    return index < in_order_.size() ? name_of(in_order_[index]) : std::string();
  }

 private:
  struct Named {
    const ElfFile::Section* symbols;
    Relocation relocation;
  };

  std::string name_of(const Named& named) const {
    const auto& [symbols, relocation] = named;
    if (relocation.symbol == 0) return fmt::format("*ABS*+{:#x}", relocation.addend);
    const size_t size = elf_.is_64bit() ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const auto* strings = elf_.section_at(symbols->link);
    if (strings == nullptr || (relocation.symbol + uint64_t{1}) * size > symbols->content.size()) return {};
    const uint32_t offset = base::load<uint32_t>(symbols->content.data() + relocation.symbol * size);
    if (offset >= strings->content.size()) return {};
    return std::string(base::until_nul(strings->content.subspan(offset)));
  }

  const ElfFile& elf_;
  std::unordered_map<uint64_t, Named> by_slot_;
  std::vector<Named> in_order_;
};

struct Stub {
  uint64_t address = 0;
  uint32_t size = 0;
  std::optional<uint64_t> slot;
  std::optional<uint64_t> index;  // in a lazy table, whose stubs come in the order of their relocations
};

void collect_stubs(const ElfFile& elf, const ElfFile::Section& section, std::vector<Stub>& stubs) {
  const uint64_t entry_size = section.entry_size >= 4 && section.entry_size <= 64 ? section.entry_size : 16;
  const Bytes content = at_most(section.content, kMostStubBytes);
  for (uint64_t at = 0; at + entry_size <= content.size(); at += entry_size) {
    Stub stub{.address = section.address + at, .size = static_cast<uint32_t>(entry_size)};
    if (elf.machine() == EM_X86_64) stub.slot = slot_of_stub(content.subspan(at, entry_size), stub.address);
    // The first entry of a lazy table is the common tail.
    if (section.name == ".plt" && at > 0) stub.index = at / entry_size - 1;
    stubs.push_back(stub);
  }
}

unsigned leading_underscores(std::string_view name) {
  const size_t count = name.find_first_not_of('_');
  return static_cast<unsigned>(count == std::string_view::npos ? name.size() : count);
}

}  // namespace

void SymbolTable::add(const ElfFile& elf) {
  for (const auto& section : elf.sections()) {
    if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) add_section(elf, section);
  }
}

void SymbolTable::add_section(const ElfFile& elf, const ElfFile::Section& symbols) {
  const auto* strings_section = elf.section_at(symbols.link);
  if (strings_section == nullptr) return;
  const Bytes strings = whole_strings(strings_section->content);
  for_each_symbol(elf, at_most(symbols.content, kMostSymbolBytes), [&](const RawSymbol& symbol) {
    const ElfFile::Section* section = elf.section_at(symbol.section);
    const bool wanted = holds_ == Holds::kData ? is_data(symbol, section) : is_function(symbol, section);
    if (!wanted || symbol.name >= strings.size()) return;
    const char* name = reinterpret_cast<const char*>(strings.data()) + symbol.name;
    if (*name == '\0') return;
    rows_.push_back(
        {symbol.value, name, static_cast<uint32_t>(std::min<uint64_t>(symbol.size, UINT32_MAX)), symbol.binding});
  });
}

void SymbolTable::add_plt(const ElfFile& elf) {
  std::vector<Stub> stubs;
  for (const auto& section : elf.sections()) {
    if (section.name == ".plt" || section.name == ".plt.sec" || section.name == ".plt.got") {
      collect_stubs(elf, section, stubs);
    }
  }
  if (stubs.empty()) return;
  uint64_t lowest = UINT64_MAX;
  uint64_t highest = 0;
  for (const Stub& stub : stubs) {
    if (!stub.slot) continue;
    lowest = std::min(lowest, *stub.slot);
    highest = std::max(highest, *stub.slot);
  }
  const SlotNames names(elf, lowest, highest);
  for (const Stub& stub : stubs) {
    std::string name = stub.slot ? names.of_slot(*stub.slot) : std::string();
    if (name.empty() && stub.index) name = names.in_order(*stub.index);
    if (name.empty()) continue;
    made_names_.push_back(name + "@plt");
    rows_.push_back({stub.address, made_names_.back().c_str(), stub.size, STB_GLOBAL});
  }
}

void SymbolTable::finish() {
  // Equal addresses stay in file order, which decides between equals.
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.address < b.address; });
  rows_.shrink_to_fit();
  reach_.resize(rows_.size());
  uint64_t reach = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].size != 0) reach = std::max(reach, rows_[i].address + rows_[i].size);
    reach_[i] = reach;
  }
}

uint64_t SymbolTable::end_of(size_t row) const {
  const Row& symbol = rows_[row];
  if (symbol.size != 0) return symbol.address + symbol.size;
  const auto next = std::upper_bound(rows_.begin() + static_cast<ptrdiff_t>(row), rows_.end(), symbol.address,
                                     [](uint64_t address, const Row& other) { return address < other.address; });
  if (next != rows_.end()) return next->address;
  return (symbol.address + 4095) / 4096 * 4096 + 4096;
}

// perf's order of preference: a stated size, not weak, global, fewer leading underscores, a longer name.
size_t SymbolTable::best_of(size_t first, size_t last) const {
  last = std::min(last, first + kMostAliases);
  size_t best = first;
  for (size_t i = first + 1; i < last; ++i) {
    const auto rank = [&](size_t row) {
      const Row& symbol = rows_[row];
      return std::tuple(symbol.size != 0, symbol.binding != STB_WEAK, symbol.binding == STB_GLOBAL);
    };
    if (rank(i) != rank(best)) {
      if (rank(i) > rank(best)) best = i;
      continue;
    }
    const std::string a = demangle(rows_[best].name);
    const std::string b = demangle(rows_[i].name);
    const auto taste = [](const std::string& name) {
      return std::tuple(-static_cast<int>(leading_underscores(name)), name.size());
    };
    if (taste(b) > taste(a)) best = i;
  }
  return best;
}

std::optional<SymbolTable::Function> SymbolTable::find(uint64_t address) const {
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), address,
                                      [](uint64_t wanted, const Row& row) { return wanted < row.address; });
  size_t last = static_cast<size_t>(after - rows_.begin());
  for (size_t step = 0; last > 0 && step < kMostEnclosing; ++step) {
    size_t first = last - 1;
    while (first > 0 && rows_[first - 1].address == rows_[last - 1].address) --first;
    const size_t best = best_of(first, last);
    if (const uint64_t end = end_of(best); address < end) return Function{rows_[best].name, rows_[best].address, end};
    // Shorter than its aliases, or nested in an earlier symbol.
    for (size_t i = first; i < last; ++i) {
      if (rows_[i].size != 0 && address < end_of(i)) return Function{rows_[i].name, rows_[i].address, end_of(i)};
    }
    if (reach_[first] <= address) break;
    last = first;
  }
  return std::nullopt;
}

}  // namespace tephra::objects
