#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "abi/frame_rules.h"
#include "stream/jit_code.h"
#include "unwind/compiled_table.h"
#include "unwind/machine.h"

namespace tephra::unwind {

// The call-frame rules of generated code, as its runtime told them in a jitdump, by process and moment. A table is made
// when it is first asked for. One thread at a time.
class JitRules {
 public:
  // `code` is sealed and outlives it.
  JitRules(Machine machine, const stream::JitCode& code) : machine_(machine), code_(code) {}

  // The rule at a program counter; null where nothing was told. It lives as long as this.
  const tephra_frame_rule* find(stream::JitCode::View view, uint64_t pc);

 private:
  // What was found last for a program counter of about that hash.
  struct Place {
    uint64_t pc = 0;
    stream::JitCode::View view = 0;  // 0: not used
    const tephra_frame_rule* rule = nullptr;
  };

  const tephra_frame_rule* look_up(stream::JitCode::View view, uint64_t pc);
  const FrameTable& table_of(uint32_t unwinding);

  Machine machine_;
  const stream::JitCode& code_;
  std::vector<Place> places_;
  std::unordered_map<uint32_t, CompiledTable> tables_;  // by unwinding
};

}  // namespace tephra::unwind
