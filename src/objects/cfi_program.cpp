#include "objects/cfi_program.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;
using Form = CfiExpression::Form;
using Saved = CfiState::Saved;

constexpr uint8_t kNegateReturnAddressStateWithPc = 0x2c;  // ARM64; newer than dwarf.h

uint16_t register_number(uint64_t number) {
  return static_cast<uint16_t>(std::min<uint64_t>(number, CfiExpression::kNoRegister));
}

}  // namespace

CfiRegisters CfiRegisters::of(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return {7, 6, 16};
    case EM_386:
      return {4, 5, 8};
    case EM_AARCH64:
      return {31, 29, 32};
    case EM_RISCV:
      return {2, 8, UINT16_MAX};
    default:
      return {};
  }
}

void CfiProgram::start(const CfiCommon& common, const CfiState& initial, uint64_t address) {
  common_ = &common;
  at_ = address;
  changed_ = true;
  state_ = initial;
  initial_ = initial;
  remembered_.clear();
}

CfiProgram::Initial CfiProgram::begin(const CfiCommon& common) {
  start(common, {}, 0);
  ByteReader reader(common.instructions);
  while (!reader.at_end() && reader.ok()) {
    const uint8_t code = reader.u8();
    step(reader, code);
  }
  return {state_, reader.ok()};
}

uint64_t CfiProgram::step(ByteReader& reader, uint8_t code) {
  switch (code & 0xc0) {
    case DW_CFA_advance_loc:
      return advanced(reader, code & 0x3f);
    case DW_CFA_offset: {
      const uint64_t factor = read_uleb(reader);
      set(code & 0x3f, Saved::kAtCfa, scaled(factor));
      return at_;
    }
    case DW_CFA_restore:
      restore(code & 0x3f);
      return at_;
    default:
      return step_extended(reader, code);
  }
}

uint64_t CfiProgram::step_extended(ByteReader& reader, uint8_t code) {
  uint64_t number = 0;
  switch (code) {
    case DW_CFA_nop:
    case DW_CFA_GNU_window_save:  // on ARM64: whether return addresses are signed, which shows in them
    case kNegateReturnAddressStateWithPc:
      break;
    case DW_CFA_set_loc:
      return set_location(reader);
    case DW_CFA_advance_loc1:
      return advanced(reader, reader.u8());
    case DW_CFA_advance_loc2:
      return advanced(reader, reader.u16());
    case DW_CFA_advance_loc4:
      return advanced(reader, reader.u32());
    case DW_CFA_MIPS_advance_loc8:
      return advanced(reader, reader.u64());
    case DW_CFA_undefined:
      set(read_uleb(reader), Saved::kUndefined);
      break;
    case DW_CFA_same_value:
      set(read_uleb(reader), Saved::kSame);
      break;
    case DW_CFA_restore_extended:
      restore(read_uleb(reader));
      break;
    case DW_CFA_offset_extended:
      number = read_uleb(reader);
      set(number, Saved::kAtCfa, scaled(read_uleb(reader)));
      break;
    case DW_CFA_offset_extended_sf:
      number = read_uleb(reader);
      set(number, Saved::kAtCfa, scaled(static_cast<uint64_t>(read_sleb(reader))));
      break;
    case DW_CFA_GNU_negative_offset_extended:
      number = read_uleb(reader);
      set(number, Saved::kAtCfa, scaled(uint64_t{0} - read_uleb(reader)));
      break;
    case DW_CFA_register:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
      set(read_uleb(reader), Saved::kOther);
      read_uleb(reader);
      break;
    case DW_CFA_expression:
      number = read_uleb(reader);
      set_expression(number, reader.bytes(read_uleb(reader)));
      break;
    case DW_CFA_val_expression:
      set(read_uleb(reader), Saved::kOther);
      reader.skip(read_uleb(reader));
      break;
    case DW_CFA_remember_state:
      if (remembered_.size() == kDeepest)
        reader.fail();
      else
        remembered_.push_back(state_);
      break;
    case DW_CFA_restore_state:
      restore_state(reader);
      break;
    case DW_CFA_def_cfa:
      number = read_uleb(reader);
      define_cfa(number, static_cast<int64_t>(read_uleb(reader)));
      break;
    case DW_CFA_def_cfa_sf:
      number = read_uleb(reader);
      define_cfa(number, scaled(static_cast<uint64_t>(read_sleb(reader))));
      break;
    case DW_CFA_def_cfa_register:
      define_cfa(read_uleb(reader), state_.cfa.form == Form::kRegister ? state_.cfa.offset : 0);
      break;
    case DW_CFA_def_cfa_offset:
      define_cfa_offset(static_cast<int64_t>(read_uleb(reader)));
      break;
    case DW_CFA_def_cfa_offset_sf:
      define_cfa_offset(scaled(static_cast<uint64_t>(read_sleb(reader))));
      break;
    case DW_CFA_def_cfa_expression:
      state_.cfa = evaluate_expression(reader.bytes(read_uleb(reader)), registers_.pc);
      state_.cfa_is_said = true;
      changed_ = true;
      break;
    case DW_CFA_GNU_args_size:
      read_uleb(reader);
      break;
    default:
      reader.fail();
  }
  return at_;
}

