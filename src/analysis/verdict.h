#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

enum class Grade { kGood, kFair, kPoor };
std::string_view grade_name(Grade grade);

// How far a profile can be trusted: what views print on one line, and what --strict judges by.
struct Verdict {
  Grade grade = Grade::kGood;
  std::string engine;
  uint64_t samples = 0;
  std::string counted = "samples";  // what `samples` is the number of: "objects", "spans"
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t idle = 0;
  uint64_t own = 0;                            // samples of the recorder itself, left out
  std::optional<double> steal;                 // share of CPU time that the hypervisor took, where it was recorded
  std::optional<double> recorder_cpu_seconds;  // what recording cost, where it was recorded
  std::vector<model::CopySize> copy_sizes;     // of stacks, where the recorder chose them
  double stacks_rooted = 0;                    // share of samples whose stack reaches an outermost frame
  uint64_t stacks_truncated = 0;
  uint64_t caller_unsure = 0;
  double frames_named = 0;                       // share of frames, weighted by samples
  double names_unproven = 0;                     // the same, named by files that may be others than ran
  std::map<std::string_view, uint64_t> reasons;  // only those that are not zero

  // Where stacks that were walked by call-frame rules ended too early: in which module, and why. The most samples
  // first.
  struct StackEnd {
    std::string module;
    std::string_view reason;
    uint64_t samples = 0;
  };
  std::vector<StackEnd> stack_ends;

  // What is wrong, the likely cause and what to do, worst first; empty when nothing is.
  struct Advice {
    std::string problem;
    std::string fix;
  };
  std::vector<Advice> advice;
  // Of recordings of all time: how well that of each thread comes to its life.
  std::optional<model::TimeAccount> time_account;
  std::vector<std::string> notes;  // how samples were read, where that is not as their records say
};

// Judges a symbolized profile.
Verdict judge(const model::Profile& profile);

// One line: "verdict: good. 4,950 samples, 99.8 % of stacks whole, 100 % of frames named, 0 lost."
std::string one_line(const Verdict& verdict);
// The line and below it every figure, reason and advice.
std::string details(const Verdict& verdict);

}  // namespace tephra::analysis
