#include "analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "analysis/terminal_text.h"
#include "analysis/told_verdict.h"
#include "analysis/verdict_limits.h"
#include "analysis/walk_ends.h"
#include "analysis/wall.h"
#include "base/units.h"
#include "model/entry_names.h"
#include "model/event_weight.h"
#include "model/kept_samples.h"
#include "model/merge.h"
#include "model/reading_notes.h"
#include "stream/fault_reading.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

using model::Frame;
using model::FrameId;
using model::Profile;
using model::Reason;
using model::StackId;

constexpr size_t kMostStackEnds = 12;  // that are printed
constexpr std::string_view kSamples = "samples";
constexpr double kMuchTimeOff = 0.2;   // of a thread's time: what is shown is not what it did
constexpr uint64_t kFewSamples = 100;  // below, the line says how uncertain shares are

std::string percent(double share) {
  if (share > 0 && share < 0.001) return "under 0.1 %";
  if (share > 0.999 && share < 1) return "99.9 %";  // never round up to all
  return fmt::format("{:.{}f} %", share * 100, share == 0 || share == 1 ? 0 : 1);
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t count_of(const Verdict& verdict, Reason reason) {
  const auto counted = verdict.reasons.find(model::kReasonNames[static_cast<size_t>(reason)]);
  return counted == verdict.reasons.end() ? 0 : counted->second;
}

bool steal_is_notable(const Verdict& verdict) { return verdict.steal.value_or(0) >= kNotableSteal; }

std::string steal_text(const Verdict& verdict) {
  return fmt::format("the hypervisor took {} of CPU time (steal)", percent(*verdict.steal));
}

// What is known of each stack, found in one pass over the tree: parents come before children.
struct StackFacts {
  FrameId outermost;
  FrameId innermost_user;
  FrameId innermost_undescribed;  // of those in files that have a caller
  bool caller_without_frame = false;
};

// Whether the caller of whatever runs in `frame` may be missing from a stack taken by frame pointers.
bool loses_its_caller(const Frame& frame) {
  return (frame.facts & model::kFrameNotSetUp) && !(frame.facts & model::kOutermost);
}

std::vector<StackFacts> examine_stacks(const Profile& profile) {
  std::vector<StackFacts> facts(profile.stacks.size());
  for (uint32_t i = 1; i < facts.size(); ++i) {
    const model::Stack& stack = profile.stacks[StackId{i}];
    StackFacts fact = facts[stack.parent.value];
    if (!stack.parent) fact.outermost = stack.frame;
    // A row at the same address is an inlined function, not something that was called.
    if (fact.innermost_user && fact.innermost_user != fact.outermost && !profile.frames[stack.frame].inlined) {
      const bool lost = loses_its_caller(profile.frames[fact.innermost_user]);
      fact.caller_without_frame = fact.caller_without_frame || (lost && !profile.in_kernel(stack.frame));
    }
    if (!profile.in_kernel(stack.frame)) fact.innermost_user = stack.frame;
    const bool undescribed = profile.frames[stack.frame].facts & model::kNotDescribed;
    if (undescribed && stack.parent && !profile.in_kernel(stack.frame)) fact.innermost_undescribed = stack.frame;
    facts[i] = fact;
  }
  return facts;
}

// Text formats tell names only: the second frame counts too, since the first often is the thread's name.
bool imported_rooted(const Profile& profile, StackId stack) {
  std::array<FrameId, 2> outer{};
  for (; stack; stack = profile.stacks[stack].parent) outer = {profile.stacks[stack].frame, outer[0]};
  return std::any_of(outer.begin(), outer.end(),
                     [&](FrameId frame) { return frame && model::is_entry_name(profile.function_name(frame)); });
}

// Whether call-frame information says of a frame that it has a caller. A walk by the rules of other code, which was
// there before, may find a zero where the return address is not, and take that for the end.
bool has_caller(const Profile& profile, FrameId frame) {
  const Frame& row = profile.frames[frame];
  return profile.code_kind(frame) == model::CodeKind::kFile && row.function &&
         !(row.facts & (model::kOutermost | model::kNotDescribed));
}

bool is_rooted(const Profile& profile, const StackFacts& facts, size_t sample) {
  if (!facts.outermost) return false;
  if (walk_end(profile.samples, sample) == TEPHRA_WALK_OUTERMOST) return !has_caller(profile, facts.outermost);
  if (profile.code_kind(facts.outermost) == model::CodeKind::kImported) {
    return imported_rooted(profile, profile.samples.stack[sample]);
  }
  // A kernel entry is the root of kernel threads alone; a user thread has callers behind it.
  if (profile.in_kernel(facts.outermost)) return profile.threads[profile.samples.thread[sample]].kernel_thread;
  return profile.frames[facts.outermost].facts & model::kOutermost;
}

bool is_caller_unsure(const Profile& profile, const StackFacts& facts) {
  return facts.innermost_user && loses_its_caller(profile.frames[facts.innermost_user]);
}

// Samples by the name of a module, for saying where something goes wrong.
using ByModule = std::map<std::string_view, uint64_t>;

std::string worst(const ByModule& modules) {
  std::vector<std::pair<uint64_t, std::string_view>> sorted;
  for (const auto& [name, count] : modules) sorted.emplace_back(count, name);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < sorted.size() && i < 3; ++i) {
    text += i == 0 ? "" : ", ";
    text += printable(sorted[i].second);
  }
  return text;
}

