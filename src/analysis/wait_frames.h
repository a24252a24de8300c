#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/wait_kind.h"
#include "model/profile.h"

namespace tephra::analysis {

// Whether frames of locks have the names of locks.
enum class LockNames : uint8_t { kShow, kLeaveOut };

// The profile with the kind of wait as the outermost frame of each waiting stack: "[lock]", "[disk]"; of a lock with
// its name, where that is known: "[lock queue_mutex]". What runs stays as it is. `kinds` are those of its samples
// (wait_kinds). Linear in stacks and samples.
model::Profile with_wait_frames(model::Profile profile, const std::vector<WaitKind>& kinds,
                                LockNames locks = LockNames::kShow);

// Whether a name is that of a frame which says what is waited for, or who ended it.
bool is_wait_frame(std::string_view name);

// The profile with a frame that says why where the recorder could not keep the stacks of waits: "[stack map full]",
// "[not sampled]", "[stack lost]".
model::Profile with_lost_stacks(model::Profile profile);

}  // namespace tephra::analysis
