#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/call_tree.h"
#include "model/profile.h"

namespace tephra::analysis {

// What a thread waits for.
enum class WaitKind : uint8_t {
  kNone,  // it does not wait: samples of other events
  kLock,
  kDisk,
  kNetwork,
  kPipe,  // pipes, local sockets and other ways of processes to talk
  kSleep,
  kPageFault,
  kRunQueue,
  kOther,
  kWaker,  // of nodes of a call tree alone: not what is waited for, but the thread that ended it
};
inline constexpr size_t kWaitKinds = static_cast<size_t>(WaitKind::kOther) + 1;  // that samples have

// "lock", "run queue"; "running" for kNone.
std::string_view wait_kind_name(WaitKind kind);

// What is known of a wait beside its stack. Empty where unknown.
struct WaitFacts {
  std::string_view state;    // stream::wait_state_name
  std::string_view syscall;  // its name
  std::string_view cause;    // stream::kCauseDisk, stream::kCauseFault
};

// The kind by the names of the kernel's functions, innermost first, and what else is known. What nothing tells is
// kOther.
WaitKind wait_kind(const std::vector<std::string_view>& kernel_functions, const WaitFacts& facts);

// The kind of every row of a profile's samples; kNone for rows of other events than stream::kWaitEvent. The profile has
// names. Nothing in it: no row waits.
std::vector<WaitKind> wait_kinds(const model::Profile& profile);

// For each node of a call tree the kind that at least three quarters of it are, by weight; nothing: it is of several.
// The tree kept its leaves, and `kinds` are those of the samples that it is of.
std::vector<std::optional<WaitKind>> kinds_of_nodes(const CallTree& tree, const model::Profile& profile,
                                                    const std::vector<WaitKind>& kinds, Weight weight);

}  // namespace tephra::analysis
