#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/wall.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "formats/filtered_profile.h"
#include "formats/format.h"
#include "formats/input_file.h"
#include "formats/perf_script.h"
#include "model/profile_assembler.h"
#include "stream/tracepoint_format.h"
#include "views/script_text.h"

namespace tephra::cli {
namespace {

struct ScriptArguments {
  InputOptions input;
  views::ScriptOptions script;
  std::vector<std::string> fields;
  bool hide_call_graph = false;
  bool header = false;
  std::optional<model::Redaction> redaction;
};

// What is printed of the recording itself.
void redact(stream::Recording& recording, const model::Redaction& redaction) {
  recording.facts.host.clear();
  recording.facts.command_line.clear();
  for (stream::RecordedEvent& event : recording.events) event.name = redaction.event(event.name);
}

void declare(CLI::App& parser, ScriptArguments& arguments) {
  arguments.input.declare(parser);
  // The text is for other programs, which know the idle task and the events themselves.
  arguments.input.keep_idle = true;
  arguments.input.keep_own = true;
  parser
      .add_option("-F,--fields", arguments.fields,
                  "print these fields, or the usual ones with +FIELD and -FIELD; 'trace:FIELD,…' for one type of "
                  "event: comm, tid, pid, time, cpu, period, event, trace, ip, sym, symoff, dso, srcline")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("FIELD,…");
  parser.add_flag("-G,--hide-call-graph", arguments.hide_call_graph, "one line a sample, without its call chain");
  parser.add_flag("--ns", arguments.script.nanoseconds, "times with nanoseconds");
  parser.add_flag("--reltime", arguments.script.relative_time, "times since the first sample");
  parser.add_flag("--header", arguments.header, "begin with comment lines about the recording");
}

// Profiles of other formats have no records to print fields of: their text is that of `convert --to perf-script`.
base::Result<int> print_profile(const ScriptArguments& arguments, const formats::InputFile& content) {
  const auto refuse = [](const char* option) {
    return base::usage_error("only recordings have what this option asks for", option, "", "Leave it out.");
  };
  if (!arguments.fields.empty()) return refuse("--fields");
  if (arguments.hide_call_graph) return refuse("--hide-call-graph");
  if (arguments.script.relative_time) return refuse("--reltime");
  TEPHRA_TRY(model::Profile profile, load_all_events(arguments.input, content));
  const analysis::Verdict verdict = analysis::judge(profile);
  profile.facts.comments.clear();
  if (arguments.header) profile.facts.comments.push_back(analysis::one_line(verdict));
  TEPHRA_TRY(const std::string text, formats::write_perf_script(profile));
  TEPHRA_CHECK_OK(base::write_all(STDOUT_FILENO, base::as_bytes(text), "standard output"));
  return conclude(arguments.input, verdict);
}

// Writes to standard output until that fails, and keeps the error.
class Output {
 public:
  void write(std::string_view text) {
    if (status_) status_ = base::write_all(STDOUT_FILENO, base::as_bytes(text), "standard output");
  }
  base::Status status() const { return status_; }

