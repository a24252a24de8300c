#include "objects/frame_rule.h"

#include <elf.h>

#include <limits>

namespace tephra::objects {
namespace {

using Form = CfiExpression::Form;
using Saved = CfiState::Saved;

template <class T>
bool fits(int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

class RuleMaker {
 public:
  RuleMaker(const CfiState& state, uint16_t machine, const CfiRegisters& registers)
      : state_(state), machine_(machine), registers_(registers) {}

  tephra_frame_rule make() {
    if (state_.return_address.saved == Saved::kUndefined) return plain_rule(TEPHRA_CFA_OUTERMOST);
    if (!state_.cfa_is_said || !set_cfa() || !set_return_address()) return plain_rule(TEPHRA_CFA_UNSUPPORTED);
    set_frame_pointer();
    return rule_;
  }

 private:
  bool set_cfa() {
    const CfiExpression& cfa = state_.cfa;
    if (!fits<int32_t>(cfa.offset) || !fits<int32_t>(cfa.offset2)) return false;
    rule_.cfa_offset = static_cast<int32_t>(cfa.offset);
    rule_.cfa_offset2 = static_cast<int32_t>(cfa.offset2);
    const bool is_stack = cfa.number == registers_.stack_pointer;
    const bool is_frame = cfa.number == registers_.frame_pointer;
    switch (cfa.form) {
      case Form::kRegister:
        rule_.cfa = is_stack ? TEPHRA_CFA_SP : is_frame ? TEPHRA_CFA_FP : TEPHRA_CFA_REGISTER;
        if (rule_.cfa == TEPHRA_CFA_REGISTER) rule_.cfa_register = static_cast<unsigned char>(cfa.number);
        return is_stack || is_frame || cfa.number <= highest_register();
      case Form::kDeref:
        rule_.cfa = is_stack ? TEPHRA_CFA_AT_SP : TEPHRA_CFA_AT_FP;
        return is_stack || is_frame;
      case Form::kPlt:
        rule_.cfa = TEPHRA_CFA_PLT;
        return is_stack && machine_ == EM_X86_64 && cfa.offset2 >= 0 && cfa.offset2 < 16;
      default:
        return false;
    }
  }

  // Whether a place relative to a register is a place relative to the CFA, and which.
  bool relative_to_cfa(const CfiState::Register& saved, int64_t& offset) const {
    offset = saved.offset;
    if (saved.saved == Saved::kAtCfa) return true;
    if (saved.saved != Saved::kAtRegister || state_.cfa.form != Form::kRegister) return false;
    if (saved.number != state_.cfa.number || !fits<int32_t>(saved.offset)) return false;
    offset = saved.offset - state_.cfa.offset;
    return true;
  }

  bool set_return_address() {
    const CfiState::Register& saved = state_.return_address;
    if (saved.saved == Saved::kNotSaid || saved.saved == Saved::kSame) return machine_ == EM_AARCH64;
    int64_t offset = 0;
    if (!relative_to_cfa(saved, offset) || !fits<int16_t>(offset)) return false;
    rule_.ra = TEPHRA_SAVED_AT_CFA;
    rule_.ra_offset = static_cast<int16_t>(offset);
    return true;
  }

  void set_frame_pointer() {
    const CfiState::Register& saved = state_.frame_pointer;
    if (saved.saved == Saved::kNotSaid || saved.saved == Saved::kSame) return;
    int64_t offset = 0;
    rule_.fp = TEPHRA_SAVED_AT_CFA;
    if (!relative_to_cfa(saved, offset)) {
      const bool at_frame = saved.saved == Saved::kAtRegister && saved.number == registers_.frame_pointer;
      rule_.fp = at_frame ? TEPHRA_SAVED_AT_FP : TEPHRA_SAVED_UNKNOWN;
    }
    if (!fits<int16_t>(offset)) rule_.fp = TEPHRA_SAVED_UNKNOWN;
    if (rule_.fp != TEPHRA_SAVED_UNKNOWN) rule_.fp_offset = static_cast<int16_t>(offset);
  }

  // Of those that are known for the innermost frame.
  uint16_t highest_register() const { return machine_ == EM_X86_64 ? 15 : 30; }

  const CfiState& state_;
  uint16_t machine_;
  const CfiRegisters& registers_;
  tephra_frame_rule rule_{};
};

}  // namespace

tephra_frame_rule plain_rule(tephra_cfa kind) {
  tephra_frame_rule rule{};
  rule.cfa = static_cast<unsigned char>(kind);
  return rule;
}

tephra_frame_rule stack_rule(uint16_t machine, int32_t cfa_offset) {
  tephra_frame_rule rule = plain_rule(TEPHRA_CFA_SP);
  rule.cfa_offset = cfa_offset;
  if (machine == EM_X86_64) {
    rule.ra = TEPHRA_SAVED_AT_CFA;
    rule.ra_offset = -8;
  }
  return rule;
}

tephra_frame_rule to_frame_rule(const CfiState& state, uint16_t machine, const CfiRegisters& registers) {
  return RuleMaker(state, machine, registers).make();
}

}  // namespace tephra::objects