struct Findings {
  uint64_t rooted = 0;
  uint64_t frames = 0;
  uint64_t named = 0;
  uint64_t caller_without_frame = 0;
  uint64_t caller_guessed = 0;
  ByModule unrooted_in;
  ByModule unsure_in;
  ByModule guessed_in;
  ByModule stripped;  // that have frames without a name, and could be looked into
  ByModule not_at_hand;
  WalkEnds walk_ends;
};

// Where a frame without a name counts; null where it has one, or no file whose symbols could be installed. Code that
// nothing describes is of a file that is gone or another now, if there are such files.
ByModule* unnamed_of(const Profile& profile, FrameId id, Findings& findings) {
  const Frame& frame = profile.frames[id];
  const model::CodeKind kind = profile.code_kind(id);
  if (profile.functions[frame.function].named || !frame.mapping) return nullptr;
  if (kind == model::CodeKind::kAnonymous || kind == model::CodeKind::kJit) return nullptr;
  const auto& quality = profile.quality;
  if (profile.in_kernel(id)) {
    const bool hidden = quality[Reason::kernel_symbols_hidden] + quality[Reason::kernel_mismatch] > 0;
    return hidden ? nullptr : &findings.stripped;
  }
  const bool files_lack = quality[Reason::file_missing] + quality[Reason::build_id_mismatch] > 0;
  return files_lack && (frame.facts & model::kNotDescribed) ? &findings.not_at_hand : &findings.stripped;
}

// How many samples go through each row of the stack tree.
std::vector<uint64_t> samples_through(const Profile& profile) {
  std::vector<uint64_t> through(profile.stacks.size());
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    through[profile.samples.stack[i].value] += profile.samples.count[i];
  }
  for (uint32_t i = static_cast<uint32_t>(through.size()); i-- > 1;) {
    through[profile.stacks[StackId{i}].parent.value] += through[i];
  }
  return through;
}

// Also how many frames there are, seen by samples.
void count_unnamed(const Profile& profile, const std::vector<uint64_t>& through, Findings& findings) {
  std::vector<uint64_t> by_frame(profile.frames.size());
  for (uint32_t i = 1; i < through.size(); ++i) by_frame[profile.stacks[StackId{i}].frame.value] += through[i];
  for (uint32_t i = 1; i < by_frame.size(); ++i) {
    findings.frames += by_frame[i];
    if (profile.functions[profile.frames[FrameId{i}].function].named) findings.named += by_frame[i];
    ByModule* const modules = by_frame[i] == 0 ? nullptr : unnamed_of(profile, FrameId{i}, findings);
    if (modules != nullptr) (*modules)[place_of(profile, FrameId{i})] += by_frame[i];
  }
}

Findings examine_recorded(const Profile& profile, Verdict& verdict) {
  const auto stacks = examine_stacks(profile);
  Findings findings;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const tephra_walk_end end = walk_end(profile.samples, i);
    const bool frame_pointers = profile.facts.engine == model::kEngineFramePointers && end == TEPHRA_WALK_NOT_TOLD;
    const StackFacts& facts = stacks[profile.samples.stack[i].value];
    const uint64_t count = profile.samples.count[i];
    verdict.samples += count;
    if (is_rooted(profile, facts, i)) {
      findings.rooted += count;
    } else if (end == TEPHRA_WALK_OUTERMOST) {
      findings.walk_ends.add(profile, profile.samples.stack[i], Reason::walk_implausible, count);
    } else if (const auto reason = reason_of(end)) {
      findings.walk_ends.add(profile, profile.samples.stack[i], *reason, count);
    } else if (facts.outermost) {
      findings.unrooted_in[place_of(profile, facts.outermost)] += count;
    }
    if (frame_pointers && is_caller_unsure(profile, facts)) {
      verdict.caller_unsure += count;
      findings.unsure_in[place_of(profile, facts.innermost_user)] += count;
    }
    if (frame_pointers && facts.caller_without_frame) findings.caller_without_frame += count;
    if (caller_guessed(profile.samples, i)) {
      findings.caller_guessed += count;
      if (facts.innermost_undescribed) findings.guessed_in[place_of(profile, facts.innermost_undescribed)] += count;
    }
  }
  count_unnamed(profile, samples_through(profile), findings);
  return findings;
}

