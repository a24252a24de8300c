#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "formats/perf_script.h"
#include "formats/perf_script_header.h"
#include "formats/script_lines.h"
#include "formats/script_modules.h"
#include "model/shown_event.h"

namespace tephra::formats {
namespace {

using model::FrameId;
using model::StackId;

constexpr std::string_view kUnknown = "[unknown]";

// A text that keeps to its line.
std::string clean(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

// One word: readers take white space for its end.
std::string word(std::string_view text, std::string_view if_empty) {
  std::string out = clean(text.empty() ? if_empty : text);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

// A name that an event line can begin with: a '#' would make a comment of it, white space a frame, and a mark of
// Unicode another encoding. Words that look like numbers and times are joined.
std::string comm_text(std::string_view name) {
  std::string comm = clean(name);
  const bool mark = comm.starts_with("\xef\xbb\xbf") || comm.starts_with("\xff\xfe") || comm.starts_with("\xfe\xff");
  if (comm[0] == '#' || is_space(comm[0]) || mark) comm[0] = '_';
  const std::string line = comm + " 1/1 1.0: 1 e:";
  const auto read = parse_script_header(line);
  if (!read || line.substr(0, read->comm.size()) != comm) std::replace(comm.begin(), comm.end(), ' ', '_');
  return comm;
}

class Writer {
 public:
  explicit Writer(const model::Profile& profile) : profile_(profile), lines_(profile.frames.size()) {
    const auto& times = profile.samples.time;
    nanoseconds_ = std::any_of(times.begin(), times.end(), [](uint64_t time) { return time % 1000 != 0; });
  }

  std::string write() && {
    for (const std::string& comment : profile_.facts.comments) append("# {}\n", clean(comment));
    // Readers show what comes first, unless they are told.
    const auto shown = model::shown_event(profile_);
    if (shown && *shown != profile_.samples.event[0]) append("# {} : {}\n", kScriptDefaultEvent, event_name(*shown));
    for (size_t row = 0; row < profile_.samples.size(); ++row) write_sample(row);
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void write_sample(size_t row) {
    const auto& samples = profile_.samples;
    const model::Thread& thread = profile_.threads[samples.thread[row]];
    StackId outermost;  // that stands for a thread
    const std::string_view name = profile_.text(thread.comm);
    if (name.empty() && thread.tid < 0) outermost = outermost_of(samples.stack[row]);
    write_who(outermost ? function_name(profile_.stacks[outermost].frame) : std::string(name), thread);
    if (!samples.cpu.empty() && samples.cpu[row] >= 0) append("[{:03}] ", samples.cpu[row]);
    write_time(samples.time.empty() ? 0 : samples.time[row]);
    append("{:10} {}: \n", samples.value[row], event_name(samples.event[row]));
    for (StackId at = samples.stack[row]; at && at != outermost; at = profile_.stacks[at].parent) {
      out_ += frame_line(profile_.stacks[at].frame);
    }
    out_ += '\n';
  }

  std::string event_name(model::EventId event) const {
    return word(profile_.text(profile_.events[event].name), "samples");
  }

  StackId outermost_of(StackId stack) const {
    while (stack && profile_.stacks[stack].parent) stack = profile_.stacks[stack].parent;
    return stack;
  }

  // Readers take a name of one letter together with what stands behind it, unless that is two spaces.
  void write_who(std::string_view name, const model::Thread& thread) {
    const std::string comm = comm_text(name.empty() ? kUnknown : name);
    append("{}{} ", comm, comm.size() == 1 ? " " : "");
    const int32_t tid = std::max(thread.tid, 0);
    if (thread.pid >= 0) {
      append("{:5}/{:<5} ", thread.pid, tid);
    } else {
      append("{:5} ", tid);
    }
  }

  void write_time(uint64_t time) {
    constexpr uint64_t kNanoseconds = 1'000'000'000;
    if (nanoseconds_) return append("{:5}.{:09}: ", time / kNanoseconds, time % kNanoseconds);
    append("{:5}.{:06}: ", time / kNanoseconds, time % kNanoseconds / 1000);
  }

  std::string function_name(FrameId id) const {
    const std::string_view name = profile_.function_name(id);
    return clean(name.empty() ? kUnknown : name);
  }

  const std::string& frame_line(FrameId id) {
    std::string& line = lines_[id.value];
    if (!line.empty()) return line;
    const model::Frame& frame = profile_.frames[id];
    const bool named = profile_.functions[frame.function].named;
    line = fmt::format("\t{:16x} {}", frame.address, named ? function_name(id) : std::string(kUnknown));
    if (named && frame.symbol_offset != 0) line += fmt::format("+{:#x}", frame.symbol_offset);
    const model::Mapping& mapping = profile_.mappings[frame.mapping];
    line += fmt::format(" ({})\n", frame.inlined ? "inlined" : clean(script_module(profile_, mapping)));
    return line;
  }

  const model::Profile& profile_;
  bool nanoseconds_ = false;
  std::vector<std::string> lines_;  // of frames, which return all the time
  std::string out_;
};

}  // namespace

base::Result<std::string> write_perf_script(const model::Profile& profile) { return Writer(profile).write(); }

}  // namespace tephra::formats
