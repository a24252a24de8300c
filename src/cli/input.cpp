#include "cli/input.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "analysis/activity_frames.h"
#include "analysis/wait_frames.h"
#include "analysis/wakers.h"
#include "analysis/wall.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/redaction_key.h"
#include "cli/source_options.h"
#include "formats/filtered_profile.h"
#include "formats/firefox.h"
#include "formats/format.h"
#include "formats/input_file.h"
#include "formats/jit_files.h"
#include "model/counted_event.h"
#include "model/reading_notes.h"
#include "model/shown_event.h"
#include "stream/wait_states.h"
#include "symbols/file_finder.h"
#include "symbols/linked_addresses.h"
#include "symbols/program_file.h"
#include "symbols/whole_names.h"
#include "unwind/offline_unwinder.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

base::Result<uint64_t> parse_seconds(std::string_view text, uint64_t if_empty) {
  if (text.empty()) return if_empty;
  const std::string copy(text);
  char* end = nullptr;
  const double seconds = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(seconds) || seconds < 0 || seconds > 1e10) {
    return base::usage_error("--time takes BEGIN,END in seconds, not", copy);
  }
  return static_cast<uint64_t>(std::llround(seconds * 1e9));
}

base::Status apply_time(const std::string& time, stream::SampleFilter& filter) {
  if (time.empty()) return {};
  const size_t comma = time.find(',');
  const std::string_view text(time);
  TEPHRA_TRY(filter.begin_time, parse_seconds(text.substr(0, comma), 0));
  if (comma == std::string::npos) return {};
  TEPHRA_TRY(filter.end_time, parse_seconds(text.substr(comma + 1), UINT64_MAX));
  if (filter.end_time < filter.begin_time) return base::usage_error("--time ends before it begins", time);
  return {};
}

// Of each event, whether it has any.
std::vector<char> have_samples(const model::Profile& profile) {
  std::vector<char> seen(profile.events.size());
  for (const model::EventId event : profile.samples.event) seen[event.value] = 1;
  return seen;
}

size_t events_with_samples(const model::Profile& profile) {
  const std::vector<char> seen = have_samples(profile);
  return static_cast<size_t>(std::count(seen.begin(), seen.end(), 1));
}

// What --event-filter can choose from: "cycles, page-faults (no samples)".
std::string names_of_events(const model::Profile& profile) {
  const std::vector<char> seen = have_samples(profile);
  std::string names;
  for (size_t i = 0; i < seen.size(); ++i) {
    const std::string_view name = profile.text(profile.events[model::EventId{static_cast<uint32_t>(i)}].name);
    // Carries records about processes, never samples.
    if (name.starts_with("dummy") && seen[i] == 0) continue;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", name.empty() ? "an unnamed one" : views::printable(name),
                         seen[i] != 0 ? "" : " (no samples)");
  }
  return names;
}

// Whether what the profile wants to be shown is the count beside the values of an event.
bool shows_counts(const model::Profile& profile) {
  const auto event = model::event_counted_as(profile, profile.facts.default_event);
  return event && std::ranges::find(profile.samples.event, *event) != profile.samples.event.end();
}

bool has_event(const model::Profile& profile, const std::string& name) {
  return std::any_of(profile.events.begin(), profile.events.end(),
                     [&](const model::Event& event) { return profile.text(event.name) == name; });
}

}  // namespace

std::string name_of_shown_event(const model::Profile& profile) {
  if (profile.facts.default_event.empty() && analysis::wall_events(profile)) return std::string(analysis::kWallEvent);
  if (shows_counts(profile)) return profile.facts.default_event;
  return std::string(profile.text(profile.events[*model::shown_event(profile)].name));
}

