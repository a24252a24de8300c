#pragma once

namespace tephra::analysis {

// What a profile must keep to for a grade; shares from 0 to 1. docs/verdict.md states the same numbers.
struct Limits {
  double rooted;         // at least
  double named;          // at least
  double lost;           // at most, of samples and losses together
  double throttled;      // at most, throttlings a sample
  double truncated;      // at most
  double caller_unsure;  // at most
};

inline constexpr Limits kGoodLimits{
    .rooted = 0.95, .named = 0.95, .lost = 0.01, .throttled = 0.01, .truncated = 0.01, .caller_unsure = 0.05};
inline constexpr Limits kFairLimits{
    .rooted = 0.75, .named = 0.75, .lost = 0.10, .throttled = 0.10, .truncated = 0.10, .caller_unsure = 0.25};

// From this share of CPU time on, what the hypervisor took is worth a word. It never costs the grade: the samples are
// right, only the times are longer than the work was.
inline constexpr double kNotableSteal = 0.005;

// Beyond this share of frames, names from files that may be others than ran are worth a word. They never cost the
// grade: mostly nobody changed the files.
inline constexpr double kNotableUnproven = 0.05;

}  // namespace tephra::analysis
