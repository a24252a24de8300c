#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/event_attr.h"
#include "collect/ring_set.h"
#include "collect/target.h"
#include "kernel/event_names.h"
#include "kernel/stack_program.h"

namespace tephra::collect {

// How the stacks of a recording are taken.
struct StackChoice {
  std::vector<CallGraph> of_events;  // one for each; none is kAuto
  uint32_t stack_bytes = kDefaultStackBytes;
  bool adapts = false;                            // `stack_bytes` is where to begin
  std::unique_ptr<kernel::StackProgram> program;  // where an event's stacks are walked in the kernel
  uint64_t ring_bytes = 0;                        // of each CPU, that the copies at the start need; with a program
  std::string why;                                // a line for the user, where the choice was ours; else empty
};

// Settles `--call-graph auto` and `bpf`: what loads here, what the events allow, and what the target's code needs.
// An error when bpf was asked for by name and cannot be had. `ring_bytes`: of each CPU, where the user set it; walked
// samples share one ring of all of them together. `note` is told of events that go another way.
base::Result<StackChoice> choose_stacks(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events,
                                        const Target& target, std::optional<uint64_t> ring_bytes, const Note& note);

// The same for `auto` where the kernel took the program but not for these events: `refusal` says why.
StackChoice choose_unwalked(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events,
                            const Target& target, const base::Error& refusal);

// Why the samples of an event cannot be taken by the in-kernel unwinder; empty when they can.
std::string why_not_walked(const kernel::EventSpec& event, const SampleSettings& settings);

// How often events come together on a CPU, at most.
uint64_t samples_a_second(const std::vector<kernel::EventSpec>& events, const SampleSettings& settings);

// How much of the stack is copied at this rate, so that the copies of one CPU stay below some 32 MB a second.
uint32_t stack_bytes_for(uint64_t samples_a_second);

}  // namespace tephra::collect
