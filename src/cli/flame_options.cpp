#include "cli/flame_options.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "model/event_weight.h"

namespace tephra::cli {
namespace {

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

}  // namespace

void FlameWords::declare(CLI::App& parser) {
  parser.add_option("-o,--output", output, "the SVG to write, - is standard output; default: FILE with .svg")
      ->type_name("OUT");
  parser.add_flag("--html", html, "write the HTML report instead, as an OUT that ends in .html does");
  declare_shapes(parser);
  declare_looks(parser);
}

void FlameWords::declare_shapes(CLI::App& parser) {
  parser.add_flag("--inverted,--icicle", view.inverted, "an icicle graph: callers at the top");
  parser.add_flag("--reverse", reverse, "merge stacks from the leaf: what ran, then who called it");
  parser.add_flag("--bottom-up", bottom_up, "the same from the top down: what ran, its callers below");
  parser.add_option("--sandwich", function, "one function: its callers above it, its callees below")
      ->type_name("FUNCTION");
  parser.add_flag("--flamechart", chart,
                  "time from left to right, a lane a thread; folded stacks: in the order of their lines");
  parser.add_option("--ratio", ratio, "width by event A, colour by A for each B: blue is much, red is little")
      ->type_name("A/B");
  parser.add_flag("--cpi", cpi, "cycles for each instruction: --ratio cycles/instructions");
  parser.add_option("--base", base, "what stacks stand on: comm (default), pid (comm-pid), tid, none")
      ->check(CLI::IsMember({"comm", "pid", "tid", "none"}).description(""))
      ->type_name("NAME");
}

void FlameWords::declare_looks(CLI::App& parser) {
  const std::string palettes = fmt::format("{}", fmt::join(views::palette_names().subspan(1), " "));
  parser.add_option("--title", title, "the title")->type_name("TEXT");
  parser.add_option("--subtitle", view.subtitle, "a second line below the title")->type_name("TEXT");
  parser.add_option("--width", width, "width; default: 1200, and that of the window in a browser")
      ->check(CLI::Range(200, 100000).description(""))
      ->type_name("PIXELS");
  parser.add_option("--height", view.frame_height, "height of a frame (18)")
      ->check(CLI::Range(4, 200).description(""))
      ->type_name("PIXELS");
  parser.add_option("--minwidth", min_width, "leave out narrower frames (0.1)")->type_name("PIXELS|N%");
  parser.add_option("--fonttype", view.font, "the font, as in CSS")->type_name("FONT");
  parser.add_option("--fontsize", view.font_size, "size of text (12)")
      ->check(CLI::Range(4, 100).description(""))
      ->type_name("PIXELS");
  parser.add_option("--countname", view.count_name, "what samples are called")->type_name("TEXT");
  parser.add_option("--nametype", view.name_type, "what stands before a frame's name (Function:)")->type_name("TEXT");
  parser.add_option("--colors,--color", colors, "by kind of code (default), or one of:\n" + palettes)
      ->type_name("NAME");
  parser.add_option("--bgcolors", background, "background: yellow, blue, green, grey or #rrggbb")->type_name("NAME");
  parser.add_flag("--hash")->description("colours by name; they always are, so this changes nothing");
  parser.add_flag("--cp", consistent_palette, "take colours from palette.map in this folder, and add new names to it");
  parser.add_flag("--negate", view.negate, "two counts a line, --ratio: swap the colours of more and less");
  parser.add_option("--total", view.total, "what the whole width stands for, where it is more than the sum")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 62).description(""))
      ->type_name("N");
  parser.add_option("--factor", view.factor, "show numbers multiplied by this")
      ->check(CLI::Range(1e-12, 1e12).description(""))
      ->type_name("X");
  parser.add_option("--notes", view.notes, "a note to keep inside the SVG")->type_name("TEXT");
}

base::Result<FlameShape> FlameWords::shape() const {
  std::vector<std::string> asked;
  if (!function.empty()) asked.push_back("--sandwich");
  if (chart) asked.push_back("--flamechart");
  if (!ratio.empty()) asked.push_back("--ratio");
  if (cpi) asked.push_back("--cpi");
  if (asked.size() > 1) {
    return base::usage_error("one picture has one shape", fmt::format("{}", fmt::join(asked, " ")), "", "Choose one.");
  }
  const bool merges_leaves = reverse || bottom_up;
  if (merges_leaves && !function.empty()) {
    return base::usage_error("--sandwich shows callers already", bottom_up ? "--bottom-up" : "--reverse");
  }
  if (!function.empty()) return FlameShape::kSandwich;
  if (chart) return FlameShape::kChart;
  return cpi || !ratio.empty() ? FlameShape::kRatio : FlameShape::kTree;
}

std::string FlameWords::title_of(FlameShape shape) const {
  if (!title.empty()) return title;
  switch (shape) {
    case FlameShape::kSandwich:
      return "Callers and callees of " + function;
    case FlameShape::kChart:
      return "Flame Chart";
    case FlameShape::kRatio:
      return cpi ? "CPI Flame Graph" : ratio + " Flame Graph";
    case FlameShape::kTree:
      break;
  }
  if (bottom_up) return "Bottom-Up Graph";
  return view.inverted ? "Icicle Graph" : "Flame Graph";
}

base::Result<views::FlameSvgOptions> FlameWords::looks(FlameShape shape) const {
  views::FlameSvgOptions looks = view;
  looks.title = title_of(shape);
  looks.inverted = view.inverted || bottom_up;
  if (width != 0) looks.width = width;
  TEPHRA_TRY(looks.min_width, min_width_in_pixels(min_width, looks.width.value_or(views::kDefaultFlameWidth)));
  const auto palette = views::palette_named(colors);
  if (!palette) {
    return base::usage_error("no such colours", colors, "",
                             fmt::format("Choose one of: {}.", fmt::join(views::palette_names(), " ")));
  }
  looks.palette = *palette;
  if (!background.empty()) {
    looks.background = views::background_named(background);
    if (!looks.background) {
      return base::usage_error("no such background", background, "", "Choose yellow, blue, green, grey or #rrggbb.");
    }
  }
  return looks;
}

analysis::CallTreeOptions FlameWords::tree_options() const {
  analysis::CallTreeOptions options;
  options.base = base == "none"  ? analysis::BaseFrame::kNone
                 : base == "pid" ? analysis::BaseFrame::kCommPid
                 : base == "tid" ? analysis::BaseFrame::kCommPidTid
                                 : analysis::BaseFrame::kComm;
  options.leaf_first = reverse || bottom_up;
  return options;
}

std::string FlameWords::first_view() const {
  std::vector<std::string> state;
  const bool from_leaf = reverse || bottom_up;
  if (from_leaf || view.inverted) state.push_back(from_leaf ? "view=bottom-up" : "view=icicle");
  if (base != "comm") state.push_back("base=" + base);
  if (!weight.empty()) state.push_back("weight=" + weight);
  return fmt::format("{}", fmt::join(state, "&"));
}

analysis::Weight FlameWords::weight_for(const model::Profile& profile) const {
  const bool by_value = weight.empty() ? model::weighs_by_value(profile) : weight == "value";
  return by_value ? analysis::Weight::kValue : analysis::Weight::kSamples;
}

}  // namespace tephra::cli
