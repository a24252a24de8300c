#include "objects/known_stubs.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "objects/frame_rule.h"

namespace tephra::objects {
namespace {

using base::Bytes;
using namespace std::string_view_literals;
using Ruled = FramePieces::Ruled;

// mov $15,%rax or mov $15,%eax, then syscall: rt_sigreturn.
constexpr std::array kSignalReturnX86 = {"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv, "\xb8\x0f\x00\x00\x00\x0f\x05"sv};
// mov x8, #139; svc #0.
constexpr std::array kSignalReturnArm64 = {"\x68\x11\x80\xd2\x01\x00\x00\xd4"sv};

// Undescribed code is searched for returns from signals in gaps of at least this size, and no further than the limit:
// a program without any call-frame information may be large, and frame pointers are all it has anyway.
constexpr uint64_t kSmallestGap = 32;
constexpr uint64_t kMostSearched = uint64_t{8} << 20;
// A program's entry is a few instructions long.
constexpr uint64_t kLongestEntry = 128;
constexpr uint64_t kStub = 16;

std::string_view text_of(Bytes bytes) { return base::as_text(bytes); }

bool begins_with(Bytes code, std::string_view pattern) { return text_of(code).starts_with(pattern); }

Bytes from(Bytes bytes, uint64_t offset) { return bytes.subspan(std::min<uint64_t>(offset, bytes.size())); }

std::span<const std::string_view> signal_returns(uint16_t machine) {
  if (machine == EM_X86_64) return kSignalReturnX86;
  return kSignalReturnArm64;
}

void find_signal_returns(Bytes code, uint64_t offset, uint16_t machine, std::vector<Ruled>& found) {
  for (const std::string_view pattern : signal_returns(machine)) {
    for (size_t at = 0; (at = text_of(code).find(pattern, at)) != std::string_view::npos; at += pattern.size()) {
      // A handler returns to the first byte, and the rule of a return address is that of the byte before it.
      const uint64_t begin = offset + at - (at > 0 ? 1 : 0);
      found.push_back({begin, offset + at + pattern.size(), plain_rule(TEPHRA_CFA_SIGNAL)});
    }
  }
}

void add_signal_returns(const ElfFile& elf, const FramePieces& pieces, std::vector<Ruled>& found) {
  uint64_t left = kMostSearched;
  for (const auto& gap : pieces.gaps(kSmallestGap)) {
    const auto address = pieces.address_of(gap.from);
    if (!address) continue;
    const Bytes code = elf.bytes_at(*address);
    const uint64_t size = std::min<uint64_t>({gap.to - gap.from, code.size(), left});
    elf.need(code.first(size));
    find_signal_returns(code.first(size), gap.from, elf.machine(), found);
    left -= size;
  }
}

// From which byte of a lazy x86-64 stub on the number of the symbol is on the stack; 0 if the stub pushes nothing.
uint64_t pushed_from(Bytes stub) {
  constexpr uint8_t kPush = 0x68;  // with 4 bytes
  for (const uint64_t at : {6, 4, 0}) {
    const bool marked = at != 4 || begins_with(stub, "\xf3\x0f\x1e\xfa"sv);  // endbr64
    const bool jumps = at != 6 || begins_with(stub, "\xff\x25"sv);
    if (marked && jumps && stub.size() > at && static_cast<uint8_t>(stub[at]) == kPush) return at + 5;
  }
  return 0;
}

// What GNU ld describes by an expression and lld does not at all: the first stub pushes a word and jumps to the dynamic
// linker; all others jump to the function, or push a word and jump to the first.
void add_x86_stubs(Bytes content, uint64_t offset, std::vector<Ruled>& found) {
  tephra_frame_rule lazy = stack_rule(EM_X86_64, 8);
  const bool has_first = begins_with(content, "\xff\x35"sv);  // push of a word relative to the code
  const uint64_t pushed = pushed_from(from(content, has_first ? kStub : 0));
  if (pushed != 0 && offset % kStub == 0) {
    lazy.cfa = TEPHRA_CFA_PLT;
    lazy.cfa_offset2 = static_cast<int32_t>(pushed);
  }
  uint64_t begin = offset;
  if (has_first) {
    found.push_back({offset, offset + 6, stack_rule(EM_X86_64, 16)});
    found.push_back({offset + 6, offset + kStub, stack_rule(EM_X86_64, 24)});
    begin += kStub;
  }
  found.push_back({begin, offset + content.size(), lazy});
}

// The first stub stores x16 and the link register; all others only jump.
void add_arm64_stubs(Bytes content, uint64_t offset, std::vector<Ruled>& found) {
  constexpr std::string_view kMark = "\x5f\x24\x03\xd5"sv;   // bti c
  constexpr std::string_view kStore = "\xf0\x7b\xbf\xa9"sv;  // stp x16, x30, [sp, #-16]!
  const uint64_t store_at = begins_with(content, kMark) ? 4 : 0;
  uint64_t begin = offset;
  if (begins_with(from(content, store_at), kStore)) {
    tephra_frame_rule stored = stack_rule(EM_AARCH64, 16);
    stored.ra = TEPHRA_SAVED_AT_CFA;
    stored.ra_offset = -8;
    found.push_back({offset, offset + store_at + 4, stack_rule(EM_AARCH64, 0)});
    found.push_back({offset + store_at + 4, offset + 2 * kStub, stored});
    begin += 2 * kStub;
  }
  found.push_back({begin, offset + content.size(), stack_rule(EM_AARCH64, 0)});
}

void add_linkage_stubs(const ElfFile& elf, const FramePieces& pieces, std::vector<Ruled>& found) {
  for (const auto& section : elf.sections()) {
    const bool is_linkage = section.name.starts_with(".plt") || section.name == ".iplt";
    if (!is_linkage || section.type != SHT_PROGBITS || (section.flags & SHF_EXECINSTR) == 0) continue;
    const auto offset = pieces.offset_of(section.address);
    if (!offset || section.content.empty() || pieces.find(*offset) != nullptr) continue;
    elf.need(section.content);
    if (elf.machine() == EM_X86_64) {
      add_x86_stubs(section.content, *offset, found);
    } else {
      add_arm64_stubs(section.content, *offset, found);
    }
  }
}

bool is_program(const ElfFile& elf) {
  const auto is_interpreter = [](const ElfFile::Segment& segment) { return segment.type == PT_INTERP; };
  return elf.type() == ET_EXEC || std::ranges::any_of(elf.segments(), is_interpreter);
}

// What programs, and the dynamic linker, begin with. A shared library may name any place as its entry.
bool looks_like_entry(Bytes code, uint16_t machine) {
  const auto begins_with_one = [&](std::initializer_list<std::string_view> patterns) {
    return std::ranges::any_of(patterns, [&](std::string_view pattern) { return begins_with(code, pattern); });
  };
  if (machine == EM_X86_64) {
    if (begins_with(code, "\xf3\x0f\x1e\xfa"sv)) code = code.subspan(4);  // endbr64
    // xor %ebp,%ebp; xor %rbp,%rbp; mov %rsp,%rdi and a call
    return begins_with_one({"\x31\xed"sv, "\x48\x31\xed"sv, "\x48\x89\xe7\xe8"sv});
  }
  if (begins_with(code, "\x5f\x24\x03\xd5"sv)) code = code.subspan(4);  // bti c
  // mov x29, #0; mov x30, #0; mov x0, sp
  return begins_with_one({"\x1d\x00\x80\xd2"sv, "\x1e\x00\x80\xd2"sv, "\xe0\x03\x00\x91"sv});
}

void add_entry(const ElfFile& elf, FramePieces& pieces, std::vector<Ruled>& found) {
  const auto offset = elf.entry() == 0 ? std::nullopt : pieces.offset_of(elf.entry());
  if (!offset) return;
  Bytes code = elf.bytes_at(elf.entry());
  code = code.first(std::min<uint64_t>(code.size(), kLongestEntry));
  elf.need(code);
  if (!is_program(elf) && !looks_like_entry(code, elf.machine())) return;
  const tephra_frame_rule rule = plain_rule(TEPHRA_CFA_OUTERMOST);
  if (pieces.find(*offset) != nullptr) {
    pieces.replace_rule(*offset, rule);
  } else {
    found.push_back({*offset, std::min(*offset + kLongestEntry, pieces.next_begin(*offset)), rule});
  }
}

}  // namespace

bool is_signal_return(Bytes code, uint16_t machine) {
  const auto found = [&](std::string_view pattern) { return text_of(code).find(pattern) != std::string_view::npos; };
  return std::ranges::any_of(signal_returns(machine), found);
}

void add_known_stubs(const ElfFile& elf, FramePieces& pieces) {
  std::vector<Ruled> found;
  add_linkage_stubs(elf, pieces, found);
  add_signal_returns(elf, pieces, found);
  add_entry(elf, pieces, found);
  pieces.add_rules(std::move(found));
}

}  // namespace tephra::objects
