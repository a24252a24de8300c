#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_packing.h"
#include "cli/output_path.h"
#include "formats/folded.h"
#include "formats/format.h"
#include "formats/input_file.h"
#include "formats/perf_script.h"
#include "formats/perf_script_header.h"
#include "formats/plain_text.h"
#include "formats/script_fold.h"
#include "model/event_weight.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

struct FoldArguments {
  InputOptions input;
  formats::FoldedOptions folded;
  std::string output = "-";
  std::string names = "flamegraph";
  bool counts = false;
  bool srcline = false;
  bool all = false;
};

void declare(CLI::App& parser, FoldArguments& arguments) {
  arguments.input.declare(parser);
  arguments.input.declare_program(parser);
  arguments.input.declare_stacks(parser);
  arguments.input.declare_waits(parser, {"none", "frame"});
  parser.remove_option(parser.get_option("--pid"));
  parser.remove_option(parser.get_option("--tid"));
  // What is folded is data for other tools, which know the idle task themselves.
  arguments.input.keep_idle = true;
  arguments.input.keep_own = true;
  formats::FoldedOptions& folded = arguments.folded;
  parser.add_flag("--pid", folded.pid, "put the process id into the first frame");
  parser.add_flag("--tid", folded.tid, "put process and thread id into the first frame");
  parser.add_flag("--kernel", folded.kernel, "mark kernel frames with _[k]");
  parser.add_flag("--jit", folded.jit, "mark frames of generated code with _[j]");
  parser.add_flag("--all", arguments.all, "--kernel and --jit");
  parser.add_flag("--addrs", arguments.input.symbols.exact_unknown, "unknown frames by their exact address");
  auto* periods = parser.add_flag("--periods", folded.by_value,
                                  "sums of periods instead of numbers of samples (text of perf script: always)");
  parser.add_flag("--counts", arguments.counts, "numbers of samples, of text of perf script, too")->excludes(periods);
  parser
      .add_option("--names", arguments.names,
                  "whose rules shorten names in the text of perf script: those of stackcollapse-perf.pl, or those of "
                  "inferno-collapse-perf")
      ->check(CLI::IsMember({"flamegraph", "inferno"}))
      ->type_name("RULES");
  parser.add_flag("--srcline", arguments.srcline, "text of perf script -F +srcline: put the source line behind names");
  parser.add_option("-o,--output", arguments.output, "where to write; - is standard output")->type_name("FILE");
}

// Whether to take a sample, where filters are given. None: null.
std::function<bool(std::string_view)> filter_of(const stream::SampleFilter& filter) {
  const bool all_times = filter.begin_time == 0 && filter.end_time == UINT64_MAX;
  if (filter.comms.empty() && filter.cpus.empty() && all_times) return {};
  const auto takes = [](const auto& wanted, const auto& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  };
  return [filter, takes, all_times](std::string_view line) {
    const auto header = formats::parse_script_header(line);
    if (!header || !takes(filter.comms, header->comm)) return false;
    if (!filter.cpus.empty() && (!header->cpu || !takes(filter.cpus, *header->cpu))) return false;
    return all_times || (header->time && *header->time >= filter.begin_time && *header->time <= filter.end_time);
  };
}

// What stackcollapse-perf.pl makes of the text.
base::Result<formats::FoldedScript> fold_text(const FoldArguments& arguments, const formats::InputFile& content) {
  TEPHRA_TRY(const stream::BuildOptions build, build_options(arguments.input));
  const bool inferno = arguments.names == "inferno";
  const formats::ScriptFoldOptions options{
      .names = {.rules = inferno ? formats::NameRules::kInferno : formats::NameRules::kFlameGraph,
                .kernel = arguments.folded.kernel,
                .jit = arguments.folded.jit,
                .addresses = arguments.input.symbols.exact_unknown},
      .pid = arguments.folded.pid,
      .tid = arguments.folded.tid,
      .counts = arguments.counts,
      .srcline = arguments.srcline,
      .event = arguments.input.event,
      .takes = filter_of(build.filter)};
  const formats::PlainText plain(content.bytes());
  return formats::fold_script(plain.text(), options,
                              [&](std::string_view part) { content.forget(base::as_bytes(part)); });
}

base::Result<Input> load_pair(const InputOptions& options, const formats::InputFile& content) {
  TEPHRA_TRY(model::Profile profile, load_all_events(options, content));
  analysis::Verdict verdict = analysis::judge(profile);
  Input input{std::move(profile), std::move(verdict), {}, {}};
  TEPHRA_CHECK_OK(edit_stacks(options, input));
  return input;
}

base::Result<int> fold(std::span<const std::string> words) {
  auto parser = make_parser("fold", "Write folded stacks: one line a stack, with the number of its samples.",
                            "  tephra fold perf.data > stacks.folded\n"
                            "  tephra fold --all --tid -i perf.data -o stacks.folded\n"
                            "  perf script | tephra fold - > stacks.folded\n");
  FoldArguments arguments;
  declare(*parser, arguments);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  const InputOptions& input = arguments.input;
  arguments.folded.kernel = arguments.folded.kernel || arguments.all;
  arguments.folded.jit = arguments.folded.jit || arguments.all;
  TEPHRA_CHECK_OK(refuse_packing(arguments.output));
  TEPHRA_CHECK_OK(refuse_input(arguments.output, input.path));
  TEPHRA_TRY(const auto content, formats::InputFile::open(input.path));
  TEPHRA_TRY(const formats::Format* format, formats::recognise(content.bytes(), input.path));
  const bool is_text = format == &formats::kPerfScript;
  // Hashes take the place of names in the profile, and stacks are changed there.
  if (is_text && input.redact.empty() && !input.stacks.given()) {
    TEPHRA_TRY(formats::FoldedScript folded, fold_text(arguments, content));
    // Text without stacks or without code objects, of which that script makes nothing, is folded as profiles are.
    if (folded.samples > 0 && !folded.lost_all_frames()) {
      if (folded.other_events && input.event.empty() && !input.quiet) {
        fmt::print(stderr, "tephra: showing event {}; --event-filter selects another\n",
                   views::printable(folded.event));
      }
      TEPHRA_CHECK_OK(write_output(arguments.output, std::move(folded.text)));
      return conclude(input, analysis::judge(formats::summary_of(folded)));
    }
  }
  // Folded stacks with two numbers a line are two events, which belong together.
  const bool all_events = format == &formats::kFolded && input.event.empty();
  TEPHRA_TRY(Input loaded, all_events ? load_pair(input, content) : load(input, content));
  const bool values = is_text || model::weighs_by_value(loaded.profile);
  arguments.folded.by_value = arguments.folded.by_value || (values && !arguments.counts);
  TEPHRA_CHECK_OK(write_output(arguments.output, formats::write_folded(loaded.profile, arguments.folded)));
  return conclude(input, loaded.verdict);
}

}  // namespace

extern const Command kFoldCommand{"fold", "write folded stacks", fold};

}  // namespace tephra::cli
