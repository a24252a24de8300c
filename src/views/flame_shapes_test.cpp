#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "formats/format.h"
#include "model/profile_assembler.h"
#include "views/flame_svg.h"

namespace tephra::views {
namespace {

model::Profile folded(std::string_view text) {
  auto profile = formats::read_profile(base::as_bytes(text), "test.folded", {});
  EXPECT_TRUE(profile.ok());
  return std::move(*profile);
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The fill of the n-th frame of a name.
std::string color_of(const std::string& svg, const std::string& name, size_t n = 0) {
  size_t title = svg.find("<title>" + name + "\n");
  for (; n > 0 && title != std::string::npos; --n) title = svg.find("<title>" + name + "\n", title + 1);
  if (title == std::string::npos) return "";
  return svg.substr(svg.find("fill=\"", title) + 6, 7);
}

std::string title_of(const std::string& svg, const std::string& name) {
  const size_t begin = svg.find("<title>" + name + "\n");
  return begin == std::string::npos ? "" : svg.substr(begin + 7, svg.find("</title>", begin) - begin - 7);
}

double row_of(const std::string& svg, const std::string& name) {
  return std::stod(svg.substr(svg.rfind("translate(0 ", svg.find("<title>" + name + "\n")) + 12));
}

bool is_reddish(const std::string& color) {
  return std::stoi(color.substr(1, 2), nullptr, 16) > std::stoi(color.substr(5, 2), nullptr, 16) + 20;
}
bool is_bluish(const std::string& color) {
  return std::stoi(color.substr(5, 2), nullptr, 16) > std::stoi(color.substr(1, 2), nullptr, 16) + 20;
}

std::string draw(const model::Profile& profile, const FlameSvgOptions& options = {}) {
  return flame_svg(profile, analysis::call_tree(profile), {}, options);
}

TEST(FlameShapes, DifferenceIsWideAsAfterAndRedWhereMore) {
  const auto profile = folded("main;grew 10 30\nmain;shrank 30 10\nmain;same 5 5\nmain;gone 4 0\n");
  const auto tree = analysis::pair_tree(profile, *analysis::before_and_after(profile));
  const std::string svg = flame_difference_svg(profile, tree, {}, {});
  EXPECT_NE(svg.find("data-total=\"45\""), std::string::npos);
  EXPECT_EQ(color_of(svg, "grew"), "#ff0000");
  EXPECT_EQ(color_of(svg, "shrank"), "#0000ff");
  EXPECT_EQ(color_of(svg, "main"), color_of(svg, "same"));
  EXPECT_EQ(color_of(svg, "gone"), "") << "nothing is left to draw";
  EXPECT_EQ(title_of(svg, "grew"), "grew\n30 samples, 66.67% of all\n10 before: +20; itself +20");
  EXPECT_NE(svg.find(">less by 20</text>"), std::string::npos);
  const std::string negated = flame_difference_svg(profile, tree, {}, {.negate = true});
  EXPECT_EQ(color_of(negated, "grew"), "#0000ff");
  EXPECT_EQ(color_of(negated, "shrank"), "#ff0000");
}

TEST(FlameShapes, RatioIsBlueWhereThereIsMoreOfTheFirst) {
  const auto profile = folded("main;stalled 90 10\nmain;busy 10 90\nmain;even 50 50\n");
  const auto tree = analysis::pair_tree(profile, *analysis::before_and_after(profile));
  const std::string svg = flame_ratio_svg(profile, tree, {"cycles", "instructions"}, {}, {});
  EXPECT_NE(svg.find("data-total=\"150\""), std::string::npos);
  EXPECT_TRUE(is_bluish(color_of(svg, "stalled")));
  EXPECT_TRUE(is_reddish(color_of(svg, "busy")));
  EXPECT_EQ(color_of(svg, "even"), color_of(svg, "main"));
  EXPECT_EQ(title_of(svg, "stalled"),
            "stalled\n90 cycles, 60.00% of all\n10 instructions\n9 cycles per instructions (all: 1)");
  EXPECT_NE(svg.find(">0.25</text>"), std::string::npos);
  const std::string negated = flame_ratio_svg(profile, tree, {"cycles", "instructions"}, {}, {.negate = true});
  EXPECT_TRUE(is_reddish(color_of(negated, "stalled")));
}

TEST(FlameShapes, SandwichHasCallersAboveAndCalleesBelow) {
  const auto profile = folded("main;a;alloc;grow 3\nmain;b;alloc 2\nmain 5\n");
  const std::string svg = sandwich_svg(profile, analysis::sandwich(analysis::call_tree(profile), "alloc"), {}, {});
  EXPECT_LT(row_of(svg, "main"), row_of(svg, "a"));
  EXPECT_EQ(row_of(svg, "a"), row_of(svg, "b"));
  EXPECT_LT(row_of(svg, "a"), row_of(svg, "alloc"));
  EXPECT_LT(row_of(svg, "alloc"), row_of(svg, "grow"));
  EXPECT_EQ(count_of(svg, "<title>alloc\n"), 1u);
  EXPECT_EQ(title_of(svg, "alloc"), "alloc\n5 samples, 50.00% of all (self 20.00%)");
  EXPECT_NE(svg.find(" data-on=\"0\">"), std::string::npos);
}

model::Profile timed(const std::vector<std::pair<uint64_t, std::string>>& samples) {
  model::ProfileAssembler made;
  const auto event = made.event({made.string("cpu-clock"), made.string("ns")});
  for (const auto& [time, name] : samples) {
    const auto function = made.function({.name = made.string(name), .named = true});
    const auto mapping = made.mapping({.path = made.string("/opt/app"), .kind = model::CodeKind::kFile});
    const auto stack = made.stack({}, made.frame({.mapping = mapping, .function = function}));
    const auto thread = made.thread({.pid = 1, .tid = 2, .comm = made.string("<b>")});
    made.sample(
        {.stack = stack, .event = event, .thread = thread, .count = 1, .value = 1000000, .time = time, .cpu = 0});
  }
  return std::move(made).finish();
}

TEST(FlameShapes, ChartHasTimesAndLanes) {
  const auto profile = timed({{1000000, "a"}, {2000000, "b"}, {3000000, "<script>"}, {53000000, "b"}});
  const std::string svg = flame_chart_svg(profile, analysis::flame_chart(profile), {}, {});
  EXPECT_NE(svg.find(" data-chart=\"1\""), std::string::npos);
  EXPECT_NE(svg.find("<title>&lt;b&gt;-1/2\n4 samples, seen running for 4.00 ms"), std::string::npos);
  EXPECT_NE(svg.find("data-x=\"52000000\" data-w=\"1000000\""), std::string::npos);
  EXPECT_NE(svg.find(">&lt;script&gt;\n"), std::string::npos);
  EXPECT_EQ(count_of(svg, "<script"), 1u);
  EXPECT_NE(svg.find(">10 ms</text>"), std::string::npos);
  EXPECT_EQ(color_of(svg, "b", 0), color_of(svg, "b", 1));
}

TEST(FlameShapes, TotalFactorAndNotes) {
  const auto profile = folded("main;a 30\nmain;b 10\n");
  const std::string svg = draw(profile, {.notes = "of <Tuesday>", .factor = 2.5, .total = 80});
  EXPECT_NE(svg.find("data-total=\"80\""), std::string::npos);
  EXPECT_NE(svg.find("data-x=\"0\" data-w=\"40\""), std::string::npos);
  EXPECT_EQ(title_of(svg, "main").substr(0, 31), "main\n100 samples, 50.00% of all");
  EXPECT_NE(svg.find("\"notes\":\"of \\u003cTuesday\\u003e\""), std::string::npos);
  EXPECT_NE(draw(profile, {.total = 7}).find("data-total=\"40\""), std::string::npos) << "less than the sum is ignored";
}

TEST(FlameShapes, ColoursByPackageAndTheirLegend) {
  std::string text = "std::sort 50\nmalloc 3\n-;x 1\n";
  for (int i = 0; i < 20; ++i) text += "ns" + std::to_string(i) + "::f " + std::to_string(20 + i) + "\n";
  const std::string svg = draw(folded(text), {.palette = Palette::kPackage});
  std::set<std::string> colors;
  for (int i = 9; i < 20; ++i) colors.insert(color_of(svg, "ns" + std::to_string(i) + "::f"));
  colors.insert(color_of(svg, "std::sort"));
  EXPECT_EQ(colors.size(), 12u);
  EXPECT_EQ(count_of(svg, "height=\"12\" rx=\"2\""), 14u) << "twelve, others, and those without";
  EXPECT_NE(svg.find(">others</text>"), std::string::npos);
  EXPECT_NE(svg.find(">no package</text>"), std::string::npos);
  EXPECT_EQ(svg.find(">ns3</text>"), std::string::npos);
  const std::string other = draw(folded("std::sort 1\n"), {.palette = Palette::kPackage});
  EXPECT_EQ(color_of(other, "std::sort"), color_of(svg, "std::sort")) << "a package keeps its colour";
}

TEST(FlameShapes, KindsHaveTheirColours) {
  const std::string svg = draw(folded("a;k_[k];j_[j];w_[w];i_[0];_PyEval_EvalFrameDefault;-;-- 1\n"));
  EXPECT_TRUE(is_bluish(color_of(svg, "w")));
  EXPECT_TRUE(is_bluish(color_of(svg, "i")));
  for (const char* meaning : {"waiting", "interpreter", "kernel", "JIT"}) {
    EXPECT_NE(svg.find(">" + std::string(meaning) + "</text>"), std::string::npos) << meaning;
  }
  EXPECT_EQ(color_of(svg, "--"), "#a1a1a1");
  EXPECT_EQ(color_of(svg, "-"), "#c7c7c7");
}

TEST(PaletteMap, KeepsColoursOfNames) {
  PaletteMap map = PaletteMap::parse(
      "main->rgb(1,2,3)\noperator->->rgb(9, 8, 7)\r\nbad->red\nx->rgb(1,2,300)\nrgb\n"
      "evil->rgb(1,2,3)\"/><script>\ny->rgb(1,2,3,4)\nz->rgb(1,2)\n");
  EXPECT_EQ(map.color("main", "#ffffff"), "#010203");
  EXPECT_EQ(map.color("operator->", "#ffffff"), "#090807");
  for (const char* name : {"bad", "x", "evil", "y", "z"}) EXPECT_EQ(map.color(name, "#fffffe"), "#fffffe") << name;
  EXPECT_EQ(map.color("new", "#0a0b0c"), "#0a0b0c");
  EXPECT_EQ(map.color("new", "#ffffff"), "#0a0b0c");
  EXPECT_NE(map.text().find("main->rgb(1,2,3)\nnew->rgb(10,11,12)\noperator->->rgb(9,8,7)\n"), std::string::npos);
  PaletteMap colors = PaletteMap::parse("main->rgb(1,2,3)\n");
  const std::string svg = draw(folded("main;other 1\n"), {.palette_map = &colors});
  EXPECT_EQ(color_of(svg, "main"), "#010203");
  EXPECT_NE(colors.text().find("\nother->rgb("), std::string::npos);
}

}  // namespace
}  // namespace tephra::views
