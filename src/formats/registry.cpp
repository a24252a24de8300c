#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/lower_case.h"
#include "formats/bcc_stacks.h"
#include "formats/bpftrace.h"
#include "formats/chrome.h"
#include "formats/contentionz.h"
#include "formats/deciding_beginning.h"
#include "formats/filtered_profile.h"
#include "formats/firefox.h"
#include "formats/folded.h"
#include "formats/format.h"
#include "formats/go_count.h"
#include "formats/gperftools_cpu.h"
#include "formats/heap_dump.h"
#include "formats/java_profile.h"
#include "formats/jemalloc_heap.h"
#include "formats/jit_notes.h"
#include "formats/json_tables.h"
#include "formats/perf_data.h"
#include "formats/perf_script.h"
#include "formats/pprof.h"
#include "formats/speedscope.h"
#include "formats/threadz.h"
#include "model/joined_events.h"

namespace tephra::formats {

// One line a format; the order is that of trying.
std::span<const Format* const> formats() {
  static constexpr std::array kFormats{
      &kPerfData,       //
      &kJitdump,        //
      &kGperftoolsCpu,  //
      &kSpeedscope,     //
      &kFirefox,        //
      &kChromeProfile,  //
      &kChromeTrace,    //
      &kJemallocHeap,   //
      &kHeapDump,       //
      &kJavaProfile,    //
      &kContentionz,    //
      &kThreadz,        //
      &kGoCount,        //
      &kPprof,          //
      &kJson,           //
      &kPerfScript,     //
      &kBpftrace,       //
      &kBccStacks,      //
      &kPerfMap,        //
      &kFolded,
  };
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto all = formats();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Format* format) { return format->name == name; });
  return found == all.end() ? nullptr : *found;
}

const Format* format_for_path(std::string_view path) {
  const std::string whole = base::lower_case(path);
  std::string_view name = whole;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const Format* best = nullptr;
  size_t longest = 0;
  for (const Format* format : formats()) {
    for (std::string_view left = format->endings; !left.empty();) {
      const std::string_view ending = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(left.size(), ending.size() + 1));
      if (ending.size() <= longest || (!whole.ends_with(ending) && !name.ends_with(ending))) continue;
      best = format;
      longest = ending.size();
    }
  }
  return best;
}

namespace {

// What to do with files that people take for profiles.
std::string hint(base::Bytes bytes) {
  const std::string_view text = base::as_text(bytes);
  if (text.starts_with("\x7f"
                       "ELF"))
    return "It is a program: name the profile behind it.";
  if (text.starts_with("BZh") || text.starts_with("PK\x03\x04"))
    return "It is packed in a way that is not read: unpack it.";
  return "";
}

}  // namespace

base::Result<const Format*> recognise(base::Bytes bytes, const std::string& name) {
  if (bytes.empty()) return base::failed("cannot read", name, "the file is empty");
  // A file of zeros, or of something else, may be of any size.
  constexpr size_t kBeginning = base::FileContent::kJudgedBeginning;
  if (bytes.size() > kBeginning && decides_format(bytes.first(kBeginning))) bytes = bytes.first(kBeginning);
  std::string tried;
  for (const Format* format : formats()) {
    if (format->refusal == nullptr) continue;
    const std::string why = format->refusal(bytes);
    if (why.empty()) return format;
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", format->name, why);
  }
  return base::failed("cannot read", name, fmt::format("it is none of the known formats ({})", tried), hint(bytes));
}

namespace {

base::Error too_large() {
  return base::failed("cannot read", "", "its sums exceed 64 bits", "A number in it is damaged.");
}

// Whether the events that are asked for are counts beside values, which files have that were written from profiles.
bool asks_for_counts(const stream::Recording& recording, const stream::SampleFilter& filter) {
  if (!recording.converted || filter.events.empty()) return false;
  return std::ranges::none_of(recording.events, [&](const stream::RecordedEvent& event) {
    return std::ranges::find(filter.events, event.name) != filter.events.end();
  });
}

base::Result<model::Profile> profile_of(const stream::Recording& recording, const stream::BuildOptions& options) {
  stream::BuildOptions build = options;
  const bool by_count = asks_for_counts(recording, options.filter);
  if (by_count) build.filter.events.clear();
  TEPHRA_TRY(model::Profile profile, filtered(recording, build));
  if (!model::sums_fit(profile)) return too_large();
  if (by_count) return filtered(std::move(profile), {.events = options.filter.events});
  return profile;
}

}  // namespace

base::Result<model::Profile> read_profile(base::Bytes bytes, const std::string& name,
                                          const stream::BuildOptions& options) {
  TEPHRA_TRY(const Format* format, recognise(bytes, name));
  if (format->read != nullptr) {
    if (!options.reading.weight.empty()) {
      return base::usage_error("--weight takes a field of a tracepoint, and only recordings have those", name);
    }
    // Folded stacks have no times, but an order.
    const bool in_order = options.keep_every_sample && format == &kFolded;
    auto profile = in_order ? read_folded_in_order(bytes) : format->read(bytes);
    if (profile && !model::sums_fit(*profile)) profile = too_large();
    if (profile) model::tell_events_apart(*profile);
    if (profile) profile = filtered(std::move(*profile), options.filter);
    if (!profile) profile.error().on = name;
    return profile;
  }
  if (format->open == nullptr) {
    return base::failed("cannot read", name, fmt::format("{} is no profile by itself", format->summary));
  }
  auto recording = format->open(bytes);
  if (!recording) {
    recording.error().on = name;
    return std::move(recording).error();
  }
  stream::ReadingOptions reading = options.reading;
  reading.done_with = options.done_with;
  if (auto added = stream::add_readings(*recording, reading); !added) {
    added.error().on = name;
    return std::move(added).error();
  }
  auto profile = profile_of(*recording, options);
  if (!profile) profile.error().on = name;
  return profile;
}

}  // namespace tephra::formats