// Whether a row is the first that shows where an imported stack begins: at an entry of a program or thread. Where names
// are all there is the second frame counts too, since the first often is the thread's name.
bool shows_root(const Profile& profile, const model::Stack& row) {
  const auto is_entry = [&](FrameId frame) { return model::is_entry_name(profile.function_name(frame)); };
  const model::Stack& caller = profile.stacks[row.parent];
  const FrameId outermost = row.parent ? caller.frame : row.frame;
  if (caller.parent) return false;
  if (profile.code_kind(outermost) != model::CodeKind::kImported) {
    return !row.parent && !profile.in_kernel(outermost) && (profile.frames[outermost].facts & model::kOutermost);
  }
  return is_entry(row.frame) && (!row.parent || !is_entry(caller.frame));
}

// What others recorded may be of any size and has nothing to tell of how stacks were taken: sums alone are needed.
Findings examine_imported(const Profile& profile, Verdict& verdict) {
  Findings findings;
  const std::vector<uint64_t> through = samples_through(profile);
  verdict.samples = model::totals(profile).count;
  for (uint32_t i = 1; i < through.size(); ++i) {
    const model::Stack& row = profile.stacks[StackId{i}];
    if (!profile.stacks[row.parent].parent && shows_root(profile, row)) findings.rooted += through[i];
  }
  count_unnamed(profile, through, findings);
  return findings;
}

Findings examine(const Profile& profile, Verdict& verdict) {
  return verdict.engine == model::kEngineImported ? examine_imported(profile, verdict)
                                                  : examine_recorded(profile, verdict);
}

// What is counted where rows tell no number: what they are.
std::string_view name_of_rows(const Profile& profile, const model::Event& event) {
  constexpr std::string_view kSpans = "spans";
  return profile.text(event.name) == kSpans ? kSpans : "rows";
}

// "objects" of "inuse_objects", which were estimated from samples.
std::string_view counted_by(const Profile& profile, const model::Event& event) {
  if (model::counts_samples(event)) return kSamples;
  if (event.uncounted) return name_of_rows(profile, event);
  const std::string_view name = profile.text(event.counted);
  return name.substr(name.rfind('_') + 1);
}

// What the counts of all events with samples are of, where they agree.
std::string_view counted_by(const Profile& profile) {
  std::vector<bool> seen(profile.events.size());
  for (const model::EventId event : profile.samples.event) seen[event.value] = true;
  std::string_view counted;
  for (uint32_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) continue;
    const std::string_view of_event = counted_by(profile, profile.events[model::EventId{i}]);
    if (!counted.empty() && counted != of_event) return "counts";
    counted = of_event;
  }
  return counted.empty() ? kSamples : counted;
}

// Stacks and names do not tell all that was wrong when they were recorded; profiles of tephra's say it.
std::optional<ToldVerdict> verdict_of_origin(const Profile& profile) {
  const std::string& engine = profile.facts.engine;
  if (engine != model::kEngineImported && engine != model::kEngineSeveral) return std::nullopt;
  return told_verdict(profile.facts.comments);
}

bool takes_stacks(std::string_view engine) { return engine != "none" && engine != model::kEngineImported; }

void collect_reasons(const Profile& profile, Verdict& verdict, const Findings& findings) {
  model::Quality quality = profile.quality;
  if (takes_stacks(verdict.engine)) quality[Reason::root_not_reached] += verdict.samples - findings.rooted;
  for (const WalkEnds::Row& row : findings.walk_ends.rows()) {
    quality[row.reason] += row.samples;
    const std::string_view reason = model::kReasonNames[static_cast<size_t>(row.reason)];
    verdict.stack_ends.push_back({printable(row.module), reason, row.samples});
  }
  quality[Reason::leaf_without_frame] += verdict.caller_unsure;
  quality[Reason::caller_without_frame] += findings.caller_without_frame;
  quality[Reason::caller_guessed] += findings.caller_guessed;
  for (size_t i = 0; i < model::kReasonCount; ++i) {
    if (quality.reasons[i] != 0) verdict.reasons[model::kReasonNames[i]] = quality.reasons[i];
  }
}

// How bad one figure is by itself: 0 within the limits of good, 1 within those of fair, 2 beyond.
int badness_above(double value, double Limits::*limit) {
  return value <= kGoodLimits.*limit ? 0 : value <= kFairLimits.*limit ? 1 : 2;
}
int badness_below(double value, double Limits::*limit) {
  return value >= kGoodLimits.*limit ? 0 : value >= kFairLimits.*limit ? 1 : 2;
}