// Addresses only grow: rows would contradict each other otherwise.
uint64_t CfiProgram::moved_to(ByteReader& reader, uint64_t address) {
  if (address >= at_) return address;
  reader.fail();
  return at_;
}

uint64_t CfiProgram::set_location(ByteReader& reader) {
  // The position within the section matters to pointers that are relative to their own place.
  const Bytes rest = reader.bytes(reader.remaining());
  ByteReader inner(rest);
  const auto address = section_->read_pointer(inner, common_->pointer_encoding, section_->offset_of(rest));
  reader = ByteReader(rest);
  reader.skip(inner.position());
  if (address) return moved_to(reader, *address);
  reader.fail();
  return at_;
}

CfiState::Register* CfiProgram::followed(uint64_t number) {
  if (number == common_->return_register) return &state_.return_address;
  if (number == registers_.frame_pointer) return &state_.frame_pointer;
  return nullptr;
}

void CfiProgram::set(uint64_t number, Saved saved, int64_t offset) {
  CfiState::Register* const place = followed(number);
  if (place == nullptr) return;
  *place = {saved, 0, offset};
  changed_ = true;
}

void CfiProgram::set_expression(uint64_t number, Bytes expression) {
  CfiState::Register* const place = followed(number);
  if (place == nullptr) return;
  const CfiExpression where = evaluate_expression(expression, registers_.pc);
  if (where.form == Form::kRegister) {
    *place = {Saved::kAtRegister, where.number, where.offset};
  } else {
    *place = {Saved::kOther, 0, 0};
  }
  changed_ = true;
}

void CfiProgram::restore(uint64_t number) {
  CfiState::Register* const place = followed(number);
  if (place == nullptr) return;
  *place = place == &state_.return_address ? initial_.return_address : initial_.frame_pointer;
  changed_ = true;
}

void CfiProgram::restore_state(ByteReader& reader) {
  if (remembered_.empty()) return reader.fail();
  state_ = remembered_.back();
  remembered_.pop_back();
  changed_ = true;
}

void CfiProgram::define_cfa(uint64_t number, int64_t offset) {
  state_.cfa = {Form::kRegister, register_number(number), offset, 0};
  state_.cfa_is_said = true;
  changed_ = true;
}

void CfiProgram::define_cfa_offset(int64_t offset) {
  // After an expression there is nothing that an offset could be added to.
  if (state_.cfa.form == Form::kRegister) {
    state_.cfa.offset = offset;
  } else {
    state_.cfa.form = Form::kOther;
  }
  changed_ = true;
}

}  // namespace tephra::objects
