#include "collect/stack_choice.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/units.h"
#include "collect/ring_sizes.h"
#include "collect/target_frames.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kCopiedBytesASecond = 32 << 20;

bool any_walked(const std::vector<kernel::EventSpec>& events, const SampleSettings& settings) {
  return std::any_of(events.begin(), events.end(),
                     [&](const auto& event) { return why_not_walked(event, settings).empty(); });
}

// Whether the kernel has found the size of a sample's page by the time that a program runs on it: since Linux 6.3.
bool sizes_come_first() {
  utsname names{};
  unsigned major = 0;
  unsigned minor = 0;
  if (::uname(&names) != 0 || std::sscanf(names.release, "%u.%u", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 3);
}

// Whether samples may come at any rate.
bool any_period(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events) {
  return settings.period || std::any_of(events.begin(), events.end(), [](const auto& event) { return event.period; });
}

// One ring, of what all CPUs have.
uint64_t walk_ring_bytes(bool any_period, std::optional<uint64_t> ring_bytes) {
  constexpr uint64_t kLeast = 4 << 20;
  constexpr uint64_t kMost = 64 << 20;
  const uint64_t cpus = kernel::present_cpu_count();
  if (ring_bytes) return std::bit_ceil(std::min(*ring_bytes, kMost) * cpus);
  // It cannot grow.
  const uint64_t usual = std::clamp(std::bit_ceil(cpus << 20), kLeast, kMost);
  return any_period ? 4 * usual : usual;
}

base::Result<std::unique_ptr<kernel::StackProgram>> load_program(const SampleSettings& settings,
                                                                 const std::vector<kernel::EventSpec>& events,
                                                                 std::optional<uint64_t> ring_bytes) {
  const uint64_t rate = samples_a_second(events, settings);
  kernel::StackProgram::Settings wanted;
  wanted.kernel_stacks = settings.kernel_stacks;
  wanted.user_stacks = settings.user_stacks;
  wanted.also_raw = settings.check_walks;
  if (settings.max_stack) wanted.max_frames = *settings.max_stack;
  wanted.ring_bytes = walk_ring_bytes(any_period(settings, events), ring_bytes);
  wanted.page_faults = std::any_of(events.begin(), events.end(), [](const auto& event) { return event.tells_page; });
  wanted.copies_at_once = copies_at_once(ring_bytes.value_or(copy_ring_bytes(rate)));
  return kernel::StackProgram::load(wanted);
}

// What is missing and how to get it, as the end of a sentence and a sentence.
std::string because(const base::Error& error) {
  return fmt::format("{}{}{}", error.why.empty() ? error.what : error.why, error.fix.empty() ? "" : ". ", error.fix);
}

// What is collected has no copies of stacks, and no branches: those would be too many.
CallGraph collected_stacks(CallGraph wanted) {
  return wanted == CallGraph::kNone ? CallGraph::kNone : CallGraph::kFramePointers;
}

// What is left where nothing can be walked in the kernel.
StackChoice choose_without_bpf(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events,
                               const Target& target, const std::string& why) {
  StackChoice choice;
  const TargetFrames frames = survey_target(target);
  const bool precise = std::any_of(events.begin(), events.end(), [](const auto& event) { return event.precise > 0; });
  const bool copies = frames.known && !frames.kept && settings.user_stacks && !precise;
  choice.of_events.assign(events.size(), copies ? CallGraph::kDwarf : CallGraph::kFramePointers);
  // Those are taken by a program in the kernel anyway.
  for (size_t at = 0; at < events.size(); ++at) {
    if (events[at].collected) choice.of_events[at] = CallGraph::kFramePointers;
  }
  choice.stack_bytes = settings.stack_bytes;
  if (copies) {
    choice.stack_bytes = stack_bytes_for(samples_a_second(events, settings));
    choice.adapts = settings.copies_may_grow;
    if (choice.adapts) choice.stack_bytes = std::min(choice.stack_bytes, kFirstStackBytes);
    choice.why = fmt::format(
        "stacks are copied, {} each{} (--call-graph dwarf,{}): {} keeps no frame pointers, and they "
        "cannot be walked in the kernel: {}",
        base::bytes_text(choice.stack_bytes), choice.adapts ? " at first" : "", choice.stack_bytes, frames.without,
        why);
    return choice;
  }
  const char* const kept = frames.known ? "which this program and its libraries keep" : "which code may lack";
  choice.why = fmt::format(
      "stacks are taken by frame pointers, {} (--call-graph fp): they cannot be walked in the "
      "kernel: {}",
      kept, why);
  return choice;
}

void choose_bpf(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events, const Note& note,
                StackChoice& choice) {
  for (size_t at = 0; at < events.size(); ++at) {
    const std::string why_not = why_not_walked(events[at], settings);
    choice.of_events[at] = why_not.empty() ? CallGraph::kBpf : CallGraph::kFramePointers;
    if (!why_not.empty())
      note(fmt::format("the stacks of {} are taken by frame pointers: {}", events[at].name, why_not));
  }
}

}  // namespace