class Advisor {
 public:
  Advisor(const Profile& profile, Verdict& verdict, const Findings& findings)
      : profile_(profile), verdict_(verdict), findings_(findings) {}

  // The worst comes first: what costs the grade, then by the share of samples it touches.
  void advise() {
    advise_on_origin();
    advise_on_file();
    advise_on_loss();
    advise_on_times();
    advise_on_steal();
    advise_on_stacks();
    advise_on_names();
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::tie(a.badness, a.share) > std::tie(b.badness, b.share);
    });
    for (Found& item : found_) verdict_.advice.push_back(std::move(item.advice));
  }

 private:
  struct Found {
    int badness;
    double share;
    Verdict::Advice advice;
  };

  uint64_t count(Reason reason) const { return profile_.quality[reason]; }
  double of_all(uint64_t part) const { return share(part, verdict_.samples); }
  std::string of_samples(uint64_t part) const { return percent(of_all(part)) + " of samples"; }
  void add(int badness, double part, std::string problem, std::string fix) {
    found_.push_back({badness, part, {std::move(problem), std::move(fix)}});
  }

  void advise_on_origin() {
    const auto told = verdict_of_origin(profile_);
    if (!told) return;
    add(told->grade == Grade::kPoor ? 2 : 1, 1,
        fmt::format("{} was judged {}", told->joined ? "some of what was joined" : "what was converted to this",
                    grade_name(told->grade)),
        fmt::format("{}{}", kVerdictRepeated, told->figures));
  }

  void advise_on_file() {
    if (count(Reason::file_truncated) > 0) {
      add(1, 1, "the recording was cut off; what is missing is not known",
          "Record again, and let the recorder end by itself or with Ctrl-C.");
    }
    if (const uint64_t fractions = count(Reason::fractions_dropped); fractions > 0) {
      add(1, of_all(fractions),
          fmt::format("the fractions of {} counts were dropped", base::with_separators(fractions)),
          "Scale the counts to whole numbers.");
    }
    if (const uint64_t damaged = count(Reason::malformed_records); damaged > 0) {
      add(1, of_all(damaged), fmt::format("{} records could not be read", base::with_separators(damaged)),
          "Record again; if it happens again, the file was damaged on its way.");
    }
    if (const uint64_t strange = count(Reason::unknown_event); strange > 0) {
      add(1, of_all(strange),
          fmt::format("{} samples are of events that the file does not describe", base::with_separators(strange)),
          "Record again; the file's header is damaged.");
    }
  }

  void advise_on_loss() {
    if (const double lost = share(verdict_.lost, verdict_.samples + verdict_.lost); verdict_.lost > 0) {
      add(badness_above(lost, &Limits::lost), lost,
          fmt::format("{} samples were lost because the recorder came too late", base::with_separators(verdict_.lost)),
          "Record with a larger buffer (-m 4M) or at a lower rate (-F).");
    }
    if (verdict_.throttled > 0) {
      add(badness_above(of_all(verdict_.throttled), &Limits::throttled), of_all(verdict_.throttled),
          fmt::format("the kernel stopped sampling {} times because it took too long",
                      base::with_separators(verdict_.throttled)),
          "Record at a lower rate (-F), or raise kernel.perf_cpu_time_max_percent.");
    }
  }

  void advise_on_times() {
    const auto& account = verdict_.time_account;
    if (!account || account->off == 0) return;
    add(account->worst > kMuchTimeOff ? 2 : 1, account->worst,
        fmt::format("what is told of thread {} comes to {} of the {} that it was there", account->worst_tid,
                    base::duration_text(account->worst_told_ns), base::duration_text(account->worst_life_ns)),
        "Its time is not all recorded, or some twice; the recorder's notes may say why. Record again.");
  }

  void advise_on_steal() {
    if (!steal_is_notable(verdict_)) return;
    add(0, *verdict_.steal, steal_text(verdict_),
        "Times are longer than the work was; compare shares, or measure while the host is less busy.");
  }

  void advise_on_stacks() {
    if (const uint64_t without = count(Reason::stacks_not_recorded); without > 0) {
      return add(1, of_all(without), "no call stacks were recorded, so callers are not shown", "Record with -g.");
    }
    if (const uint64_t copies = count(Reason::stack_copy_not_unwound); copies > 0) {
      add(2, of_all(copies),
          fmt::format("{} carry a copy of the user stack that is not unwound, so user callers are missing",
                      of_samples(copies)),
          "Read it with a tephra for x86-64 or ARM64 recordings, or record with --call-graph fp.");
    }
    advise_on_walks();
    const uint64_t unrooted = verdict_.samples - findings_.rooted - findings_.walk_ends.total();
    if (unrooted > 0 && verdict_.engine == model::kEngineBranches) {
      add(badness_below(verdict_.stacks_rooted, &Limits::rooted), of_all(unrooted),
          fmt::format("{} have a stack that is deeper than the processor's record of calls", of_samples(unrooted)),
          "Read it with --stitch-lbr, or record with --call-graph bpf or dwarf.");
    } else if (unrooted > 0 && verdict_.engine != model::kEngineImported) {
      const std::string where = worst(findings_.unrooted_in);
      add(badness_below(verdict_.stacks_rooted, &Limits::rooted), of_all(unrooted),
          fmt::format("{} have a stack that ends too early{}{}", of_samples(unrooted), where.empty() ? "" : ", in ",
                      where),
          "These are compiled without frame pointers; " + instead_of_frame_pointers());
    }
    if (verdict_.caller_unsure > 0) {
      add(badness_above(of_all(verdict_.caller_unsure), &Limits::caller_unsure), of_all(verdict_.caller_unsure),
          fmt::format("{} lack the direct caller of the leaf, in {}", of_samples(verdict_.caller_unsure),
                      worst(findings_.unsure_in)),
          "The leaf had not set up its frame pointer there; the callers further out are right. To have it, record with "
          "--call-graph bpf or --call-graph dwarf.");
    }
    if (const uint64_t through = findings_.caller_without_frame; through > 0) {
      add(badness_above(of_all(through), &Limits::caller_unsure), of_all(through),
          fmt::format("{} pass through code without frame pointers, whose caller may be missing", of_samples(through)),
          "Record with --call-graph bpf or --call-graph dwarf, or build it with -fno-omit-frame-pointer.");
    }
    if (const uint64_t guessed = findings_.caller_guessed; guessed > 0) {
      const std::string where = worst(findings_.guessed_in);
      add(std::min(badness_above(of_all(guessed), &Limits::caller_unsure), 1), of_all(guessed),
          fmt::format("{} have a caller that was guessed by frame pointer{}{}", of_samples(guessed),
                      where.empty() ? "" : ", in ", where),
          "No call-frame information of this code was at hand. That is right where the code keeps frame pointers, as "
          "V8's does; elsewhere a caller may be missing.");
    }
    if (const uint64_t cut = count(Reason::depth_limit); cut > 0) {
      add(badness_above(of_all(cut), &Limits::truncated), of_all(cut),
          fmt::format("{} have stacks deeper than the kernel's limit", of_samples(cut)),
          "Record with --call-graph bpf, or raise it: sysctl kernel.perf_event_max_stack=512.");
    }
  }

  // Engines that need none are at hand where this one was taken.
  std::string instead_of_frame_pointers() const {
    return verdict_.engine == model::kEngineFramePointers
               ? "record with --call-graph bpf or --call-graph dwarf, or build with -fno-omit-frame-pointer."
               : "build with -fno-omit-frame-pointer.";
  }

  // How to take fewer stacks of what is shown: not all of it has a rate.
  std::string fewer_stacks(std::string_view usual) const {
    const auto& events = profile_.samples.event;
    const std::string_view event = events.empty() ? "" : profile_.text(profile_.events[events[0]].name);
    if (event == stream::kResidentMemory) {
      return "Take one fault in several (--period 10), or record fewer processes at once.";
    }
    const auto begins = [&](std::string_view begin) { return event.starts_with(begin); };
    static constexpr std::array<std::string_view, 4> kSummedUp{"syscall-", "tcp-", "block-", "file-"};
    if (event == stream::kWaitEvent || event == kWallEvent || std::ranges::any_of(kSummedUp, begins)) {
      return "These are mostly of the first milliseconds of a process: record longer, or attach to it once it runs "
             "(-p).";
    }
    return std::string(usual);
  }

  // One piece of advice a reason, with the modules in which walks ended for it.
  void advise_on_walks() {
    std::map<Reason, ByModule> by_reason;
    for (const WalkEnds::Row& row : findings_.walk_ends.rows()) by_reason[row.reason][row.module] += row.samples;
    for (const auto& [reason, modules] : by_reason) {
      uint64_t samples = 0;
      for (const auto& [module, count] : modules) samples += count;
      const WalkAdvice advice = walk_advice(reason);
      add(badness_below(verdict_.stacks_rooted, &Limits::rooted), of_all(samples),
          fmt::format("{} {}, in {}", of_samples(samples), advice.problem, worst(modules)),
          reason == Reason::stack_not_copied ? fewer_stacks(advice.fix) : std::string(advice.fix));
    }
  }

  void advise_on_names() {
    const int badness = badness_below(verdict_.frames_named, &Limits::named);
    const auto because = [&](Reason reason, const char* problem, const char* fix) {
      if (count(reason) > 0) add(badness, share(count(reason), findings_.frames), problem, fix);
    };
    because(Reason::kernel_symbols_hidden, "kernel functions have no names because their addresses are hidden",
            "Run as root or with CAP_SYSLOG, or: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1.");
    because(Reason::kernel_mismatch,
            "kernel functions have no names because the recording is of another kernel or boot",
            "Read the recording on the machine, and in the boot, that made it.");
    because(Reason::build_id_mismatch, "files on disk are not those that ran, and were not used for names",
            "Put the files that ran back, or record again; recordings of tephra hold the names unless made with "
            "--no-embed.");
    if (const uint64_t unproven = count(Reason::file_unproven); unproven > 0) {
      add(0, share(unproven, findings_.frames),
          "some names are from files of which the profile holds no build id, and which may not be those that ran",
          "Record with tephra record, or with perf record --buildid-all; link with --build-id where a file has none.");
    }
    because(Reason::jit_code_unnamed, "generated code has no names",
            "Let its runtime tell them: node --perf-basic-prof, python3 -X perf (3.12), DOTNET_PerfMapEnabled=1; Java "
            "(17) is asked while recording.");
    // A jitdump has the times of CLOCK_MONOTONIC, which perf does not record with unless it is told to.
    const bool jitdump_clock = profile_.facts.clock == "CLOCK_MONOTONIC";
    because(
        Reason::jit_code_doubtful,
        "some generated code is without a name because its address was used by two functions about then",
        jitdump_clock
            ? "Let its runtime write a jitdump, which has exact times: node --perf-prof, python3 -X perf_jit (3.13)."
            : "Record with tephra, or with perf record -k mono, so that the times of jitdumps tell them apart.");
    if (const uint64_t cut = count(Reason::jit_names_left_out); cut > 0) {
      add(badness, share(count(Reason::jit_code_unnamed), findings_.frames),
          fmt::format("{} with names of generated code, too large or damaged, {} not read to the end",
                      cut == 1 ? "a file" : fmt::format("{} files", base::with_separators(cut)),
                      cut == 1 ? "was" : "were"),
          "Record for a shorter time, or fewer processes.");
    }
    if (const uint64_t left_out = count(Reason::jit_processes_left_out); left_out > 0) {
      add(badness, share(count(Reason::jit_code_unnamed), findings_.frames),
          fmt::format("{} generate code whose names were not kept, since more processes do than are followed",
                      left_out == 1 ? "a process" : fmt::format("{} processes", base::with_separators(left_out))),
          "Record fewer processes at once (-p, -G).");
    }
    if (const uint64_t unproven = count(Reason::jit_map_unproven); unproven > 0) {
      add(0, share(unproven, findings_.frames),
          "names of generated code are from a file found now, which may be of another process or moment",
          jitdump_clock ? "Record with tephra, which stores them with their times."
                        : "Record with tephra, which stores them with their times, or with perf record -k mono and a "
                          "runtime that writes a jitdump.");
    }
    because(Reason::file_missing, "files that ran are not here any more",
            "Read the recording where the files are; recordings of tephra hold the names unless made with --no-embed.");
    advise_on_stripped(badness);
  }

  // The other reasons have advice of their own, and addresses outside every mapping have no file.
  void advise_on_stripped(int badness) {
    const uint64_t explained = count(Reason::kernel_symbols_hidden) + count(Reason::kernel_mismatch) +
                               count(Reason::build_id_mismatch) + count(Reason::file_missing) +
                               count(Reason::jit_code_unnamed) + count(Reason::jit_code_doubtful) +
                               count(Reason::address_not_mapped);
    const uint64_t unnamed = findings_.frames - findings_.named;
    if (badness == 0 || explained >= unnamed) return;
    const std::string where = worst(findings_.stripped.empty() ? findings_.not_at_hand : findings_.stripped);
    if (where.empty()) return;
    const double part = share(unnamed - explained, findings_.frames);
    add(badness, part, fmt::format("{} of frames have no name, in {}", percent(part), where),
        "Install the debug symbols of these files, or build them without stripping.");
  }

  const Profile& profile_;
  Verdict& verdict_;
  const Findings& findings_;
  std::vector<Found> found_;
};

