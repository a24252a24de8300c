#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"

namespace tephra::objects {

// For tests: registers and memory that are made up, so that rules and libdw's expressions can both be applied to them.
struct MadeUpMachine {
  std::array<uint64_t, 64> registers{};

  // Stack pointers lie below all words that memory holds, so that frames found through them are plausible.
  MadeUpMachine(uint16_t machine, uint64_t seed) {
    const bool is_x86 = machine == EM_X86_64;
    for (size_t i = 0; i < registers.size(); ++i) registers[i] = 0x18000000 + (base::mix(seed, i) & 0xffff8);
    registers[is_x86 ? 7 : 31] = 0x10000000 + (base::mix(seed, 100) & 0xffff8);
    registers[is_x86 ? 6 : 29] = registers[is_x86 ? 7 : 31] + 0x2000;
  }
  static uint64_t word(uint64_t address) { return 0x20000000 + (base::mix(address, 1) & 0xfffff8); }
};

// For tests: what libdw says about the caller at an address of a file.
class FrameOracle {
 public:
  explicit FrameOracle(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_, ELF_C_READ_MMAP, nullptr);
    if (elf_ == nullptr) return;
    GElf_Ehdr header{};
    if (gelf_getehdr(elf_, &header) != nullptr) machine_ = header.e_machine;
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  FrameOracle(const FrameOracle&) = delete;
  FrameOracle& operator=(const FrameOracle&) = delete;
  ~FrameOracle() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    if (elf_ != nullptr) elf_end(elf_);
    if (fd_ >= 0) ::close(fd_);
  }

  bool ok() const { return cfi_ != nullptr; }
  uint16_t machine() const { return machine_; }

  enum class How { kValue, kUndefined, kNotInMemory, kUnknown };
  struct Register {
    How how = How::kUnknown;
    uint64_t value = 0;
  };
  struct Caller {
    bool is_signal_frame = false;
    std::optional<uint64_t> cfa;
    Register return_address;
    Register frame_pointer;
  };

  // Nothing where libdw finds no description.
  std::optional<Caller> find(uint64_t address, const MadeUpMachine& machine) const {
    Dwarf_Frame* raw = nullptr;
    if (cfi_ == nullptr || dwarf_cfi_addrframe(cfi_, address, &raw) != 0) return std::nullopt;
    const std::unique_ptr<Dwarf_Frame, void (*)(void*)> frame(raw, std::free);
    Caller caller;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    const int return_register = dwarf_frame_info(frame.get(), &start, &end, &caller.is_signal_frame);
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0) return caller;
    Evaluation cfa = evaluate(ops, count, machine, address, 0);
    if (!cfa.ok) return caller;
    caller.cfa = cfa.value;
    caller.return_address = register_of(frame.get(), return_register, machine, address, *caller.cfa);
    caller.frame_pointer = register_of(frame.get(), machine_ == EM_X86_64 ? 6 : 29, machine, address, *caller.cfa);
    return caller;
  }

 private:
  struct Evaluation {
    bool ok = false;
    bool is_value = false;
    uint64_t value = 0;
  };

  static Register register_of(Dwarf_Frame* frame, int number, const MadeUpMachine& machine, uint64_t pc, uint64_t cfa) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return {};
    if (count == 0 && ops == nullptr) return {How::kValue, machine.registers[static_cast<size_t>(number)]};
    if (count == 0) return {How::kUndefined, 0};
    if ((ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) || ops[0].atom == DW_OP_regx) {
      return {How::kNotInMemory, 0};
    }
    const Evaluation place = evaluate(ops, count, machine, pc, cfa);
    if (!place.ok) return {};
    if (place.is_value) return {How::kNotInMemory, 0};
    return {How::kValue, MadeUpMachine::word(place.value)};
  }

  static Evaluation evaluate(const Dwarf_Op* ops, size_t count, const MadeUpMachine& machine, uint64_t pc,
                             uint64_t cfa) {
    std::vector<uint64_t> stack;
    Evaluation result;
    const auto reg = [&](uint64_t number) {
      return number == 16 && machine.registers[7] < machine.registers[6] ? pc : machine.registers[number & 63];
    };
    for (size_t i = 0; i < count; ++i) {
      const Dwarf_Op& op = ops[i];
      const auto pop = [&] {
        const uint64_t value = stack.empty() ? 0 : stack.back();
        if (!stack.empty()) stack.pop_back();
        return value;
      };
      if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
        stack.push_back(op.atom - DW_OP_lit0);
      } else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
        stack.push_back(reg(op.atom - DW_OP_breg0) + op.number);
      } else if (op.atom == DW_OP_bregx) {
        stack.push_back(reg(op.number) + op.number2);
      } else if (op.atom == DW_OP_call_frame_cfa) {
        stack.push_back(cfa);
      } else if ((op.atom >= DW_OP_const1u && op.atom <= DW_OP_consts) || op.atom == DW_OP_addr) {
        stack.push_back(op.number);
      } else if (op.atom == DW_OP_plus_uconst) {
        stack.push_back(pop() + op.number);
      } else if (op.atom == DW_OP_deref) {
        stack.push_back(MadeUpMachine::word(pop()));
      } else if (op.atom == DW_OP_stack_value) {
        result.is_value = true;
      } else if (op.atom == DW_OP_plus || op.atom == DW_OP_minus || op.atom == DW_OP_and || op.atom == DW_OP_ge ||
                 op.atom == DW_OP_shl) {
        const uint64_t b = pop();
        const uint64_t a = pop();
        stack.push_back(op.atom == DW_OP_plus    ? a + b
                        : op.atom == DW_OP_minus ? a - b
                        : op.atom == DW_OP_and   ? (a & b)
                        : op.atom == DW_OP_shl
                            ? a << (b & 63)
                            : static_cast<uint64_t>(static_cast<int64_t>(a) >= static_cast<int64_t>(b)));
      } else {
        return result;
      }
    }
    if (stack.empty()) return result;
    result.ok = true;
    result.value = stack.back();
    return result;
  }

  int fd_ = -1;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
  uint16_t machine_ = 0;
};

}  // namespace tephra::objects
