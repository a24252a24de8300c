#include <fmt/format.h>

#include <cstdio>

#include "analysis/call_tree.h"
#include "base/file.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_path.h"
#include "model/event_weight.h"
#include "views/flame_svg.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary = "draw a flame graph: one interactive SVG";
constexpr const char* kExamples =
    "  tephra flame                                  perf.data to perf.svg\n"
    "  tephra flame app.folded -o - --colors java    folded stacks to standard output, in the colours of Java";

// The words of the command line that are not the view's own values yet.
struct Words {
  std::string output;
  std::string base = "comm";
  std::string colors = "kind";
  std::string background;
  std::string min_width = "0.1";
  std::string weight;  // empty: as the event says
  uint32_t width = 0;
  bool reverse = false;
  bool merge_templates = false;
};

// flamegraph.pl's words keep its meaning.
void declare_looks(CLI::App& parser, Words& words, views::FlameSvgOptions& view) {
  const std::string palettes = fmt::format("{}", fmt::join(views::palette_names().subspan(1), " "));
  parser.add_option("--title", view.title, "the title")->type_name("TEXT");
  parser.add_option("--subtitle", view.subtitle, "a second line below the title")->type_name("TEXT");
  parser.add_option("--width", words.width, "width; default: 1200, and that of the window in a browser")
      ->check(CLI::Range(200, 100000).description(""))
      ->type_name("PIXELS");
  parser.add_option("--height", view.frame_height, "height of a frame (18)")
      ->check(CLI::Range(4, 200).description(""))
      ->type_name("PIXELS");
  parser.add_option("--minwidth", words.min_width, "leave out narrower frames (0.1)")->type_name("PIXELS|N%");
  parser.add_option("--fonttype", view.font, "the font, as in CSS")->type_name("FONT");
  parser.add_option("--fontsize", view.font_size, "size of text (12)")
      ->check(CLI::Range(4, 100).description(""))
      ->type_name("PIXELS");
  parser.add_option("--countname", view.count_name, "what samples are called")->type_name("TEXT");
  parser.add_option("--nametype", view.name_type, "what stands before a frame's name (Function:)")->type_name("TEXT");
  parser.add_option("--colors", words.colors, "by kind of code (default), or one of: " + palettes)->type_name("NAME");
  parser.add_option("--bgcolors", words.background, "background: yellow, blue, green, grey or #rrggbb")
      ->type_name("NAME");
  parser.add_flag("--hash")->description("colours by name; they always are, so this changes nothing");
  parser.add_flag("--inverted", view.inverted, "an icicle graph: callers at the top");
}

void declare_meaning(CLI::App& parser, Words& words) {
  parser.add_option("-o,--output", words.output, "the SVG to write, - is standard output; default: FILE with .svg")
      ->type_name("OUT");
  parser.add_flag("--reverse", words.reverse, "merge stacks from the leaf: what ran, then who called it");
  parser.add_option("--base", words.base, "what stacks stand on: comm (default), pid (comm-pid), tid, none")
      ->check(CLI::IsMember({"comm", "pid", "tid", "none"}).description(""))
      ->type_name("NAME");
  parser
      .add_option("--weight", words.weight,
                  "what width means: samples, or value (time, bytes, events); default: samples, and values where an\n"
                  "imported event does not count samples")
      ->check(CLI::IsMember({"samples", "value"}).description(""))
      ->type_name("NAME");
  parser.add_flag("--merge-templates", words.merge_templates, "merge functions that differ in template arguments only");
}

base::Result<double> min_width_in_pixels(const std::string& word, uint32_t width) {
  size_t used = 0;
  double number = -1;
  try {
    number = std::stod(word, &used);
  } catch (const std::exception&) {
  }
  const std::string rest = word.substr(used);
  if (!(number >= 0) || number > 1e6 || (rest != "" && rest != "%")) {
    return base::usage_error("--minwidth is no width", word, "", "Give pixels as in 0.5, or a share as in 1%.");
  }
  return rest == "%" ? number / 100 * width : number;
}

base::Status apply(const Words& words, views::FlameSvgOptions& view) {
  if (words.width != 0) view.width = words.width;
  TEPHRA_TRY(view.min_width, min_width_in_pixels(words.min_width, view.width.value_or(views::kDefaultFlameWidth)));
  const auto palette = views::palette_named(words.colors);
  if (!palette) {
    return base::usage_error("no such colours", words.colors, "",
                             fmt::format("Choose one of: {}.", fmt::join(views::palette_names(), " ")));
  }
  view.palette = *palette;
  if (!words.background.empty()) {
    view.background = views::background_named(words.background);
    if (!view.background) {
      return base::usage_error("no such background", words.background, "",
                               "Choose yellow, blue, green, grey or #rrggbb.");
    }
  }
  return {};
}

analysis::CallTreeOptions tree_options(const Words& words) {
  analysis::CallTreeOptions options;
  options.base = words.base == "none"  ? analysis::BaseFrame::kNone
                 : words.base == "pid" ? analysis::BaseFrame::kCommPid
                 : words.base == "tid" ? analysis::BaseFrame::kCommPidTid
                                       : analysis::BaseFrame::kComm;
  options.leaf_first = words.reverse;
  options.labels.shorten = words.merge_templates;
  return options;
}

// The input's name with .svg for its extension, in the same folder; standard input is drawn to standard output.
std::string default_output(const std::string& input) {
  if (input == "-") return "-";
  const size_t name = input.size() - base::path_base_name(input).size();
  const size_t dot = input.rfind('.');
  return (dot == std::string::npos || dot <= name ? input : input.substr(0, dot)) + ".svg";
}

}  // namespace

base::Result<int> flame(std::span<const std::string> arguments) {
  InputOptions input;
  Words words;
  views::FlameSvgOptions view;
  auto parser = make_parser("flame", kSummary, kExamples);
  input.declare(*parser);
  input.declare_program(*parser);
  declare_meaning(*parser, words);
  declare_looks(*parser, words, view);
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  TEPHRA_CHECK_OK(apply(words, view));
  view.full_names = input.symbols.full_names;

  const std::string output = words.output.empty() ? default_output(input.path) : words.output;
  TEPHRA_CHECK_OK(refuse_input(output, input.path));
  TEPHRA_TRY(const Input loaded, load(input));
  const bool by_value = words.weight.empty() ? model::weighs_by_value(loaded.profile) : words.weight == "value";
  view.weight = by_value ? analysis::Weight::kValue : analysis::Weight::kSamples;
  const analysis::CallTree tree = analysis::call_tree(loaded.profile, tree_options(words));
  TEPHRA_CHECK_OK(base::write_file(output, views::flame_svg(loaded.profile, tree, loaded.verdict, view)));
  if (!input.quiet && output != "-") fmt::print(stderr, "wrote {}\n", output);
  return conclude(input, loaded.verdict);
}

extern const Command kFlameCommand;
const Command kFlameCommand{"flame", kSummary, flame};

}  // namespace tephra::cli
