#include "views/script_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/names.h"
#include "formats/script_modules.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using model::FrameId;
using model::StackId;

constexpr size_t kFlushSize = 1 << 20;
constexpr uint32_t kFrameFields = kFieldIp | kFieldSym | kFieldSymoff | kFieldDso | kFieldSrcline;
// A tab and the address; what follows is the same whatever address stands there.
constexpr size_t kAddressWidth = 17;

}  // namespace

std::string script_header(const stream::Recording& recording, const model::RecordingFacts& facts,
                          std::string_view verdict) {
  std::string out = "# ========\n";
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("# {} : {}\n", name, printable(value));
  };
  line("hostname", facts.host);
  line("os release", facts.os_release);
  line("arch", facts.arch);
  line("cmdline", facts.command_line);
  line("clock", facts.clock);
  for (const stream::RecordedEvent& event : recording.events) line("event", "name = " + event.name);
  const auto time = [](uint64_t t) { return fmt::format("{}.{:06}", t / 1'000'000'000, t % 1'000'000'000 / 1000); };
  line("time of first sample", time(facts.first_time));
  line("time of last sample", time(facts.last_time));
  out += "# " + printable(verdict) + "\n";
  out += "# ========\n#\n";
  return out;
}

ScriptWriter::ScriptWriter(const stream::Recording& recording, const model::Profile& profile,
                           const stream::TracepointFormats& formats, ScriptOptions options,
                           std::function<void(std::string_view)> flush)
    : recording_(recording),
      profile_(profile),
      formats_(formats),
      options_(std::move(options)),
      flush_(std::move(flush)) {
  for (const stream::RecordedEvent& event : recording.events) name_width_ = std::max(name_width_, event.name.size());
}

void ScriptWriter::sample(size_t row, const stream::Sample& sample) {
  const stream::RecordedEvent& event = recording_.events[sample.origin.event];
  const uint32_t fields = options_.fields[sample.origin.event];
  const bool chain = options_.call_chains && sample.has_callchain && (fields & kFieldIp);
  write_who(fields, chain, profile_.threads[profile_.samples.thread[row]], sample.origin);
  if (fields & kFieldPeriod) fmt::format_to(std::back_inserter(buffer_), "{:10} ", sample.period);
  if (fields & kFieldEvent) {
    scratch_.clear();
    append_printable(scratch_, event.name);
    fmt::format_to(std::back_inserter(buffer_), "{:>{}}: ", scratch_, name_width_);
  }
  if ((fields & kFieldTrace) && !sample.raw.empty()) write_trace(sample);
  const StackId stack = profile_.samples.stack[row];
  if (chain) {
    append("\n");
    if (stream::has_addresses(sample.callchain) || !sample.user_registers.empty()) write_chain(fields, stack);
  } else if (fields & kFieldIp) {
    append(" ");
    write_place(fields, sample.ip, stack);
  }
  append("\n");
  if (buffer_.size() >= kFlushSize) finish();
}

void ScriptWriter::finish() {
  if (buffer_.size() == 0) return;
  flush_({buffer_.data(), buffer_.size()});
  buffer_.clear();
}

void ScriptWriter::write_who(uint32_t fields, bool chain, const model::Thread& thread, const stream::Origin& origin) {
  const auto out = std::back_inserter(buffer_);
  if (fields & kFieldComm) {
    scratch_.clear();
    append_printable(scratch_, profile_.text(thread.comm));
    fmt::format_to(out, "{:>{}} ", scratch_, chain ? 0 : 16);
  }
  if ((fields & kFieldPid) && (fields & kFieldTid)) {
    fmt::format_to(out, "{:5}/{:<5} ", origin.pid, origin.tid);
  } else if (fields & (kFieldPid | kFieldTid)) {
    fmt::format_to(out, "{:5} ", fields & kFieldPid ? origin.pid : origin.tid);
  }
  if (fields & kFieldCpu) fmt::format_to(out, "[{:03}] ", origin.cpu);
  if (fields & kFieldTime) write_time(origin.time);
}

void ScriptWriter::write_time(uint64_t time) {
  if (std::exchange(first_, false)) first_time_ = time;
  if (options_.relative_time) time -= first_time_;
  const uint64_t seconds = time / 1'000'000'000;
  const uint64_t rest = time % 1'000'000'000;
  const auto out = std::back_inserter(buffer_);
  if (options_.nanoseconds) {
    fmt::format_to(out, "{:5}.{:09}: ", seconds, rest);
  } else {
    fmt::format_to(out, "{:5}.{:06}: ", seconds, rest / 1000);
  }
}

void ScriptWriter::write_trace(const stream::Sample& sample) {
  scratch_.clear();
  const uint64_t id = recording_.events[sample.origin.event].layout.config;
  if (!formats_.append(id, sample.origin.cpu, sample.raw, scratch_)) {
    return append(fmt::format("[{} bytes of unknown format]", sample.raw.size()));
  }
  append(printable(scratch_));
}

void ScriptWriter::write_chain(uint32_t fields, StackId stack) {
  for (; stack; stack = profile_.stacks[stack].parent) append(frame_line(fields, profile_.stacks[stack].frame));
}

void ScriptWriter::write_place(uint32_t fields, uint64_t ip, StackId stack) {
  fmt::format_to(std::back_inserter(buffer_), "{:16x}", ip);
  // One line names the symbol that holds the code, not what was inlined into it.
  while (profile_.frames[profile_.stacks[stack].frame].inlined) stack = profile_.stacks[stack].parent;
  std::string_view line = frame_line(fields, profile_.stacks[stack].frame);
  line.remove_suffix(1);
  append(line.substr(kAddressWidth));
}

const std::string& ScriptWriter::frame_line(uint32_t fields, FrameId frame) {
  fields &= kFrameFields;
  auto lines = std::find_if(frame_lines_.begin(), frame_lines_.end(),
                            [&](const FrameLines& known) { return known.fields == fields; });
  if (lines == frame_lines_.end()) {
    lines = frame_lines_.insert(lines, {fields, std::vector<std::string>(profile_.frames.size())});
  }
  std::string& line = lines->lines[frame.value];
  if (line.empty()) line = make_frame_line(fields, frame);
  return line;
}

std::string ScriptWriter::make_frame_line(uint32_t fields, FrameId id) const {
  const model::Frame& frame = profile_.frames[id];
  const model::Function& function = profile_.functions[frame.function];
  // The model's addresses are what perf shows in chains: offsets into files, absolute elsewhere.
  std::string line = fmt::format("\t{:16x}", frame.address);
  if (fields & kFieldSym) {
    line += ' ';
    if (function.named) {
      append_printable(line, profile_.text(function.name));
      if (fields & kFieldSymoff) line += fmt::format("+{:#x}", frame.symbol_offset);
    } else {
      line += "[unknown]";
    }
  }
  if ((fields & kFieldDso) && !frame.inlined) {
    line += " (";
    append_printable(line, formats::script_module(profile_, profile_.mappings[frame.mapping]));
    line += ')';
  }
  if ((fields & kFieldSrcline) && frame.file) {
    line += "\n  ";
    append_printable(line, base::path_base_name(profile_.text(frame.file)));
    line += fmt::format(":{}", frame.line);
  }
  if (frame.inlined) line += " (inlined)";
  line += '\n';
  return line;
}

}  // namespace tephra::views