 private:
  base::Status status_;
};

// The kernel addresses that tracepoints of the recording print by name.
std::vector<uint64_t> kernel_addresses(const stream::Recording& recording, const stream::SampleFilter& filter,
                                       const stream::TracepointFormats& formats) {
  std::vector<char> wanted;
  for (const stream::RecordedEvent& event : recording.events) {
    wanted.push_back(event.layout.type == PERF_TYPE_TRACEPOINT && formats.prints_kernel_names(event.layout.config));
  }
  std::vector<uint64_t> addresses;
  if (std::find(wanted.begin(), wanted.end(), 1) == wanted.end()) return addresses;
  stream::for_each_sample(recording, filter, [&](const stream::Sample& sample) {
    const uint32_t event = sample.origin.event;
    if (wanted[event]) formats.collect_kernel_addresses(recording.events[event].layout.config, sample.raw, addresses);
  });
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

// Names addresses as those of the recording's kernel, whose mapping `profile` knows.
void name_kernel_addresses(const std::vector<uint64_t>& addresses, const model::Profile& profile,
                           stream::TracepointFormats& formats) {
  const auto kernel = std::find_if(profile.mappings.begin(), profile.mappings.end(),
                                   [](const model::Mapping& m) { return m.kind == model::CodeKind::kKernel; });
  if (addresses.empty() || kernel == profile.mappings.end()) return;
  model::ProfileAssembler assembler;
  model::Mapping mapping = *kernel;
  mapping.path = assembler.string(profile.text(kernel->path));
  const model::MappingId image = assembler.mapping(mapping);
  for (const uint64_t address : addresses) assembler.stack({}, assembler.frame({.mapping = image, .address = address}));
  assembler.facts() = profile.facts;
  const model::Profile named = symbols::symbolize(std::move(assembler).finish(), {});
  std::unordered_map<uint64_t, stream::TracepointFormats::KernelName> names;
  for (const model::Frame& frame : named.frames) {
    const model::Function& function = named.functions[frame.function];
    if (!function.named) continue;
    names[frame.address] = {std::string(named.text(function.name)), frame.address - frame.symbol_offset};
  }
  formats.use_kernel_names(std::move(names));
}

base::Result<int> print_samples(const ScriptArguments& arguments, const stream::Recording& recording) {
  TEPHRA_TRY(stream::BuildOptions build, build_options(arguments.input));
  build.keep_every_sample = true;
  StackUnwinding unwinding(arguments.input.symbols);
  unwinding.serve(build);
  views::ScriptOptions options = arguments.script;
  TEPHRA_TRY(options.fields, views::select_script_fields(recording, arguments.fields, options.call_chains));
  // What tracepoints tell is full of names, and of what programs work on.
  if (arguments.redaction) {
    for (uint32_t& fields : options.fields) fields &= ~views::kFieldTrace;
  }
  TEPHRA_TRY(auto formats, stream::TracepointFormats::parse(recording.tracing_data));

  auto read = formats::filtered(recording, build);
  if (!read) {
    read.error().on = arguments.input.path;
    return std::move(read).error();
  }
  const model::Profile unnamed = std::move(*read);
  if (model::totals(unnamed).count == 0) {
    return no_samples(arguments.input, unnamed,
                      [&](const stream::BuildOptions& again) { return formats::filtered(recording, again); });
  }
  model::Profile profile = symbols::symbolize(unnamed, arguments.input.symbols);
  if (arguments.redaction) profile = model::redact(profile, *arguments.redaction);
  const analysis::Verdict verdict = analysis::judge(profile);
  name_kernel_addresses(kernel_addresses(recording, build.filter, formats), profile, formats);
  Output output;
  if (arguments.header) output.write(views::script_header(recording, profile.facts, analysis::one_line(verdict)));
  views::ScriptWriter writer(recording, profile, formats, std::move(options),
                             [&](std::string_view text) { output.write(text); });
  size_t row = 0;
  stream::for_each_sample(recording, build.filter, [&](const stream::Sample& sample) { writer.sample(row++, sample); });
  writer.finish();
  TEPHRA_CHECK_OK(output.status());
  return conclude(arguments.input, verdict);
}

base::Result<int> script(std::span<const std::string> words) {
  auto parser = make_parser("script", "Print every sample as perf script does, for the programs that read its text.",
                            "  tephra script perf.data | stackcollapse-perf.pl | flamegraph.pl > flame.svg\n"
                            "  tephra script -F comm,tid,time,event,trace -i perf.data\n");
  ScriptArguments arguments;
  declare(*parser, arguments);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  arguments.script.call_chains = !arguments.hide_call_graph;
  if (!arguments.input.weight.empty()) {
    return base::usage_error("--weight changes what samples weigh, and here they are printed as recorded", "", "",
                             "Leave it out: the field is in the text of each sample.");
  }
  TEPHRA_TRY(const auto content, formats::InputFile::open(arguments.input.path));
  TEPHRA_TRY(const formats::Format* format, formats::recognise(content.bytes(), arguments.input.path));
  // Wall-clock time is made of the recording's samples, and is no record of it.
  const bool made_of_samples = arguments.input.event == analysis::kWallEvent;
  if (format->open == nullptr || made_of_samples) {
    arguments.input.build.keep_every_sample = made_of_samples;
    return print_profile(arguments, content);
  }
  auto recording_or_error = format->open(content.bytes());
  if (!recording_or_error) {
    recording_or_error.error().on = arguments.input.path;
    return std::move(recording_or_error).error();
  }
  stream::Recording& recording = *recording_or_error;
  TEPHRA_TRY(arguments.redaction, redaction_of(arguments.input));
  if (arguments.redaction) {
    redact(recording, *arguments.redaction);
    // What the recording's events are called by now.
    arguments.input.event = arguments.redaction->event(arguments.input.event);
  }
  return print_samples(arguments, recording);
}

}  // namespace

extern const Command kScriptCommand{"script", "print every sample as text", script};

}  // namespace tephra::cli