std::string why_not_walked(const kernel::EventSpec& event, const SampleSettings& settings) {
  if (!settings.user_stacks) return "user stacks are not wanted";
  if (event.collected) return {};
  if (event.tracepoint()) return "tracepoints carry data that the program in the kernel does not take";
  if (event.bpf_output()) return "it has no stack of its own";
  if (event.leader_samples) return "its samples hold the counts of a group (:S)";
  if (event.tells_page && !sizes_come_first()) return "sizes of pages are known too late for that before Linux 6.3";
  if (event.precise > 0) return "it is precise (:p), and registers would be those of a later moment";
  if (settings.raw || settings.addresses || settings.physical_addresses || settings.data_page_size ||
      settings.code_page_size || settings.weights || settings.cgroups || settings.branch_types != 0) {
    return "its samples hold more than stacks";
  }
  return {};
}

uint64_t samples_a_second(const std::vector<kernel::EventSpec>& events, const SampleSettings& settings) {
  uint64_t rate = 0;
  for (const auto& event : events) {
    // What a period amounts to is not known beforehand: the usual rate stands for it.
    rate += event.frequency.value_or(settings.frequency.value_or(settings.default_frequency));
  }
  return rate;
}

uint32_t stack_bytes_for(uint64_t samples_a_second) {
  constexpr uint64_t kLeast = kDefaultStackBytes;
  constexpr uint64_t kMost = kMaxStackBytes;
  return static_cast<uint32_t>(
      std::clamp(kCopiedBytesASecond / std::max<uint64_t>(1, samples_a_second) / 8 * 8, kLeast, kMost));
}

base::Result<StackChoice> choose_stacks(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events,
                                        const Target& target, std::optional<uint64_t> ring_bytes, const Note& note) {
  StackChoice choice;
  choice.of_events.assign(events.size(), settings.call_graph);
  choice.stack_bytes = settings.stack_bytes;
  const bool automatic = settings.call_graph == CallGraph::kAuto;
  if (!automatic && settings.call_graph != CallGraph::kBpf) {
    for (size_t at = 0; at < events.size(); ++at) {
      if (events[at].collected) choice.of_events[at] = collected_stacks(settings.call_graph);
    }
    return choice;
  }
  if (!any_walked(events, settings)) {
    const std::string why = events.empty() ? "there is no event" : why_not_walked(events[0], settings);
    if (!automatic) {
      return base::usage_error("--call-graph bpf cannot take these stacks", events[0].name, why,
                               "Use --call-graph auto, fp or dwarf.");
    }
    if (!events.empty() && settings.user_stacks) {
      return choose_without_bpf(settings, events, target, fmt::format("{} ({})", why, events[0].name));
    }
    std::fill(choice.of_events.begin(), choice.of_events.end(), CallGraph::kFramePointers);
    return choice;
  }
  auto program = load_program(settings, events, ring_bytes);
  if (!program && !automatic) return std::move(program).error();
  if (!program) return choose_without_bpf(settings, events, target, because(program.error()));
  choice.program = std::move(*program);
  choice.ring_bytes = copy_ring_bytes(samples_a_second(events, settings));
  choose_bpf(settings, events, note, choice);
  if (automatic) choice.why = "stacks are walked in the kernel by call-frame tables (--call-graph bpf)";
  return choice;
}

StackChoice choose_unwalked(const SampleSettings& settings, const std::vector<kernel::EventSpec>& events,
                            const Target& target, const base::Error& refusal) {
  return choose_without_bpf(settings, events, target, refusal.why.empty() ? refusal.what : refusal.why);
}

}  // namespace tephra::collect
