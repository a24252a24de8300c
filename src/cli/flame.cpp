#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>

#include "analysis/call_tree.h"
#include "analysis/event_pair.h"
#include "analysis/flame_chart.h"
#include "analysis/sandwich.h"
#include "analysis/single_waits.h"
#include "analysis/wall.h"
#include "base/file.h"
#include "base/names.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/flame_options.h"
#include "cli/input.h"
#include "cli/output_path.h"
#include "cli/report_page.h"
#include "cli/wait_colors.h"
#include "formats/filtered_profile.h"
#include "formats/folded.h"
#include "formats/format.h"
#include "kernel/near_match.h"
#include "stream/wait_states.h"
#include "views/flame_svg.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary = "draw a flame graph: one interactive SVG";
constexpr const char* kExamples =
    "  tephra flame                                  perf.data to perf.svg\n"
    "  tephra flame app.folded -o - --colors java    folded stacks to standard output, in the colours of Java\n"
    "  tephra flame perf.data -o report.html         all views of it in one page\n"
    "  tephra flame --flamechart                     what ran when, a lane a thread\n"
    "  tephra flame --sandwich malloc                who calls malloc, and what it calls\n"
    "  tephra flame --bottom-up --colors module      what ran and who called it, a colour a code object\n"
    "  tephra flame --cpi                            cycles per instruction, of tephra record -e cycles,instructions\n"
    "  tephra flame --ratio cache-misses/loads       the same of any two events";

constexpr const char* kPaletteFile = "palette.map";

// Which picture of which profile. The functions below draw one shape each.
struct Drawing {
  const InputOptions& input;
  const FlameWords& words;
  views::FlameSvgOptions looks;

  // Says below the title which samples --focus and the like left.
  void tell_selection(const Input& loaded) {
    if (looks.subtitle.empty()) looks.subtitle = loaded.selection;
  }
};

struct Drawn {
  std::string svg;
  analysis::Verdict verdict;
};

Drawn draw_tree(Drawing& drawing, Input loaded, bool in_order) {
  drawing.looks.weight = drawing.words.weight_for(loaded.profile);
  auto options = drawing.words.tree_options();
  options.least_of = drawing.looks.weight;
  options.least = views::narrowest_weight(
      drawing.looks,
      std::max(analysis::weight_of(model::totals(loaded.profile), options.least_of), drawing.looks.total));
  const bool by_wait = drawing.input.waits == "color" && drawing.words.colors == "kind" && !in_order;
  const auto tree = in_order  ? analysis::ordered_call_tree(loaded.profile, options)
                    : by_wait ? tree_with_wait_colors(loaded.profile, options, drawing.looks)
                              : analysis::call_tree(loaded.profile, options);
  return {views::flame_svg(loaded.profile, tree, loaded.verdict, drawing.looks), loaded.verdict};
}

// Two numbers a line are a difference, unless one of them was chosen.
base::Result<Drawn> draw_folded(Drawing& drawing, const formats::InputFile& content) {
  TEPHRA_TRY(Input loaded, load_with_all_events(drawing.input, content));
  drawing.tell_selection(loaded);
  const model::Profile& profile = loaded.profile;
  const auto pair = analysis::before_and_after(profile);
  if (!pair || !drawing.input.event.empty()) return draw_tree(drawing, std::move(loaded), false);
  const auto tree = analysis::pair_tree(profile, *pair, drawing.words.tree_options());
  return Drawn{views::flame_difference_svg(profile, tree, loaded.verdict, drawing.looks), loaded.verdict};
}

base::Error no_such_function(const analysis::CallTree& tree, const std::string& function) {
  const auto near = kernel::near_matches(function, analysis::function_names(tree));
  return base::failed("no such function", function, "no sample has a frame of this name",
                      near.empty() ? "Names are whole, as the picture's details show them."
                                   : views::printable(kernel::did_you_mean(near)));
}

base::Result<Drawn> draw_sandwich(Drawing& drawing, const Input& loaded) {
  const std::string& function = drawing.words.function;
  drawing.looks.weight = drawing.words.weight_for(loaded.profile);
  const auto tree = analysis::call_tree(loaded.profile, drawing.words.tree_options());
  const auto sandwich = analysis::sandwich(tree, function);
  if (analysis::weight_of(sandwich.callees.root().total, drawing.looks.weight) == 0) {
    return no_such_function(tree, function);
  }
  return Drawn{views::sandwich_svg(loaded.profile, sandwich, loaded.verdict, drawing.looks), loaded.verdict};
}

// What ran, and beside it what waited where single waits are known.
base::Result<Input> load_for_chart(const InputOptions& input, const formats::InputFile& content) {
  if (!input.event.empty()) return load(input, content);
  TEPHRA_TRY(Input loaded, load_with_all_events(input, content));
  if (analysis::single_waits(loaded.profile).empty()) return load(input, content);
  // Wall-clock time has both, but waits of its own.
  const std::string shown = name_of_shown_event(loaded.profile);
  std::vector<std::string> events{shown};
  if (shown != analysis::kWallEvent) events.emplace_back(stream::kWaitEvent);
  TEPHRA_TRY(loaded.profile, formats::filtered(std::move(loaded.profile), {.events = events}));
  return loaded;
}

// The chart needs times; folded stacks have an order at least.
base::Result<Drawn> draw_chart(Drawing& drawing, const formats::InputFile& content) {
  InputOptions input = drawing.input;
  input.build.keep_every_sample = true;
  TEPHRA_TRY(Input loaded, load_for_chart(input, content));
  drawing.tell_selection(loaded);
  if (loaded.profile.facts.format == formats::kFolded.name) return draw_tree(drawing, std::move(loaded), true);
  if (loaded.profile.samples.time.empty()) {
    return base::failed("no flame chart", input.path, "it does not say when its samples were taken",
                        "Draw a flame graph instead, without --flamechart.");
  }
  if (drawing.words.reverse || drawing.words.bottom_up) {
    return base::usage_error("a flame chart with times is not merged", "--reverse");
  }
  const auto chart = analysis::flame_chart(loaded.profile, drawing.words.tree_options().labels);
  return Drawn{views::flame_chart_svg(loaded.profile, chart, loaded.verdict, drawing.looks), loaded.verdict};
}