bool within(const Limits& limits, const Verdict& verdict, uint64_t callers_unsure) {
  const bool judge_stacks = takes_stacks(verdict.engine);
  return share(verdict.lost, verdict.samples + verdict.lost) <= limits.lost &&
         share(verdict.throttled, verdict.samples) <= limits.throttled && verdict.frames_named >= limits.named &&
         share(verdict.stacks_truncated, verdict.samples) <= limits.truncated &&
         share(callers_unsure, verdict.samples) <= limits.caller_unsure &&
         (!judge_stacks || verdict.stacks_rooted >= limits.rooted);
}

Grade grade(const Profile& profile, const Verdict& verdict, const Findings& findings) {
  // A missing caller is as wrong inside a stack as at its leaf; a sample may have both.
  const uint64_t callers_unsure = std::max(verdict.caller_unsure, findings.caller_without_frame);
  if (!within(kFairLimits, verdict, callers_unsure)) return Grade::kPoor;
  const bool whole = profile.quality[Reason::file_truncated] == 0 && profile.quality[Reason::fractions_dropped] == 0 &&
                     profile.quality[Reason::malformed_records] == 0 && profile.quality[Reason::unknown_event] == 0 &&
                     profile.quality[Reason::stacks_not_recorded] == 0;
  // A guess may be right, so that it makes nothing poor.
  const bool guesses_are_few = share(findings.caller_guessed, verdict.samples) <= kGoodLimits.caller_unsure;
  return whole && guesses_are_few && within(kGoodLimits, verdict, callers_unsure) ? Grade::kGood : Grade::kFair;
}

}  // namespace

