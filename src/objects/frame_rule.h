#pragma once

#include <cstdint>

#include "abi/frame_rules.h"
#include "objects/cfi_program.h"

namespace tephra::objects {

// A rule that says no more than its kind: TEPHRA_CFA_NONE, _SIGNAL, _OUTERMOST, _UNSUPPORTED.
tephra_frame_rule plain_rule(tephra_cfa kind);
// "CFA is stack pointer + offset", with the return address below it on x86-64, in the link register on ARM64.
tephra_frame_rule stack_rule(uint16_t machine, int32_t cfa_offset);

// What call-frame instructions said, as a rule; TEPHRA_CFA_UNSUPPORTED where rules cannot say it. For EM_X86_64 and
// EM_AARCH64, with their registers.
tephra_frame_rule to_frame_rule(const CfiState& state, uint16_t machine, const CfiRegisters& registers);

}  // namespace tephra::objects
