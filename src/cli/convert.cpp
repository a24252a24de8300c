#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "analysis/told_verdict.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_packing.h"
#include "cli/output_path.h"
#include "formats/filtered_profile.h"
#include "formats/firefox.h"
#include "formats/folded.h"
#include "formats/format.h"
#include "formats/perf_data.h"
#include "formats/pprof.h"
#include "model/merge.h"
#include "symbols/linked_addresses.h"
#include "symbols/program_file.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

std::string writable_formats() {
  std::string names;
  for (const formats::Format* format : formats::formats()) {
    if (format->write != nullptr) names += fmt::format("{}{}", names.empty() ? "" : ", ", format->name);
  }
  return names;
}

std::string list_of_formats() {
  std::string list = "formats (r: read, w: written):\n";
  for (const formats::Format* format : formats::formats()) {
    const bool reads = format->read != nullptr || format->open != nullptr;
    list += fmt::format("  {:<14} {}{}  {}\n", format->name, reads ? 'r' : '-', format->write != nullptr ? 'w' : '-',
                        format->summary);
  }
  list += "names that say what to write, with or without .gz behind them:\n";
  for (const formats::Format* format : formats::formats()) {
    if (format->write != nullptr) list += fmt::format("  {:<14}     {}\n", format->name, format->endings);
  }
  return list;
}

// What to write: as --to says, else as the name of the output ends.
base::Result<const formats::Format*> output_format(const std::string& to, const std::string& output) {
  const formats::Format* format = to.empty() ? formats::format_for_path(output) : formats::find_format(to);
  if (format == nullptr && to.empty() && output == "-") {
    return base::usage_error("nothing says what format to write", "", "",
                             "Name the output (-o profile.pb.gz), or add --to: " + writable_formats() + ".");
  }
  if (format == nullptr && to.empty()) {
    return base::usage_error("the name does not say what format to write", output,
                             "it ends in none of the known endings", "Add --to: " + writable_formats() + ".");
  }
  if (format == nullptr) {
    return base::usage_error("there is no format", to, "", "There is: " + writable_formats() + ".");
  }
  if (format->write == nullptr) {
    return base::usage_error("cannot write format", std::string(format->name), "it is only read",
                             "Written are: " + writable_formats() + ".");
  }
  return format;
}

struct ConvertArguments {
  InputOptions input;
  std::vector<std::string> paths;
  std::string output = "-";
  std::string to;
  bool list = false;
};

void declare(CLI::App& parser, ConvertArguments& arguments) {
  arguments.input.declare(parser);
  arguments.input.declare_stacks(parser);
  arguments.input.declare_waits(parser, {"none", "frame"});
  parser.remove_option(parser.get_option("--input"));
  parser
      .add_option("-i,--input,inputs", arguments.paths,
                  "the profiles to read; - is standard input (default: perf.data). A program before them is what ran")
      ->type_name("FILE…");
  parser.add_option("-o,--output", arguments.output, "where to write; - is standard output")->type_name("FILE");
  parser.add_option("--to", arguments.to, "the format to write (default: as the name of the output ends)")
      ->type_name("FORMAT");
  parser.add_flag("--formats", arguments.list, "list the formats");
  // What is converted is data for other tools, which know the idle task themselves.
  arguments.input.keep_idle = true;
  arguments.input.keep_own = true;
}

base::Status refuse_terminal(const formats::Format& format, const std::string& output) {
  const bool binary = &format == &formats::kPprof || &format == &formats::kPerfData;
  if (!binary || output != "-" || ::isatty(STDOUT_FILENO) == 0) return {};
  return base::usage_error("a terminal cannot show", std::string(format.name), "it is no text",
                           "Name a file with -o, or redirect the output.");
}

