#include "analysis/wakers.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/added_frames.h"
#include "analysis/wall.h"
#include "base/number_hash.h"
#include "model/kept_samples.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

using model::FrameId;
using model::Profile;
using model::StackId;

bool any(const std::vector<char>& rows) { return std::ranges::find(rows, 1) != rows.end(); }

// The number that a row has under a label; 0: none.
uint64_t number_of(const Profile& profile, size_t row, std::string_view key) {
  if (profile.samples.labels.empty()) return 0;
  for (const model::Label& label : profile.label_sets[profile.samples.labels[row]].labels) {
    if (profile.text(label.key) == key) return static_cast<uint64_t>(label.number);
  }
  return 0;
}

struct Waker {
  StackId stack;
  model::StringId comm;
  uint64_t woken_by = 0;
};
using Wakers = std::unordered_map<uint64_t, Waker, base::NumberHash>;

Wakers find_wakers(const Profile& profile, const std::vector<char>& rows) {
  Wakers wakers;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == 0) continue;
    const model::StringId comm = profile.threads[profile.samples.thread[row]].comm;
    wakers.try_emplace(number_of(profile, row, stream::kWakerLabel),
                       Waker{profile.samples.stack[row], comm, number_of(profile, row, stream::kWokenByLabel)});
  }
  wakers.erase(0);
  return wakers;
}

// How a recording of wakeups gets there.
constexpr auto kOfRecorder = std::to_array<std::string_view>(
    {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_", "trace_event_raw_", "perf_trace_"});
// Where the kernel enters an interrupt: what is further out was stopped by it.
constexpr auto kInterrupts = std::to_array<std::string_view>(
    {"asm_sysvec_", "asm_common_interrupt", "apic_timer_interrupt", "ret_from_intr", "el1h_64_irq", "el0t_64_irq"});

bool begins_like_one_of(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Puts stacks of wakers onto others.
class WakerStacks {
 public:
  WakerStacks(Profile& profile, const Wakers& wakers) : profile_(profile), wakers_(wakers) {}

  StackId above(StackId stack, uint64_t number) {
    for (int level = 0; level < kMostWakers; ++level) {
      const auto waker = wakers_.find(number);
      if (waker == wakers_.end()) break;
      const Way& way = way_of(waker->second.stack);
      stack = child(stack, separator(waker->second.comm, way.is_interrupt));
      for (const FrameId frame : way.frames) stack = child(stack, frame);
      if (way.is_interrupt) break;
      number = waker->second.woken_by;
    }
    return stack;
  }

 private:
  // The frames of a waker that woke, innermost first.
  struct Way {
    std::vector<FrameId> frames;
    bool is_interrupt = false;
  };

  // What the recorder itself added innermost is left out, and what an interrupt only happened to stop.
  const Way& way_of(StackId stack) {
    const auto [known, is_new] = ways_.try_emplace(stack.value);
    Way& way = known->second;
    if (!is_new) return way;
    for (; stack && !way.is_interrupt; stack = profile_.stacks[stack].parent) {
      const FrameId frame = profile_.stacks[stack].frame;
      const std::string_view name = profile_.in_kernel(frame) ? profile_.function_name(frame) : std::string_view();
      if (way.frames.empty() && begins_like_one_of(name, kOfRecorder)) continue;
      way.frames.push_back(frame);
      way.is_interrupt = begins_like_one_of(name, kInterrupts);
    }
    return way;
  }

  FrameId separator(model::StringId comm, bool is_interrupt) {
    const auto [at, is_new] = separators_.try_emplace(is_interrupt ? UINT32_MAX : comm.value);
    if (is_new) {
      const std::string_view name = is_interrupt ? "an interrupt" : profile_.text(comm);
      at->second = add_frame(std::string(kWokenBy).append(name).append("]"), profile_);
    }
    return at->second;
  }

  StackId child(StackId parent, FrameId frame) {
    const auto [at, is_new] = children_.try_emplace(uint64_t{parent.value} << 32 | frame.value);
    if (is_new) at->second = profile_.stacks.add({parent, frame});
    return at->second;
  }

  Profile& profile_;
  const Wakers& wakers_;
  std::unordered_map<uint32_t, FrameId, base::NumberHash> separators_;  // by name of the thread
  std::unordered_map<uint32_t, Way, base::NumberHash> ways_;            // by stack
  std::unordered_map<uint64_t, StackId, base::NumberHash> children_;    // by parent and frame
};

}  // namespace

bool has_wakers(const Profile& profile) {
  const auto is_wakers = [&](const model::Event& event) { return profile.text(event.name) == stream::kWakersEvent; };
  if (std::ranges::none_of(profile.events, is_wakers)) return false;
  return any(model::samples_of(profile, stream::kWakersEvent)) &&
         (any(model::samples_of(profile, stream::kWaitEvent)) || any(model::samples_of(profile, kWallEvent)));
}

Profile without_wakers(Profile profile) {
  std::vector<char> kept = model::samples_of(profile, stream::kWakersEvent);
  for (char& row : kept) row = row == 0;
  model::keep_samples(kept, profile.samples);
  return profile;
}

// Waits are known by the number of their waker, which those that are part of another event have, too.
Profile join_wakers(Profile profile) {
  if (!has_wakers(profile)) return profile;
  const Wakers wakers = find_wakers(profile, model::samples_of(profile, stream::kWakersEvent));
  profile = without_wakers(std::move(profile));
  WakerStacks stacks(profile, wakers);
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    StackId& stack = profile.samples.stack[row];
    stack = stacks.above(stack, number_of(profile, row, stream::kWakerLabel));
  }
  return profile;
}

}  // namespace tephra::analysis
