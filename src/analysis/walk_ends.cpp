#include "analysis/walk_ends.h"

#include <algorithm>
#include <tuple>

#include "analysis/labels.h"

namespace tephra::analysis {

using model::FrameId;
using model::Profile;
using model::Reason;

std::string_view place_of(const Profile& profile, FrameId frame) {
  const model::MappingId mapping = profile.frames[frame].mapping;
  return mapping ? module_name(profile, mapping) : "addresses outside every mapping";
}

std::optional<Reason> reason_of(tephra_walk_end end) {
  switch (end) {
    case TEPHRA_WALK_NOT_TOLD:
    case TEPHRA_WALK_OUTERMOST:
      return {};
    case TEPHRA_WALK_DEPTH:
      return Reason::depth_limit;
    case TEPHRA_WALK_NO_MAPPING:
      return Reason::walk_no_mapping;
    case TEPHRA_WALK_NO_RULE:
      return Reason::walk_no_rule;
    case TEPHRA_WALK_UNSUPPORTED:
      return Reason::walk_unsupported;
    case TEPHRA_WALK_UNREADABLE:
      return Reason::stack_unreadable;
    case TEPHRA_WALK_IMPLAUSIBLE:
      return Reason::walk_implausible;
    case TEPHRA_WALK_NO_FILE:
      return Reason::walk_no_file;
    case TEPHRA_WALK_32BIT:
      return Reason::walk_32bit;
    case TEPHRA_WALK_COPY_END:
      return Reason::stack_copy_too_short;
    case TEPHRA_WALK_NOT_COPIED:
      return Reason::stack_not_copied;
  }
  return Reason::walk_unsupported;
}

WalkAdvice walk_advice(Reason reason) {
  switch (reason) {
    case Reason::stack_copy_too_short:
      return {"have a stack that is deeper than its copy",
              "Take stacks without copies (--call-graph bpf); or record larger ones (--call-graph dwarf,65528) where they "
              "were smaller than the most, 65,528 bytes."};
    case Reason::stack_unreadable:
      return {"have a stack that was not in memory when it was read", "Nothing is to be done; callers are missing."};
    case Reason::walk_no_mapping:
      return {"have a stack that leads to an address of no known mapping",
              "Record from the start of the program, so that what it maps is known."};
    case Reason::stack_not_copied:
      return {"have a stack that only a copy could have told, while too many were being copied",
              "Lower the frequency (-F), or record fewer processes at once."};
    case Reason::walk_no_file:
      return {"have a stack that ends in a file that is not at hand",
              "Read the recording where the files that ran are."};
    case Reason::walk_no_rule:
      return {
          "have a stack that ends in code without call-frame information and frame pointers",
          "Build it with -fasynchronous-unwind-tables or with -fno-omit-frame-pointer; let JIT compilers keep frame "
          "pointers."};
    case Reason::walk_32bit:
      return {"are of 32-bit programs, whose stacks are not walked", "Record these with --call-graph fp."};
    case Reason::depth_limit:
      return {"have stacks with more frames than are walked",
              "The outermost callers are missing, the inner ones are right; record with more (--max-stack 1024)."};
    default:
      return {"have a stack that ends where call-frame information leads no further",
              "Build it with -fno-omit-frame-pointer, and record with --call-graph fp."};
  }
}

// The walk ended in the outermost module that is known: behind it there may be one address that led nowhere.
void WalkEnds::add(const Profile& profile, model::StackId stack, Reason reason, uint64_t samples) {
  FrameId last;
  FrameId last_mapped;
  for (; stack; stack = profile.stacks[stack].parent) {
    const FrameId frame = profile.stacks[stack].frame;
    if (profile.in_kernel(frame)) continue;
    last = frame;
    if (profile.frames[frame].mapping) last_mapped = frame;
  }
  const FrameId frame = last_mapped ? last_mapped : last;
  const std::string_view module = frame ? place_of(profile, frame) : "the kernel";
  const auto known =
      std::ranges::find_if(rows_, [&](const Row& row) { return row.module == module && row.reason == reason; });
  if (known != rows_.end()) {
    known->samples += samples;
  } else {
    rows_.push_back({module, reason, samples});
  }
}

std::vector<WalkEnds::Row> WalkEnds::rows() const {
  std::vector<Row> sorted = rows_;
  std::ranges::sort(sorted, [](const Row& a, const Row& b) {
    return std::tie(b.samples, a.module, a.reason) < std::tie(a.samples, b.module, b.reason);
  });
  return sorted;
}

uint64_t WalkEnds::total() const {
  uint64_t sum = 0;
  for (const Row& row : rows_) sum += row.samples;
  return sum;
}

}  // namespace tephra::analysis
