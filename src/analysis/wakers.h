#pragma once

#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

// The frame between a waiting stack and that of the thread that ended the wait: "[woken by NAME]".
inline constexpr std::string_view kWokenBy = "[woken by ";

// How many who woke one another are drawn above a wait.
inline constexpr int kMostWakers = 2;

// Whether samples tell who ended waits (stream::kWakersEvent), and there are waits.
bool has_wakers(const model::Profile& profile);

// The same without the samples that only tell who ended waits.
model::Profile without_wakers(model::Profile profile);

// Joins them: above each wait whose waker is known stands a frame [woken by NAME], then the waker's frames from the
// innermost to the outermost, and once more for who had woken the waker. Sums stay those of the waits. Of an interrupt
// only its own frames are shown, not those of the thread that it happened to stop.
model::Profile join_wakers(model::Profile profile);

}  // namespace tephra::analysis
