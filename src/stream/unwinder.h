#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/profile_assembler.h"
#include "stream/address_space.h"
#include "stream/jit_code.h"
#include "stream/walk_end.h"

namespace tephra::stream {

// What a sample holds of a thread's user state, to be unwound later (PERF_SAMPLE_REGS_USER and STACK_USER).
struct RawStack {
  uint64_t abi = 0;            // PERF_SAMPLE_REGS_ABI_*
  uint64_t register_mask = 0;  // which of perf's registers of the machine `registers` holds, in their order
  base::Bytes registers;
  base::Bytes stack;  // from the stack pointer upwards, as much as was copied
  bool full = false;  // the copy is as large as was asked for, so the stack may go on
  uint64_t position = 0;  // of the sample, in the recording's records
};

// What a process had in memory at a moment.
struct ProcessMemory {
  AddressSpaces::State space = AddressSpaces::kEmpty;
  JitCode::View code = 0;  // of what it had generated
};

// Walks raw stacks. Made once for a recording; shared by threads, each of which has a Walker of its own.
class Unwinder {
 public:
  class Walker {
   public:
    virtual ~Walker() = default;
    // Appends the user addresses of `raw`, leaf first, and says how the walk ended. `memory` is what the process had
    // then. An address further out that is no return address (what a signal interrupted, and the code that
    // returns from one) has the marker PERF_CONTEXT_USER before it, as the leaf has in a call chain.
    virtual WalkEnd walk(const RawStack& raw, const ProcessMemory& memory, std::vector<uint64_t>& addresses) = 0;
    // A stack that will be walked after the next one: what the walk needs may be fetched meanwhile.
    virtual void expect(const RawStack&) {}
  };

  virtual ~Unwinder() = default;
  // `spaces`, `code` and `so_far` (strings and mappings that ranges refer to) are complete and outlive the walker.
  // `machine` as in RecordingFacts::arch. Null for machines whose stacks cannot be walked.
  virtual std::unique_ptr<Walker> walker(const AddressSpaces& spaces, const JitCode& code, const model::Profile& so_far,
                                         std::string_view machine) = 0;
};

}  // namespace tephra::stream
