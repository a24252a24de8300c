#include "unwind/generated_code.h"

#include <array>
#include <string_view>

namespace tephra::unwind {
namespace {

using namespace std::string_view_literals;

constexpr tephra_frame_block kOneRow{};

constexpr FrameTable table_of(const tephra_frame_rule& rule) {
  return {std::span(&kOneRow, 1), std::span(&rule, 1), 1, 0};
}

constexpr tephra_frame_rule x86_rule(tephra_cfa cfa, int offset, int offset2 = 0) {
  return {static_cast<unsigned char>(cfa), TEPHRA_SAVED_SAME, TEPHRA_SAVED_AT_CFA, 0, offset, offset2, 0, -8};
}

constexpr tephra_frame_rule frame_pointer_rule(tephra_cfa cfa, int offset, int offset2 = 0) {
  return {static_cast<unsigned char>(cfa), TEPHRA_SAVED_AT_CFA, TEPHRA_SAVED_AT_CFA, 0, offset, offset2, -16, -8};
}

// A trampoline makes room on the stack, calls, and returns. Samples are nearly always of what it calls, so the rule is
// that of the call. Where copies are 16 bytes apart, as from 3.13 on, the rule of linkage stubs also knows the
// instructions before.
struct Trampoline {
  std::string_view code;
  tephra_frame_rule packed;   // copies follow each other without a gap
  tephra_frame_rule aligned;  // copies are a multiple of 16 bytes apart
  FrameTable packed_table = table_of(packed);
  FrameTable aligned_table = table_of(aligned);
};

constexpr auto kSp = TEPHRA_CFA_SP;
constexpr auto kStub = TEPHRA_CFA_PLT;
constexpr auto kFp = TEPHRA_CFA_FP;

// x86-64: sub $8,%rsp; call *%rcx; add $8,%rsp; ret. Newer: push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret. Both
// may begin with endbr64. ARM64: stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3, and may begin with paciasp.
constexpr std::array<Trampoline, 6> kTrampolines = {{
    {"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"sv, x86_rule(kSp, 16), x86_rule(kStub, 8, 4)},
    {"\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"sv, x86_rule(kSp, 16), x86_rule(kStub, 8, 8)},
    {"\x55\x48\x89\xe5\xff\xd1\x5d\xc3"sv, frame_pointer_rule(kSp, 16), frame_pointer_rule(kStub, 8, 1)},
    {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3"sv, frame_pointer_rule(kSp, 16),
     frame_pointer_rule(kStub, 8, 5)},
    {"\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x60\x00\x3f\xd6"sv, frame_pointer_rule(kFp, 16), frame_pointer_rule(kFp, 16)},
    {"\x3f\x23\x03\xd5\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x60\x00\x3f\xd6"sv, frame_pointer_rule(kFp, 16),
     frame_pointer_rule(kFp, 16)},
}};

}  // namespace

const FrameTable* generated_code_table(base::Bytes first_bytes) {
  const std::string_view bytes = base::as_text(first_bytes);
  for (const Trampoline& trampoline : kTrampolines) {
    if (!bytes.starts_with(trampoline.code)) continue;
    const size_t next = bytes.find(trampoline.code, trampoline.code.size());
    const bool aligned = next != std::string_view::npos && next % 16 == 0;
    return aligned ? &trampoline.aligned_table : &trampoline.packed_table;
  }
  return nullptr;
}

}  // namespace tephra::unwind