base::Error no_samples(const InputOptions& options, const model::Profile& profile, const ReadAgain& read) {
  if (!options.event.empty() && !has_event(profile, options.event)) {
    const auto whole = read({});
    return base::failed("no samples in", options.path, fmt::format("it has no event '{}'", options.event),
                        fmt::format("There is: {}.", names_of_events(whole ? *whole : profile)));
  }
  const uint64_t idle = profile.quality.idle;
  const uint64_t own = profile.quality.own;
  if (idle > 0 && own > 0) {
    return base::failed("no samples in", options.path,
                        fmt::format("{} samples are of the idle task and {} of tephra itself", idle, own),
                        "Add --idle or --own.");
  }
  if (idle > 0) {
    return base::failed("no samples in", options.path, fmt::format("all {} samples are of the idle task", idle),
                        "Add --idle.");
  }
  if (own > 0) {
    return base::failed("no samples in", options.path, fmt::format("all {} samples are of tephra itself", own),
                        "Add --own.");
  }
  for (const model::Reason reason :
       {model::Reason::unknown_event, model::Reason::malformed_records, model::Reason::file_truncated}) {
    if (const uint64_t count = profile.quality[reason]; count > 0) {
      return base::failed("no samples in", options.path,
                          fmt::format("{} ({})", model::kReasonMeanings[static_cast<size_t>(reason)], count));
    }
  }
  const auto& filter = options.build.filter;
  const bool filtered = !filter.pids.empty() || !filter.tids.empty() || !filter.cpus.empty() || !filter.comms.empty() ||
                        !options.time.empty();
  if (filtered) return base::failed("no samples in", options.path, "the filters leave none");
  if (!options.event.empty()) {
    std::string why = fmt::format("its event '{}' has none", options.event);
    for (const model::ReadingNote& note : model::reading_notes(profile.facts)) {
      if (note.event == options.event) why += ": " + note.text;
    }
    return base::failed("no samples in", options.path, why);
  }
  return base::failed("no samples in", options.path, "the recording holds none",
                      "Record for longer, or while the program is busy.");
}

void declare_names(CLI::App& parser, symbols::Options& symbols) {
  symbols.cache = base::DiskCache::of_user();
  parser.add_flag_callback(
      "--no-inline", [&] { symbols.inlines = false; }, "do not show inlined functions");
  parser.add_flag_callback(
      "--no-demangle", [&] { symbols.demangle = false; }, "symbol names as the linker has them");
  parser.add_flag("--full-names", symbols.full_names, "names with parameters, and never shortened");
  declare_sources(parser, symbols);
}

void InputOptions::declare(CLI::App& parser) {
  path = "perf.data";
  parser.add_option("-i,--input,input", path, "the profile to read; - is standard input")->type_name("FILE");
  declare_names(parser, symbols);
  auto& filter = build.filter;
  parser.add_option("--pid", filter.pids, "only these processes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PID[,PID]");
  parser.add_option("--tid", filter.tids, "only these threads")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TID[,TID]");
  parser.add_option("--comm", filter.comms, "only threads of these names")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  parser.add_option("--cpu", filter.cpus, "only these CPUs")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("CPU[,CPU]");
  parser.add_option("--time", time, "only this time, in seconds of the recording's clock")->type_name("BEGIN,END");
  parser.add_option("--event-filter", event, "the event to show (default: the first)")->type_name("EVENT");
  parser
      .add_option("--weight", weight,
                  "tracepoints: what samples weigh, by a field that they have, such as bytes_req" + weight_words)
      ->type_name(weight_words.empty() ? "FIELD" : "FIELD|samples|value");
  parser.add_flag_callback(
      "--idle", [this] { keep_idle = true; }, "keep samples of the idle task");
  parser.add_flag_callback(
      "--no-idle", [this] { keep_idle = false; }, "count samples of the idle task, but leave them out");
  parser.add_flag_callback(
      "--own", [this] { keep_own = true; }, "keep samples of the tephra that recorded");
  parser.add_flag_callback(
      "--no-own", [this] { keep_own = false; }, "count samples of the tephra that recorded, but leave them out");
  parser.add_flag(
      "--stitch-lbr", stitch_lbr,
      "recordings of --call-graph lbr: where the processor's record of calls was full,\ngo on with what the "
      "thread's sample before held");
  declare_redact(parser, redact);
  parser.add_flag("--strict", strict, "exit with status 3 unless the verdict is good");
  parser.add_flag("-q,--quiet", quiet, "do not print the verdict");
  parser.add_flag("-v,--verbose", verbose, "print the verdict in full");
}

void InputOptions::declare_waits(CLI::App& parser, std::vector<std::string> ways) {
  waits = ways[0];
  std::string help = "off-CPU time: what is waited for (lock, disk, network, …)";
  for (const std::string& way : ways) {
    if (way == "color") help += "; color: as the colour of frames";
    if (way == "frame") help += "; frame: as a frame under the thread";
  }
  parser.add_option("--waits", waits, help + fmt::format(" (default: {})", waits))
      ->check(CLI::IsMember(ways).description(""))
      ->type_name(fmt::format("{}", fmt::join(ways, "|")));
}

void InputOptions::declare_program(CLI::App& parser) {
  parser.add_option("profile", behind_, "the profile, where what ran is named before it")->type_name("FILE");
  parser.final_callback([this] {
    if (behind_.empty()) return;
    if (!symbols::is_elf_file(path)) {
      throw CLI::ValidationError("one profile is read, and before it a program may be named; not a program: " + path);
    }
    program = std::exchange(path, behind_);
  });
}