std::string_view grade_name(Grade grade) {
  return grade == Grade::kGood ? "good" : grade == Grade::kFair ? "fair" : "poor";
}

namespace {

// Those that are about what the profile holds.
std::vector<std::string> notes_of(const Profile& profile) {
  std::vector<std::string> notes;
  for (const model::ReadingNote& note : model::reading_notes(profile.facts)) {
    const auto is_of_it = [&](model::EventId id) { return profile.text(profile.events[id].name) == note.event; };
    if (note.event.empty() || std::ranges::any_of(profile.samples.event, is_of_it)) notes.push_back(note.text);
  }
  return notes;
}

}  // namespace

namespace {

Verdict judge_samples(const Profile& profile, const std::optional<model::TimeAccount>& account) {
  Verdict verdict;
  verdict.time_account = account;
  verdict.engine = profile.facts.engine;
  verdict.lost = profile.quality.lost;
  verdict.throttled = profile.quality.throttled;
  verdict.idle = profile.quality.idle;
  verdict.own = profile.quality.own;
  verdict.steal = profile.facts.steal_share;
  verdict.recorder_cpu_seconds = profile.facts.recorder_cpu_seconds;
  verdict.copy_sizes = profile.facts.copy_sizes;
  verdict.stacks_truncated = profile.quality[Reason::depth_limit];
  verdict.counted = printable(counted_by(profile));
  const Findings findings = examine(profile, verdict);
  for (const WalkEnds::Row& row : findings.walk_ends.rows()) {
    if (row.reason == Reason::depth_limit) verdict.stacks_truncated += row.samples;
  }
  // Without stacks there is nothing to be whole.
  verdict.stacks_rooted = verdict.engine == "none" ? 0 : share(findings.rooted, verdict.samples);
  verdict.frames_named = share(findings.named, findings.frames);
  // Of a part of a profile that was converted only about how many is known.
  verdict.names_unproven = std::min(1.0, share(profile.quality[Reason::file_unproven], findings.frames));
  verdict.notes = notes_of(profile);
  collect_reasons(profile, verdict, findings);
  verdict.grade = grade(profile, verdict, findings);
  if (const auto told = verdict_of_origin(profile)) verdict.grade = std::max(verdict.grade, told->grade);
  if (account && account->off > 0) {
    verdict.grade = std::max(verdict.grade, account->worst > kMuchTimeOff ? Grade::kPoor : Grade::kFair);
  }
  Advisor(profile, verdict, findings).advise();
  return verdict;
}

std::string account_text(const model::TimeAccount& account) {
  std::string text = fmt::format("running and waiting of each of {} come to its elapsed time within {:.2f} %",
                                 base::counted(account.threads, "thread"), 100 * account.worst);
  if (account.off > 0) text += fmt::format("; of {} by more than 1 %", base::with_separators(account.off));
  if (account.not_told > 0) {
    text += fmt::format("; of {} it is not known since when", base::counted(account.not_told, "thread"));
  }
  return text;
}

}  // namespace

