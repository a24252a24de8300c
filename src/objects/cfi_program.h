#pragma once

#include <cstdint>
#include <vector>

#include "objects/cfi_expression.h"
#include "objects/cfi_section.h"

namespace tephra::objects {

// Numbers of registers in DWARF.
struct CfiRegisters {
  uint16_t stack_pointer = UINT16_MAX;
  uint16_t frame_pointer = UINT16_MAX;
  uint16_t pc = UINT16_MAX;

  // Of an ELF machine; none for those that are not known.
  static CfiRegisters of(uint16_t machine);
};

// How the caller's frame is found: what call-frame instructions have said so far about the canonical frame address
// (CFA), the frame pointer and the return address. Other registers are not followed.
struct CfiState {
  enum class Saved : uint8_t {
    kNotSaid,
    kUndefined,
    kSame,
    kAtCfa,       // in the word at CFA + offset
    kAtRegister,  // in the word at another register + offset
    kOther,       // not in memory, or where no simple expression says
  };
  struct Register {
    Saved saved = Saved::kNotSaid;
    uint16_t number = 0;
    int64_t offset = 0;
  };

  bool cfa_is_said = false;
  CfiExpression cfa;  // of kRegister's form also where it was said without an expression
  Register frame_pointer;
  Register return_address;
};

// Runs call-frame instructions. One thread at a time; may be used for many functions.
class CfiProgram {
 public:
  // What a common entry says; found once for all its functions.
  struct Initial {
    CfiState state;
    bool ok = false;
  };

  CfiProgram(const CfiSection& section, const CfiRegisters& registers) : section_(&section), registers_(registers) {}

  Initial begin(const CfiCommon& common);

  // Calls row(begin, state) for every place in the function from which on another state holds, in order of address,
  // until it returns false. Returns false where instructions cannot be read: nothing is known from at() on.
  template <class Row>
  bool run(const CfiFunction& function, const CfiCommon& common, const Initial& initial, Row&& row) {
    start(common, initial.state, function.begin);
    if (!initial.ok) return false;
    base::ByteReader reader(function.instructions);
    while (!reader.at_end()) {
      const uint8_t code = reader.u8();
      const uint64_t next = step(reader, code);
      if (!reader.ok()) return false;
      if (next == at_) continue;
      if (changed_ && !row(at_, state_)) return true;
      changed_ = false;
      at_ = next;
      if (at_ >= function.end) return true;
    }
    if (changed_) row(at_, state_);
    return true;
  }

  uint64_t at() const { return at_; }
  const CfiState& state() const { return state_; }

 private:
  static constexpr size_t kDeepest = 64;

  void start(const CfiCommon& common, const CfiState& initial, uint64_t address);
  // What one instruction does. Returns the address that it moves on to, at() if it does not. An instruction that cannot
  // be read makes the reader fail.
  uint64_t step(base::ByteReader& reader, uint8_t code);
  uint64_t step_extended(base::ByteReader& reader, uint8_t code);
  uint64_t moved_to(base::ByteReader& reader, uint64_t address);
  uint64_t advanced(base::ByteReader& reader, uint64_t units) {
    return moved_to(reader, at_ + units * common_->code_alignment);
  }
  uint64_t set_location(base::ByteReader& reader);

  CfiState::Register* followed(uint64_t number);
  void set(uint64_t number, CfiState::Saved saved, int64_t offset = 0);
  void set_expression(uint64_t number, base::Bytes expression);
  void restore(uint64_t number);
  void restore_state(base::ByteReader& reader);
  void define_cfa(uint64_t number, int64_t offset);
  void define_cfa_offset(int64_t offset);
  int64_t scaled(uint64_t factor) const {
    return static_cast<int64_t>(factor * static_cast<uint64_t>(common_->data_alignment));
  }

  const CfiSection* section_;
  CfiRegisters registers_;
  const CfiCommon* common_ = nullptr;
  uint64_t at_ = 0;
  bool changed_ = true;
  CfiState state_;
  CfiState initial_;
  std::vector<CfiState> remembered_;
};

}  // namespace tephra::objects
