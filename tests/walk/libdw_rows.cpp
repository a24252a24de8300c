#include "libdw_rows.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

namespace tephra::walk {
namespace {

#if defined(__aarch64__)
constexpr int kStackPointer = 31;
constexpr int kFramePointer = 29;
#else
constexpr int kStackPointer = 7;
constexpr int kFramePointer = 6;
#endif

struct Saved {
  tephra_saved how = TEPHRA_SAVED_UNKNOWN;
  short offset = 0;
  bool undefined = false;
};

Saved saved(Dwarf_Frame* frame, int number) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return {};
  if (count == 0 && ops == memory) return {TEPHRA_SAVED_UNKNOWN, 0, true};
  if (count == 0) return {TEPHRA_SAVED_SAME};
  if (ops[0].atom == DW_OP_call_frame_cfa && count <= 2) {
    if (count == 1) return {TEPHRA_SAVED_AT_CFA};
    if (ops[1].atom == DW_OP_plus_uconst) return {TEPHRA_SAVED_AT_CFA, static_cast<short>(ops[1].number)};
  }
  return {};
}

void set_cfa(Dwarf_Frame* frame, tephra_frame_rule& rule) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  rule.cfa = TEPHRA_CFA_UNSUPPORTED;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return;
  int number = -1;
  int64_t offset = 0;
  if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
    number = ops[0].atom - DW_OP_breg0;
    offset = static_cast<int64_t>(ops[0].number);
  } else if (ops[0].atom == DW_OP_bregx) {
    number = static_cast<int>(ops[0].number);
    offset = static_cast<int64_t>(ops[0].number2);
  }
  if (number < 0) return;
  rule.cfa_offset = static_cast<int>(offset);
  if (count == 1) {
    rule.cfa = number == kStackPointer ? TEPHRA_CFA_SP : number == kFramePointer ? TEPHRA_CFA_FP : TEPHRA_CFA_REGISTER;
    if (rule.cfa == TEPHRA_CFA_REGISTER) rule.cfa_register = static_cast<unsigned char>(number);
  } else if (count == 2 && ops[1].atom == DW_OP_deref && number == kFramePointer) {
    rule.cfa = TEPHRA_CFA_AT_FP;
  } else if (number == kStackPointer && count == 9 && ops[1].atom == DW_OP_breg16 && ops[2].atom == DW_OP_lit15) {
    rule.cfa = TEPHRA_CFA_PLT;
    rule.cfa_offset2 = ops[4].atom - DW_OP_lit0;
  }
}

tephra_frame_rule rule_of(Dwarf_Frame* frame, int return_address, bool signal) {
  tephra_frame_rule rule{};
  if (signal) {
    rule.cfa = TEPHRA_CFA_SIGNAL;
    return rule;
  }
  const Saved ra = saved(frame, return_address);
  if (ra.undefined) {
    rule.cfa = TEPHRA_CFA_OUTERMOST;
    return rule;
  }
  set_cfa(frame, rule);
  const Saved fp = saved(frame, kFramePointer);
  rule.ra = ra.how;
  rule.ra_offset = ra.offset;
  rule.fp = fp.how;
  rule.fp_offset = fp.offset;
  return rule;
}

class Builder {
 public:
  explicit Builder(Elf* elf) : elf_(elf), cfi_(dwarf_getcfi_elf(elf)) {}

  Rows build() {
    if (cfi_ != nullptr) walk_sections();
    dwarf_cfi_end(cfi_);
    return pack();
  }

 private:
  std::optional<uint64_t> file_offset(uint64_t address) const {
    size_t count = 0;
    elf_getphdrnum(elf_, &count);
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
      if (address >= header.p_vaddr && address < header.p_vaddr + header.p_memsz) {
        return address - header.p_vaddr + header.p_offset;
      }
    }
    return {};
  }

  // libdw has no list of what it describes, so every address of code is asked for; it says how far its answer holds.
  void walk_sections() {
    size_t count = 0;
    elf_getphdrnum(elf_, &count);
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) continue;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0)
        walk(header.p_vaddr, header.p_vaddr + header.p_memsz);
    }
  }

  void walk(uint64_t address, uint64_t end) {
    while (address < end) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi_, address, &frame) != 0) {
        put(address, tephra_frame_rule{});
        ++address;
        continue;
      }
      Dwarf_Addr from = 0;
      Dwarf_Addr to = 0;
      bool signal = false;
      const int ra = dwarf_frame_info(frame, &from, &to, &signal);
      put(address, rule_of(frame, ra, signal));
      std::free(frame);
      address = std::max<uint64_t>(to, address + 1);
    }
    put(end, tephra_frame_rule{});
  }

  void put(uint64_t address, const tephra_frame_rule& rule) {
    const auto offset = file_offset(address);
    if (!offset) return;
    const auto key = std::tuple(rule.cfa, rule.fp, rule.ra, rule.cfa_register, rule.cfa_offset, rule.cfa_offset2,
                                rule.fp_offset, rule.ra_offset);
    const auto [known, added] = numbers_.emplace(key, rules_.size());
    if (added) rules_.push_back(rule);
    const auto number = static_cast<uint16_t>(known->second);
    if (!rows_.empty() && rows_.back().second == number) return;
    rows_.emplace_back(static_cast<uint32_t>(*offset), number);
  }

  Rows pack() {
    std::sort(rows_.begin(), rows_.end());
    Rows result;
    result.rules = rules_;
    for (size_t at = 0; at < rows_.size(); at += TEPHRA_FRAME_BLOCK_ROWS) {
      tephra_frame_block& block = result.blocks.emplace_back();
      for (size_t i = 0; i < TEPHRA_FRAME_BLOCK_ROWS; ++i) {
        const auto& row = rows_[std::min(at + i, rows_.size() - 1)];
        block.start[i] = row.first;
        block.rule[i] = row.second;
      }
    }
    return result;
  }

  using Key = std::tuple<unsigned char, unsigned char, unsigned char, unsigned char, int, int, short, short>;
  Elf* elf_;
  Dwarf_CFI* cfi_;
  std::map<Key, size_t> numbers_;
  std::vector<tephra_frame_rule> rules_;
  std::vector<std::pair<uint32_t, uint16_t>> rows_;
};

}  // namespace

Rows rows_of_file(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  Rows rows = elf != nullptr ? Builder(elf).build() : Rows{};
  elf_end(elf);
  ::close(fd);
  return rows;
}

Rows rows_of_vdso() {
  elf_version(EV_CURRENT);
  auto* const image = reinterpret_cast<char*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return {};
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  Elf* elf = elf_memory(image, header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr));
  Rows rows = elf != nullptr ? Builder(elf).build() : Rows{};
  elf_end(elf);
  return rows;
}

}  // namespace tephra::walk