Verdict judge(const Profile& profile) {
  const std::vector<char> wall = model::samples_of(profile, kWallEvent);
  const bool any_wall = std::ranges::find(wall, 1) != wall.end();
  const auto account = any_wall ? profile.facts.time_account : std::nullopt;
  return has_more_than_wall_clock(profile) ? judge_samples(without_wall_clock(profile), account)
                                           : judge_samples(profile, account);
}

std::string one_line(const Verdict& verdict) {
  std::string text = fmt::format("verdict: {}. {} {}", grade_name(verdict.grade),
                                 base::with_separators(verdict.samples), verdict.counted);
  if (verdict.engine == "none") {
    text += ", no stacks recorded";
  } else if (verdict.engine == model::kEngineImported) {
    text += ", imported stacks";
  } else {
    text += fmt::format(", {} of stacks whole", percent(verdict.stacks_rooted));
  }
  text +=
      fmt::format(", {} of frames named, {} lost", percent(verdict.frames_named), base::with_separators(verdict.lost));
  if (verdict.caller_unsure > 0) {
    text += fmt::format(", {} without their direct caller", percent(share(verdict.caller_unsure, verdict.samples)));
  }
  if (verdict.names_unproven > kNotableUnproven) {
    text +=
        fmt::format(", {} of frames named by files that may not be those that ran", percent(verdict.names_unproven));
  }
  if (verdict.stacks_truncated > 0) text += fmt::format(", {} cut", base::with_separators(verdict.stacks_truncated));
  if (verdict.throttled > 0) text += fmt::format(", throttled {} times", base::with_separators(verdict.throttled));
  if (verdict.idle > 0) text += fmt::format(", {} idle left out", base::with_separators(verdict.idle));
  if (verdict.own > 0) {
    text += fmt::format(", {} of tephra itself left out ({})", base::with_separators(verdict.own),
                        percent(share(verdict.own, verdict.samples + verdict.own)));
  }
  if (steal_is_notable(verdict)) text += fmt::format(", {}", steal_text(verdict));
  if (const uint64_t damaged = count_of(verdict, Reason::malformed_records); damaged > 0) {
    text += fmt::format(", {} records unreadable", base::with_separators(damaged));
  }
  if (count_of(verdict, Reason::file_truncated) > 0) text += ", recording cut off";
  if (const auto& account = verdict.time_account; account && account->off > 0) {
    text +=
        fmt::format(", the times of {} of {} threads do not add up by up to {}", base::with_separators(account->off),
                    base::with_separators(account->threads), percent(account->worst));
  }
  for (const std::string& note : verdict.notes) text += ", " + note;
  // Of what was counted in full, or estimated already, that says nothing.
  if (verdict.samples > 0 && verdict.samples < kFewSamples && verdict.counted == kSamples) {
    text += fmt::format(", so few that shares are uncertain by up to {:.0f} points",
                        100 / std::sqrt(static_cast<double>(verdict.samples)));
  }
  text += '.';
  if (verdict.grade != Grade::kGood && !verdict.advice.empty()) {
    text += fmt::format(" {}: {}", verdict.advice.front().problem, verdict.advice.front().fix);
  }
  return text;
}