struct StackUnwinding::Parts {
  explicit Parts(std::shared_ptr<symbols::FileFinder> finder)
      : files(finder ? std::move(finder) : std::make_shared<symbols::FileFinder>()) {}

  std::shared_ptr<symbols::FileFinder> files;
  base::DiskCache cache = base::DiskCache::of_user();
  unwind::TableStore tables{*files, cache};
  unwind::OfflineUnwinder unwinder{tables};
};

StackUnwinding::StackUnwinding(const symbols::Options& symbols) : parts_(std::make_unique<Parts>(symbols.finder)) {}
StackUnwinding::~StackUnwinding() = default;

void StackUnwinding::serve(stream::BuildOptions& build) { build.unwinder = &parts_->unwinder; }

// A recording was written to its end when it was made, and copies of it are younger: its file's time is the latest that
// anything in it can have.
void tell_when_recorded(const InputOptions& options) {
  struct stat file {};
  constexpr int64_t kNanoseconds = 1'000'000'000;
  if (!options.symbols.finder || ::stat(options.path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
  options.symbols.finder->recorded_until(file.st_mtim.tv_sec * kNanoseconds + file.st_mtim.tv_nsec);
}

namespace {

// Who ended waits is told by samples of another event. Wall-clock time is made of several, which are known once the
// recording was read (`wall`); until then it is made of all.
std::vector<std::string> events_to_read(const std::string& shown,
                                        const std::optional<analysis::WallEvents>& wall = {}) {
  if (shown == stream::kWaitEvent) return {shown, std::string(stream::kWakersEvent)};
  if (shown != analysis::kWallEvent) return {shown};
  if (!wall) return {};
  std::vector<std::string> events{wall->run_time, wall->waits, std::string(stream::kWakersEvent)};
  if (!wall->cpu.empty()) events.push_back(wall->cpu);
  return events;
}

base::Result<std::string> weight_field(const InputOptions& options) {
  if (options.weight != "samples" && options.weight != "value") return options.weight;
  if (options.weight_words.empty()) {
    return base::usage_error("--weight takes a field of a tracepoint here, not", options.weight);
  }
  return std::string();
}

}  // namespace

base::Result<stream::BuildOptions> build_options(const InputOptions& options) {
  tell_when_recorded(options);
  stream::BuildOptions build = options.build;
  TEPHRA_TRY(build.reading.weight, weight_field(options));
  TEPHRA_CHECK_OK(apply_time(options.time, build.filter));
  build.filter.keep_idle = options.keep_idle;
  build.filter.keep_own = options.keep_own;
  build.stitch_branches = options.stitch_lbr;
  if (!options.event.empty()) build.filter.events = events_to_read(options.event);
  build.find_jit = [](const stream::Recording& recording, const std::vector<stream::JitTrace>& traces) {
    return formats::find_jit_files(recording, traces);
  };
  return build;
}

base::Result<std::optional<model::Redaction>> redaction_of(const InputOptions& options) {
  if (options.redact.empty()) return std::optional<model::Redaction>();
  TEPHRA_TRY(const std::string key, redaction_key(options.redact));
  return std::optional(model::Redaction(key));
}

namespace {

// The error of a recording without samples names its events, which may be names to redact.
base::Error no_samples(const InputOptions& options, const model::Profile& profile, const formats::InputFile& content,
                       const std::optional<model::Redaction>& redaction) {
  const auto read = [&](const stream::BuildOptions& build) {
    auto again = formats::read_profile(content.bytes(), options.path, build);
    if (const auto wall = again ? analysis::wall_events(*again) : std::nullopt) analysis::add_wall_clock(*again, *wall);
    if (again && redaction) again = model::redact(*again, *redaction);
    return again;
  };
  if (!redaction) return no_samples(options, profile, read);
  InputOptions redacted = options;
  redacted.event = redaction->event(options.event);
  return no_samples(redacted, model::redact(profile, *redaction), read);
}

// Whether the profile brought all its names: large ones are not copied for nothing.
bool is_named(const model::Profile& profile) {
  return profile.facts.names == nullptr &&
         std::all_of(profile.frames.begin() + 1, profile.frames.end(),
                     [](const model::Frame& frame) { return static_cast<bool>(frame.function); });
}

// Says which of several events is shown where nobody chose one.
void tell_shown_event(const std::string& name, const model::Profile& profile,
                      const std::optional<model::Redaction>& redaction) {
  const std::string shown = redaction ? redaction->event(name) : views::printable(name);
  const bool hides_waits =
      name != stream::kWaitEvent && name != analysis::kWallEvent && has_event(profile, std::string(stream::kWaitEvent));
  fmt::print(stderr, "tephra: showing {}; --event-filter selects another{}\n",
             shown.empty() ? "an unnamed event" : "event " + shown,
             hides_waits ? fmt::format(", such as {}, the time that threads waited", stream::kWaitEvent) : "");
}

// Whether there are samples of other events than these.
bool has_samples_beside(const std::vector<std::string>& events, const model::Profile& profile) {
  std::vector<char> wanted;
  for (const model::Event& event : profile.events) {
    wanted.push_back(std::ranges::find(events, profile.text(event.name)) != events.end());
  }
  return std::ranges::any_of(profile.samples.event, [&](model::EventId id) { return wanted[id.value] == 0; });
}

// Reads files with the options of one command.
class Reader {
 public:
  Reader(const InputOptions& options, const formats::InputFile& content, stream::BuildOptions build)
      : options_(options), content_(content), build_(std::move(build)), unwinding_(options.symbols) {
    unwinding_.serve(build_);
    build_.done_with = [this](base::Bytes part) { content_.forget(part); };
    build_.will_read = [this](base::Bytes part) { content_.fetch(part); };
  }

  base::Result<model::Profile> read() const {
    TEPHRA_TRY(auto profile, formats::read_profile(content_.bytes(), options_.path, build_));
    if (!options_.program.empty()) {
      TEPHRA_TRY(profile, symbols::with_program(std::move(profile), options_.program));
    }
    if (profile.facts.format == formats::kFirefox.name && options_.symbols.finder) {
      profile = symbols::with_file_offsets(std::move(profile), *options_.symbols.finder);
    }
    return profile;
  }

  // The same profile with these events alone. Recordings are read again: what is left out was not decoded.
  base::Result<model::Profile> narrow(model::Profile profile, std::vector<std::string> events) {
    build_.filter.events = std::move(events);
    if (profile.facts.engine == model::kEngineImported) return formats::filtered(std::move(profile), build_.filter);
    return read();
  }

 private:
  const InputOptions& options_;
  const formats::InputFile& content_;
  stream::BuildOptions build_;
  StackUnwinding unwinding_;
};

// Reads what `options` ask for, of one event where `pick_event`, and leaves the verdict open.
base::Result<Input> load(const InputOptions& options, const formats::InputFile& content, bool pick_event) {
  TEPHRA_TRY(const auto redaction, redaction_of(options));
  TEPHRA_TRY(stream::BuildOptions build, build_options(options));
  Reader reader(options, content, std::move(build));
  TEPHRA_TRY(auto profile, reader.read());
  auto wall = analysis::wall_events(profile);
  const bool wants_wall = options.event == analysis::kWallEvent;
  const bool no_wall = wants_wall && !wall && !has_event(profile, options.event);
  if (model::totals(profile).count == 0 || no_wall) return no_samples(options, profile, content, redaction);
  std::string shown = options.event;
  if (pick_event && shown.empty() && (events_with_samples(profile) > 1 || shows_counts(profile) || wall)) {
    shown = name_of_shown_event(profile);
    if (!options.quiet) tell_shown_event(shown, profile, redaction);
  }
  const bool chosen_now = shown != options.event || wants_wall;
  const std::vector<std::string> events = chosen_now ? events_to_read(shown, wall) : std::vector<std::string>();
  const bool has_others = !events.empty() && (shows_counts(profile) || has_samples_beside(events, profile));
  if (has_others) {
    TEPHRA_TRY(profile, reader.narrow(std::move(profile), events));
  }
  Input input{is_named(profile) ? std::move(profile) : symbols::symbolize(profile, options.symbols), {}, {}};
  if (wall && (shown.empty() || shown == analysis::kWallEvent)) analysis::add_wall_clock(input.profile, *wall);
  if (shown == analysis::kWallEvent) analysis::keep_wall_clock(input.profile);
  if (options.symbols.full_names) symbols::show_whole_names(input.profile);
  if (redaction) {
    input.named = std::move(input.profile);
    input.profile = model::redact(*input.named, *redaction);
  }
  return input;
}

}  // namespace

base::Result<model::Profile> load_all_events(const InputOptions& options) {
  TEPHRA_TRY(const auto content, formats::InputFile::open(options.path));
  return load_all_events(options, content);
}

base::Result<model::Profile> load_all_events(const InputOptions& options, const formats::InputFile& content) {
  TEPHRA_TRY(Input input, load(options, content, false));
  return std::move(input.profile);
}

base::Result<Input> load(const InputOptions& options) {
  TEPHRA_TRY(const auto content, formats::InputFile::open(options.path));
  return load(options, content);
}

void show_waits(const InputOptions& options, Input& input) {
  const auto change = [&](auto function) {
    if (input.named) input.named = function(std::move(*input.named));
    input.profile = function(std::move(input.profile));
  };
  change(analysis::with_lost_stacks);
  change(analysis::join_wakers);
  change(analysis::with_activity_frames);
  if (options.waits != "frame") return;
  const auto kinds = analysis::wait_kinds(input.named ? *input.named : input.profile);
  // Stacks must stay the same in both, and names of locks would be what is to be hidden.
  const auto locks = input.named ? analysis::LockNames::kLeaveOut : analysis::LockNames::kShow;
  change([&](model::Profile profile) { return analysis::with_wait_frames(std::move(profile), kinds, locks); });
}

namespace {

base::Result<Input> load_judged(const InputOptions& options, const formats::InputFile& content, bool pick_event) {
  TEPHRA_CHECK_OK(options.stacks.edit());  // a wrong expression is told before a long read
  TEPHRA_TRY(Input input, load(options, content, pick_event));
  input.verdict =
      analysis::judge(analysis::has_wakers(input.profile) ? analysis::without_wakers(input.profile) : input.profile);
  show_waits(options, input);
  const model::RecordingFacts& facts = input.profile.facts;
  if (options.stacks.given() || !facts.drop_frames.empty()) TEPHRA_CHECK_OK(edit_stacks(options, input));
  return input;
}

}  // namespace

base::Result<Input> load(const InputOptions& options, const formats::InputFile& content) {
  return load_judged(options, content, true);
}

base::Result<Input> load_with_all_events(const InputOptions& options) {
  TEPHRA_TRY(const auto content, formats::InputFile::open(options.path));
  return load_with_all_events(options, content);
}

base::Result<Input> load_with_all_events(const InputOptions& options, const formats::InputFile& content) {
  return load_judged(options, content, false);
}

namespace {

// Functions whose insides a profile says are not worth showing: whole names, as pprof has it. What is no expression is
// ignored: the profile is right without it.
void add_dropped(const model::RecordingFacts& facts, analysis::StackEdit& edit) {
  const auto whole = [](const std::string& expression) -> std::optional<base::Pattern> {
    auto pattern = base::Pattern::compile("", "^(" + expression + ")$");
    return pattern ? std::optional(*pattern) : std::nullopt;
  };
  if (facts.drop_frames.empty()) return;
  edit.drop = whole(facts.drop_frames);
  if (!facts.keep_frames.empty()) edit.keep = whole(facts.keep_frames);
}

base::Error nothing_kept(const InputOptions& options, const analysis::EditedProfile& edited) {
  const std::string why = edited.nowhere.empty() ? "no stack is as the options ask for"
                                                 : edited.nowhere[0] + " matches no function, source file or module";
  return base::failed("no samples are left of", options.path, why,
                      "See the names with: tephra report --no-children -g none.");
}

}  // namespace

base::Status edit_stacks(const InputOptions& options, Input& input) {
  TEPHRA_TRY(analysis::StackEdit edit, options.stacks.edit());
  add_dropped(input.profile.facts, edit);
  if (!edit.changes_anything()) return {};
  analysis::EditedProfile edited =
      analysis::edit_stacks(input.profile, edit, input.named ? *input.named : input.profile);
  if (edited.kept.count == 0) return nothing_kept(options, edited);
  if (input.named) input.named = analysis::edit_stacks(*input.named, edit, *input.named).profile;
  input.profile = std::move(edited.profile);
  input.selection = selection_text(options.stacks, edited, !options.redact.empty());
  if (options.quiet) return {};
  for (const std::string& expression : edited.nowhere) {
    fmt::print(stderr, "tephra: {} matches nothing\n", views::printable(expression));
  }
  if (!input.selection.empty()) fmt::print(stderr, "tephra: showing {}\n", views::printable(input.selection));
  return {};
}

int conclude(const InputOptions& options, const analysis::Verdict& verdict, VerdictShown shown) {
  const bool refused = options.strict && verdict.grade != analysis::Grade::kGood;
  if (options.verbose) {
    fmt::print(stderr, "{}\n", analysis::details(verdict));
    // Their paths and build ids would be the names that were asked to be replaced.
    if (const std::string files = options.redact.empty() ? refused_sources(options.symbols) : ""; !files.empty()) {
      fmt::print(stderr, "files that were found and not used for names:{}\n", files);
    }
  } else if (refused || (!options.quiet && shown == VerdictShown::kNo)) {
    fmt::print(stderr, "{}\n", analysis::one_line(verdict));
  }
  return refused ? kExitBadVerdict : kExitDone;
}

}  // namespace tephra::cli
