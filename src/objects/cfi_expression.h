#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace tephra::objects {

// What a DWARF expression of call-frame information computes, as far as it has one of the forms that are met.
struct CfiExpression {
  enum class Form : uint8_t {
    kRegister,  // register + offset
    kDeref,     // the word at register + offset, + offset2
    kPlt,       // register + offset, and 8 more if the low four bits of the address are at least offset2
    kOther,     // none of these; `number` is that of the register it begins with, if any
  };
  static constexpr uint16_t kNoRegister = UINT16_MAX;

  Form form = Form::kOther;
  uint16_t number = kNoRegister;  // of the register, in DWARF
  int64_t offset = 0;
  int64_t offset2 = 0;
};

// `pc_register`: the number by which expressions name the address itself.
CfiExpression evaluate_expression(base::Bytes expression, uint16_t pc_register);

}  // namespace tephra::objects
