#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "abi/frame_rules.h"
#include "stream/unwinder.h"
#include "unwind/frame_table.h"
#include "unwind/jit_rules.h"
#include "unwind/machine.h"

struct tephra_frame;

namespace tephra::unwind {

// Walks copies of stacks by call-frame rules (abi/frame_step.h), and by frame pointers where there are none. Remembers
// what it found at each program counter. One thread at a time.
class StackWalker final : public stream::Unwinder::Walker {
 public:
  // The table of a mapping of a file or the vDSO, which must outlive the walker; null: the file is not at hand.
  using FindTable = std::function<const FrameTable*(const model::Mapping&)>;

  // More frames than a program needs that does not recurse without end; a copy of 64 KiB holds 8,192 at most.
  static constexpr size_t kMostFrames = 4096;

  StackWalker(Machine machine, const stream::AddressSpaces& spaces, const stream::JitCode& code,
              const model::Profile& so_far, FindTable find_table);

  stream::WalkEnd walk(const stream::RawStack& raw, const stream::ProcessMemory& memory,
                       std::vector<uint64_t>& addresses) override;
  void expect(const stream::RawStack& raw) override;

 private:
  // What is known about a program counter in a state of memory.
  struct Place {
    uint64_t pc = 0;
    const tephra_frame_rule* rule = nullptr;  // null: frame pointers are all there is
    stream::AddressSpaces::State space = stream::AddressSpaces::kEmpty;
    tephra_walk_end without_rule =
        TEPHRA_WALK_NOT_TOLD;  // what a walk ends with when they do not help; set in used ones
    bool in_file = false;      // code that no file holds keeps frame pointers by convention
  };
  struct MappingTable {
    const FrameTable* table = nullptr;
    tephra_walk_end without_rule = TEPHRA_WALK_NOT_TOLD;  // set when it was looked up
    bool in_file = false;
  };

  template <int kMachine>
  tephra_walk_end walk_from(tephra_frame& frame, const stream::RawStack& raw, const unsigned long long* registers,
                            const stream::ProcessMemory& memory, std::vector<uint64_t>& addresses,
                            bool& caller_guessed);
  const Place& place_at(uint64_t pc, stream::AddressSpaces::State space);
  Place look_up(uint64_t pc, stream::AddressSpaces::State space);
  const MappingTable& table_of(model::MappingId mapping);

  Machine machine_;
  const stream::AddressSpaces& spaces_;
  const model::Profile& so_far_;
  FindTable find_table_;
  std::optional<JitRules> jit_rules_;      // where runtimes have told any
  std::vector<Place> places_;              // by a hash of program counter and space
  std::vector<MappingTable> tables_;       // by mapping
  std::vector<uint64_t> frame_addresses_;  // of the last walk: most of them are those of the next one
};

}  // namespace tephra::unwind
