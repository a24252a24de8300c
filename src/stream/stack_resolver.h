#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/profile_assembler.h"
#include "stream/process_history.h"
#include "stream/sample_table.h"

namespace tephra::stream {

// Turns the addresses of a sample into a stack of the profile: finds what was mapped at each, and adds the frames from
// the outermost to the leaf.
class StackResolver {
 public:
  // `calls_recorded`: chains hold where calls are, not where they return to, as simpleperf writes them.
  StackResolver(model::ProfileAssembler& assembler, const ProcessHistory& history, bool calls_recorded = false)
      : assembler_(assembler), history_(history), calls_recorded_(calls_recorded) {}

  struct Resolved {
    model::StackId stack;
    uint32_t addresses = 0;  // of the chain's part that the kernel made, without context markers
    bool has_user_frame = false;
  };
  Resolved resolve(const SampleKey& key);

 private:
  enum class Space : uint8_t { kUser, kKernel, kOther };
  struct Address {
    uint64_t ip;
    Space space;
    model::AddressKind kind;
    bool operator==(const Address&) const = default;
  };
  // What addresses mean depends on these.
  struct Surroundings {
    AddressSpaces::State user_space = 0;
    AddressSpaces::State kernel_space = 0;
    JitCode::View jit = 0;
    bool operator==(const Surroundings&) const = default;
  };
  struct Step {
    Address address;
    model::StackId stack;
  };

  void collect_addresses(const SampleKey& key);
  // Leaves of the last path what this sample's begins with, too.
  void cut_path(const Surroundings& surroundings);
  // Where the user addresses of the sample are to be looked up.
  AddressSpaces::State user_space_of(const SampleKey& key) const;
  model::FrameId frame(AddressSpaces::State space, JitCode::View jit, const Address& address);
  model::FrameId make_frame(AddressSpaces::State space, JitCode::View jit, const Address& address);
  // Puts the frame into the generated function that was there, if one is known.
  void name_generated_code(JitCode::View jit, model::Frame& frame);

  model::ProfileAssembler& assembler_;
  const ProcessHistory& history_;
  const bool calls_recorded_;
  std::vector<Address> addresses_;  // leaf first; kept to save allocations
  uint32_t chain_addresses_ = 0;    // how many of them the chain told
  // Of the sample before, outermost first: threads stay in their outer frames, so the next one often begins with it.
  std::vector<Step> path_;
  Surroundings path_surroundings_;
  struct CachedFrame {
    uint64_t ip = 0;
    AddressSpaces::State space = 0;
    JitCode::View jit = 0;
    uint16_t tag = 0;  // space and kind, and that the entry is used
    model::FrameId frame;
  };
  std::vector<CachedFrame> cache_;
};

}  // namespace tephra::stream