// All inputs as one profile.
base::Result<model::Profile> read_inputs(ConvertArguments& arguments) {
  auto& [input, paths, output, to, list] = arguments;
  if (paths.size() > 1 && symbols::is_elf_file(paths[0])) {
    input.program = paths[0];
    paths.erase(paths.begin());
  }
  if (paths.empty()) paths.push_back("perf.data");
  if (std::count(paths.begin(), paths.end(), "-") > 1) return base::usage_error("standard input can be read once");
  std::vector<model::Profile> profiles;
  for (const std::string& path : paths) {
    TEPHRA_CHECK_OK(refuse_input(output, path));
    input.path = path;
    TEPHRA_TRY(model::Profile profile, load_all_events(input));
    profiles.push_back(std::move(profile));
  }
  if (profiles.size() == 1) return std::move(profiles[0]);
  // What is wrong with one may not show in all together.
  for (model::Profile& profile : profiles) {
    analysis::replace_verdicts(profile.facts.comments, analysis::one_line(analysis::judge(profile)));
  }
  return model::merge(profiles);
}

// Formats that hold one event get that which is shown of the profile. Pairs of folded stacks belong together.
base::Result<model::Profile> of_one_event(model::Profile profile, const InputOptions& input) {
  if (!input.event.empty() || profile.facts.format == formats::kFolded.name) return profile;
  const std::string name = name_of_shown_event(profile);
  const size_t before = profile.samples.size();
  TEPHRA_TRY(model::Profile one, formats::filtered(std::move(profile), {.events = {name}}));
  if (one.samples.size() < before && !input.quiet) {
    fmt::print(stderr, "tephra: writing {}; --event-filter selects another\n",
               name.empty() ? "an unnamed event" : "event " + views::printable(name));
  }
  return one;
}

// What --focus and the like make of it. What the profile itself wants to be left out stays: other tools know that, too.
base::Result<model::Profile> with_edited_stacks(model::Profile profile, const InputOptions& options) {
  if (!options.redact.empty()) {
    return base::usage_error("stacks are changed by names, which --redact replaces", "", "",
                             "First change them: tephra convert --focus … -o part.pb.gz, then redact part.pb.gz.");
  }
  const model::RecordingFacts facts = profile.facts;
  profile.facts.drop_frames.clear();
  Input input{std::move(profile), {}, {}, {}};
  TEPHRA_CHECK_OK(edit_stacks(options, input));
  input.profile.facts = facts;
  if (!input.selection.empty()) input.profile.facts.comments.push_back("holds " + input.selection);
  return std::move(input.profile);
}

base::Result<int> convert(std::span<const std::string> words) {
  auto parser = make_parser("convert", "Read profiles of any format, join them, and write them in another.",
                            "  tephra convert perf.data -o profile.pb.gz\n"
                            "  tephra convert --to folded heap.pb.gz > heap.folded\n"
                            "  tephra convert monday.pb.gz tuesday.pb.gz -o both.pb.gz\n"
                            "  tephra convert ./server server.prof -o server.pb.gz\n");
  ConvertArguments arguments;
  declare(*parser, arguments);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  if (arguments.list) {
    fmt::print("{}", list_of_formats());
    return kExitDone;
  }
  TEPHRA_CHECK_OK(refuse_packing(arguments.output));
  TEPHRA_TRY(const formats::Format* format, output_format(arguments.to, arguments.output));
  TEPHRA_CHECK_OK(refuse_terminal(*format, arguments.output));
  arguments.input.build.keep_every_sample = format->single_samples;
  TEPHRA_TRY(model::Profile profile, read_inputs(arguments));
  Input with_waits{std::move(profile), {}, {}, {}};
  show_waits(arguments.input, with_waits);
  profile = std::move(with_waits.profile);
  if (format->one_event) {
    TEPHRA_TRY(profile, of_one_event(std::move(profile), arguments.input));
  }
  if (format == &formats::kFirefox && arguments.input.symbols.finder) {
    profile = symbols::with_relative_addresses(std::move(profile), *arguments.input.symbols.finder);
  }
  const analysis::Verdict verdict = analysis::judge(profile);
  if (arguments.input.stacks.given()) {
    TEPHRA_TRY(profile, with_edited_stacks(std::move(profile), arguments.input));
  }
  // Formats that hold comments carry the verdict on.
  analysis::replace_verdicts(profile.facts.comments, analysis::one_line(verdict));
  TEPHRA_TRY(std::string text, format->write(profile));
  TEPHRA_CHECK_OK(write_output(arguments.output, std::move(text)));
  return conclude(arguments.input, verdict);
}

}  // namespace

extern const Command kConvertCommand{"convert", "write a profile in another format, or several as one", convert};

}  // namespace tephra::cli
