#include "objects/cfi_expression.h"

#include <dwarf.h>

#include <array>
#include <optional>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using Form = CfiExpression::Form;

// A value on the expression's stack, as far as it is known before anything runs: a sum whose parts depend on registers
// and memory.
struct Value {
  enum class Kind : uint8_t {
    kConstant,  // offset
    kRegister,  // register + offset
    kDeref,     // *(register + offset) + offset2
    kLowBits,   // pc & offset
    kReached,   // (pc & 15) >= offset: 0 or 1
    kStep,      // that, times 8
    kPlt,       // register + offset + ((pc & 15) >= offset2 ? 8 : 0)
  };
  Kind kind = Kind::kConstant;
  uint16_t number = 0;
  int64_t offset = 0;
  int64_t offset2 = 0;
};
using Kind = Value::Kind;

int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

std::optional<Value> added(Value a, Value b) {
  if (a.kind == Kind::kConstant) std::swap(a, b);
  if (b.kind == Kind::kConstant) {
    int64_t& place = a.kind == Kind::kDeref ? a.offset2 : a.offset;
    if (a.kind != Kind::kConstant && a.kind != Kind::kRegister && a.kind != Kind::kDeref) return std::nullopt;
    place = sum(place, b.offset);
    return a;
  }
  if (a.kind == Kind::kStep) std::swap(a, b);
  if (a.kind != Kind::kRegister || b.kind != Kind::kStep) return std::nullopt;
  return Value{Kind::kPlt, a.number, a.offset, b.offset};
}

class Evaluator {
 public:
  Evaluator(base::Bytes expression, uint16_t pc_register) : reader_(expression), pc_register_(pc_register) {}

  CfiExpression run() {
    bool known = true;
    while (known && !reader_.at_end()) known = step() && reader_.ok();
    CfiExpression result;
    result.number = first_register_;
    if (!known || depth_ != 1) return result;
    const Value& top = stack_[0];
    if (top.kind == Kind::kRegister) result.form = Form::kRegister;
    if (top.kind == Kind::kDeref) result.form = Form::kDeref;
    if (top.kind == Kind::kPlt) result.form = Form::kPlt;
    if (result.form == Form::kOther) return result;
    result.number = top.number;
    result.offset = top.offset;
    result.offset2 = top.offset2;
    return result;
  }

 private:
  static constexpr size_t kDeepest = 8;

  bool push(Value value) {
    if (depth_ == kDeepest) return false;
    stack_[depth_++] = value;
    return true;
  }
  bool push_constant(int64_t value) { return push({Kind::kConstant, 0, value, 0}); }
  bool push_register(uint64_t number) {
    const int64_t offset = read_sleb(reader_);
    if (number >= CfiExpression::kNoRegister) return false;
    if (first_register_ == CfiExpression::kNoRegister) first_register_ = static_cast<uint16_t>(number);
    return push({Kind::kRegister, static_cast<uint16_t>(number), offset, 0});
  }

  bool step() {
    const uint8_t code = reader_.u8();
    if (code >= DW_OP_lit0 && code <= DW_OP_lit31) return push_constant(code - DW_OP_lit0);
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31) return push_register(code - DW_OP_breg0);
    switch (code) {
      case DW_OP_bregx:
        return push_register(read_uleb(reader_));
      case DW_OP_const1u:
        return push_constant(reader_.u8());
      case DW_OP_const1s:
        return push_constant(reader_.read<int8_t>());
      case DW_OP_const2u:
        return push_constant(reader_.u16());
      case DW_OP_const2s:
        return push_constant(reader_.read<int16_t>());
      case DW_OP_const4u:
        return push_constant(reader_.u32());
      case DW_OP_const4s:
        return push_constant(reader_.read<int32_t>());
      case DW_OP_const8u:
      case DW_OP_const8s:
        return push_constant(reader_.read<int64_t>());
      case DW_OP_constu:
        return push_constant(static_cast<int64_t>(read_uleb(reader_)));
      case DW_OP_consts:
        return push_constant(read_sleb(reader_));
      case DW_OP_plus_uconst:
        return push_constant(static_cast<int64_t>(read_uleb(reader_))) && combine(DW_OP_plus);
      case DW_OP_deref:
        return deref();
      case DW_OP_nop:
        return true;
      default:
        return combine(code);
    }
  }

  bool deref() {
    if (depth_ == 0 || stack_[depth_ - 1].kind != Kind::kRegister) return false;
    stack_[depth_ - 1].kind = Kind::kDeref;
    return true;
  }

  bool combine(uint8_t code) {
    if (depth_ < 2) return false;
    const Value b = stack_[--depth_];
    const Value a = stack_[--depth_];
    const auto result = combined(code, a, b);
    return result && push(*result);
  }

  std::optional<Value> combined(uint8_t code, const Value& a, const Value& b) const {
    if (code == DW_OP_plus) return added(a, b);
    if (b.kind != Kind::kConstant) return std::nullopt;
    switch (code) {
      case DW_OP_minus:
        return added(a, {Kind::kConstant, 0, static_cast<int64_t>(-static_cast<uint64_t>(b.offset)), 0});
      case DW_OP_and:
        if (a.kind != Kind::kRegister || a.number != pc_register_ || a.offset != 0) return std::nullopt;
        return Value{Kind::kLowBits, 0, b.offset, 0};
      case DW_OP_ge:
        if (a.kind != Kind::kLowBits || a.offset != 15) return std::nullopt;
        return Value{Kind::kReached, 0, b.offset, 0};
      case DW_OP_shl:
        if (a.kind != Kind::kReached || b.offset != 3) return std::nullopt;
        return Value{Kind::kStep, 0, a.offset, 0};
      default:
        return std::nullopt;
    }
  }

  ByteReader reader_;
  uint16_t pc_register_;
  uint16_t first_register_ = CfiExpression::kNoRegister;
  std::array<Value, kDeepest> stack_{};
  size_t depth_ = 0;
};

}  // namespace

CfiExpression evaluate_expression(base::Bytes expression, uint16_t pc_register) {
  return Evaluator(expression, pc_register).run();
}

}  // namespace tephra::objects