// Names of events may hold slashes; the one between them leaves an event on either side.
std::optional<analysis::EventPair> find_pair(const model::Profile& profile, std::string_view ratio) {
  for (size_t slash = ratio.find('/'); slash != std::string_view::npos; slash = ratio.find('/', slash + 1)) {
    const auto first = analysis::find_event(profile, ratio.substr(0, slash));
    const auto second = analysis::find_event(profile, ratio.substr(slash + 1));
    if (first && second && *first != *second) return analysis::EventPair{*first, *second};
  }
  return std::nullopt;
}

base::Result<Drawn> draw_ratio(Drawing& drawing, const formats::InputFile& content) {
  const std::string ratio = drawing.words.cpi ? "cycles/instructions" : drawing.words.ratio;
  if (ratio.find('/') == std::string::npos) {
    return base::usage_error("no ratio of two events", ratio, "", "Name both, as in cycles/instructions.");
  }
  TEPHRA_TRY(const Input loaded, load_with_all_events(drawing.input, content));
  drawing.tell_selection(loaded);
  const model::Profile& profile = loaded.profile;
  const auto pair = find_pair(profile, ratio);
  if (!pair) {
    const auto events = analysis::sampled_events(profile);
    return base::failed(
        "no samples of both events", ratio,
        fmt::format("the profile has samples of: {}", views::printable(fmt::format("{}", fmt::join(events, ", ")))),
        "Record both, as in: tephra record -e cycles,instructions -g -- PROGRAM.");
  }
  const auto name = [&](model::EventId id) { return std::string(profile.text(profile.events[id].name)); };
  const auto tree = analysis::pair_tree(profile, *pair, drawing.words.tree_options());
  return Drawn{
      views::flame_ratio_svg(profile, tree, {name(pair->first), name(pair->second)}, loaded.verdict, drawing.looks),
      loaded.verdict};
}

base::Result<Drawn> draw(Drawing& drawing, FlameShape shape) {
  TEPHRA_TRY(const auto content, formats::InputFile::open(drawing.input.path));
  if (shape == FlameShape::kChart) return draw_chart(drawing, content);
  if (shape == FlameShape::kRatio) return draw_ratio(drawing, content);
  const auto format = formats::recognise(content.bytes(), drawing.input.path);
  if (shape == FlameShape::kTree && format && *format == &formats::kFolded) return draw_folded(drawing, content);
  TEPHRA_TRY(Input loaded, load(drawing.input, content));
  drawing.tell_selection(loaded);
  if (shape == FlameShape::kSandwich) return draw_sandwich(drawing, loaded);
  return draw_tree(drawing, std::move(loaded), false);
}

base::Result<views::PaletteMap> read_palette() {
  if (::access(kPaletteFile, F_OK) != 0) return views::PaletteMap();
  TEPHRA_TRY(const std::string text, base::read_small_file(kPaletteFile));
  return views::PaletteMap::parse(text);
}

// The input's name with another extension, in the same folder; standard input is drawn to standard output.
std::string default_output(const std::string& input, std::string_view ending) {
  if (input == "-") return "-";
  const size_t name = input.size() - base::path_base_name(input).size();
  const size_t dot = input.rfind('.');
  return std::string(input, 0, dot == std::string::npos || dot <= name ? input.size() : dot).append(ending);
}

}  // namespace

base::Result<int> flame(std::span<const std::string> arguments) {
  InputOptions input;
  FlameWords words;
  auto parser = make_parser("flame", kSummary, kExamples);
  input.weight_words =
      ";\nor what width means: samples, or value (time, bytes, events); default: samples, and values where an\n"
      "event is about them";
  input.declare(*parser);
  input.declare_program(*parser);
  input.declare_stacks(*parser);
  input.declare_waits(*parser, {"color", "frame", "none"});
  words.declare(*parser);
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  if (input.weight == "samples" || input.weight == "value") words.weight = input.weight;
  TEPHRA_TRY(const FlameShape shape, words.shape());
  TEPHRA_TRY(views::FlameSvgOptions looks, words.looks(shape));
  looks.full_names = input.symbols.full_names;

  const bool html = words.html || names_html(words.output);
  const std::string output = words.output.empty() ? default_output(input.path, html ? ".html" : ".svg") : words.output;
  TEPHRA_CHECK_OK(refuse_input(output, input.path));
  if (html) {
    return report_page(input, output,
                       {.title = words.title,
                        .palette = looks.palette,
                        .full_names = looks.full_names,
                        .first_view = words.first_view()});
  }
  views::PaletteMap palette;
  if (words.consistent_palette) {
    TEPHRA_TRY(palette, read_palette());
    looks.palette_map = &palette;
  }
  Drawing drawing{input, words, std::move(looks)};
  TEPHRA_TRY(const Drawn drawn, draw(drawing, shape));
  TEPHRA_CHECK_OK(base::write_file(output, drawn.svg));
  if (words.consistent_palette) TEPHRA_CHECK_OK(base::write_file(kPaletteFile, palette.text()));
  if (!input.quiet && output != "-") fmt::print(stderr, "wrote {}\n", output);
  return conclude(input, drawn.verdict);
}

extern const Command kFlameCommand;
const Command kFlameCommand{"flame", kSummary, flame};

}  // namespace tephra::cli