std::string details(const Verdict& verdict) {
  Verdict brief = verdict;
  brief.advice.clear();
  std::string text = one_line(brief) + "\n  stacks by: " + verdict.engine;
  for (const model::CopySize& size : verdict.copy_sizes) {
    text += fmt::format("\n    {} each: {}, {} cut", base::bytes_text(size.bytes),
                        base::counted(size.samples, "sample"), base::with_separators(size.cut));
  }
  if (verdict.time_account) text += "\n  " + account_text(*verdict.time_account);
  if (verdict.steal) text += "\n  " + steal_text(verdict);
  if (verdict.recorder_cpu_seconds) {
    text += fmt::format("\n  recording used {:.2f} s of CPU time", *verdict.recorder_cpu_seconds);
  }
  for (const auto& [reason, count] : verdict.reasons) {
    const auto at = std::find(model::kReasonNames.begin(), model::kReasonNames.end(), reason);
    const auto index = static_cast<size_t>(at - model::kReasonNames.begin());
    text += fmt::format("\n  {:>12}  {}: {}", base::with_separators(count), reason, model::kReasonMeanings[index]);
  }
  if (!verdict.stack_ends.empty()) text += "\n  stacks that are not whole, by where they ended:";
  for (size_t i = 0; i < verdict.stack_ends.size() && i < kMostStackEnds; ++i) {
    const Verdict::StackEnd& end = verdict.stack_ends[i];
    text += fmt::format("\n  {:>12}  in {}: {}", base::with_separators(end.samples), end.module, end.reason);
  }
  if (verdict.stack_ends.size() > kMostStackEnds) {
    text += fmt::format("\n  {:>12}  and in {} more", "", verdict.stack_ends.size() - kMostStackEnds);
  }
  for (const Verdict::Advice& advice : verdict.advice) {
    text += fmt::format("\n  - {}.\n    {}", advice.problem, advice.fix);
  }
  return text;
}

}  // namespace tephra::analysis
