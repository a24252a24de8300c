#include "views/flame_svg.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <regex>
#include <set>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

using model::CodeKind;

struct TestFrame {
  std::string name;
  CodeKind kind = CodeKind::kFile;
  bool inlined = false;
};

struct TestStack {
  std::string comm;
  std::vector<TestFrame> frames;
  uint64_t count = 1;
};

model::Profile make_profile(const std::vector<TestStack>& stacks) {
  model::ProfileAssembler made;
  const auto event = made.event({made.string("cpu-clock"), made.string("ns")});
  for (const TestStack& from : stacks) {
    model::StackId stack;
    for (const TestFrame& frame : from.frames) {
      const auto mapping = made.mapping({.path = made.string("/opt/app"), .kind = frame.kind});
      const auto function = made.function({.name = made.string(frame.name), .named = true});
      stack = made.stack(stack, made.frame({.mapping = mapping,
                                            .inlined = frame.inlined,
                                            .function = function,
                                            .file = made.string("app.cpp"),
                                            .line = 12}));
    }
    const auto thread = made.thread({.pid = 1, .tid = 1, .comm = made.string(from.comm)});
    made.sample({.stack = stack, .event = event, .thread = thread, .count = from.count, .value = from.count * 1000000});
  }
  return std::move(made).finish();
}

std::string draw(const std::vector<TestStack>& stacks, const FlameSvgOptions& options = {}) {
  const auto profile = make_profile(stacks);
  return flame_svg(profile, analysis::call_tree(profile), {}, options);
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string color_of(const std::string& svg, const std::string& name) {
  const size_t title = svg.find("<title>" + name + "\n");
  if (title == std::string::npos) return "";
  const size_t fill = svg.find("fill=\"", title);
  return svg.substr(fill + 6, 7);
}

TEST(FlameSvg, DrawsEveryFrameWithItsDetails) {
  const std::string svg = draw({{"app", {{"main"}, {"work"}}, 3}, {"app", {{"main"}}, 1}});
  EXPECT_EQ(count_of(svg, "<g class=\"f\""), 4u);
  EXPECT_NE(
      svg.find("<title>main\n4 samples, 100.00% of all (self 25.00%) \u00B7 4.00 ms\napp \u00B7 app.cpp:12</title>"),
      std::string::npos);
  EXPECT_NE(svg.find("<title>work\n3 samples, 75.00% of all (self 75.00%)"), std::string::npos);
  EXPECT_NE(svg.find("data-x=\"1\" data-w=\"3\""), std::string::npos);
  EXPECT_NE(svg.find(">work</text>"), std::string::npos);
}

TEST(FlameSvg, SameInputSameBytes) {
  const std::vector<TestStack> stacks{{"b", {{"x"}, {"y"}}, 2}, {"a", {{"x"}}, 5}};
  EXPECT_EQ(draw(stacks), draw(stacks));
  const std::vector<TestStack> swapped{stacks[1], stacks[0]};
  EXPECT_EQ(draw(stacks), draw(swapped));
}

TEST(FlameSvg, ShortInThePictureWholeInTheDetails) {
  const std::vector<TestStack> stacks{{"app", {{"std::sort<int*, Less<int> >"}}}};
  const std::string svg = draw(stacks);
  EXPECT_NE(svg.find("<title>std::sort&lt;int*, Less&lt;int&gt; &gt;\n"), std::string::npos);
  EXPECT_NE(svg.find(">std::sort&lt;…&gt;</text>"), std::string::npos);
  const std::string whole = draw(stacks, {.full_names = true});
  EXPECT_EQ(whole.find("data-short"), std::string::npos);
  EXPECT_NE(whole.find(">std::sort&lt;int*, Less&lt;int&gt; &gt;</text>"), std::string::npos);
}

TEST(FlameSvg, TextIsCutToItsFrame) {
  const std::string name(300, 'w');
  const std::string svg = draw({{"app", {{name}}}}, {.width = 400});
  EXPECT_EQ(svg.find(">" + name + "</text>"), std::string::npos);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(svg, found, std::regex(">(w+)\\.\\.</text>")));
  EXPECT_GT(found[1].length(), 20);
  EXPECT_LT(found[1].length() * 12 * 0.8, 400 - 24);
}

TEST(FlameSvg, NarrowFramesAreLeftOutAndCounted) {
  const std::vector<TestStack> stacks{{"app", {{"wide"}}, 100000}, {"app", {{"narrow"}, {"above"}}, 1}};
  const std::string svg = draw(stacks);
  EXPECT_EQ(svg.find("<title>narrow"), std::string::npos);
  EXPECT_NE(svg.find("2 frames narrower than 0.1 px not drawn"), std::string::npos);
  EXPECT_NE(svg.find("\"frames_not_drawn\":2"), std::string::npos);
  const std::string all = draw(stacks, {.min_width = 0});
  EXPECT_NE(all.find("<title>above"), std::string::npos);
  EXPECT_EQ(all.find("not drawn"), std::string::npos);
}

TEST(FlameSvg, ColoursTellKindsApartAndStayWithTheName) {
  const std::string svg = draw({{"app",
                                 {{"main"},
                                  {"ns::f"},
                                  {"ns::g", CodeKind::kFile, true},
                                  {"jitted", CodeKind::kAnonymous},
                                  {"vfs_read", CodeKind::kKernel}}}});
  std::set<std::string> colors;
  for (const char* name : {"app", "main", "ns::f", "ns::g", "jitted", "vfs_read"}) {
    EXPECT_EQ(color_of(svg, name).size(), 7u) << name;
    colors.insert(color_of(svg, name));
  }
  EXPECT_EQ(colors.size(), 6u);
  for (const char* meaning : {"kernel", "inlined", "C++", "JIT", "thread"}) {
    EXPECT_NE(svg.find(">" + std::string(meaning) + "</text>"), std::string::npos) << meaning;
  }
  const std::string other = draw({{"other", {{"x"}, {"main"}}, 7}});
  EXPECT_EQ(color_of(other, "main"), color_of(svg, "main"));
}

TEST(FlameSvg, InvertedPutsTheRootFirst) {
  const auto row_of = [](const std::string& svg, const std::string& name) {
    const size_t row = svg.rfind("translate(0 ", svg.find("<title>" + name));
    return std::stod(svg.substr(row + 12));
  };
  const std::vector<TestStack> stacks{{"app", {{"main"}}}};
  EXPECT_GT(row_of(draw(stacks), "all"), row_of(draw(stacks), "main"));
  const std::string inverted = draw(stacks, {.inverted = true});
  EXPECT_LT(row_of(inverted, "all"), row_of(inverted, "main"));
}

TEST(FlameSvg, WeightByValue) {
  const std::string svg = draw({{"app", {{"main"}}, 3}}, {.weight = analysis::Weight::kValue});
  EXPECT_NE(svg.find("<title>main\n3.00 ms, 100.00% of all (self 100.00%) \u00B7 3 samples"), std::string::npos);
  EXPECT_NE(svg.find("data-total=\"3000000\""), std::string::npos);
}

TEST(FlameSvg, CarriesTheVerdict) {
  const auto profile = make_profile({{"app", {{"main"}}}});
  analysis::Verdict verdict;
  verdict.grade = analysis::Grade::kPoor;
  verdict.samples = 1;
  verdict.lost = 42;
  verdict.advice.push_back({"<b>lost</b>", "do & that"});
  const std::string svg = flame_svg(profile, analysis::call_tree(profile), verdict, {});
  EXPECT_NE(svg.find("\"verdict\":{\"grade\":\"poor\""), std::string::npos);
  EXPECT_NE(svg.find("\"lost\":42"), std::string::npos);
  EXPECT_NE(svg.find("<text class=\"small\" x=\"26\" y=\"49\">verdict: poor. "), std::string::npos);
  const std::string title = svg.substr(svg.find("<g id=\"verdict\"><title>"));
  EXPECT_LT(title.find("&lt;b&gt;lost&lt;/b&gt;"), title.find("</title>"));
  EXPECT_LT(title.find("do &amp; that"), title.find("</title>"));
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(FlameSvg, ALongVerdictTakesLines) {
  const auto profile = make_profile({{"app", {{"main"}}}});
  analysis::Verdict verdict;
  verdict.advice.push_back({"many samples have a stack that ends too early, in libone.so, libtwo.so and libthree.so",
                            "Build with -fno-omit-frame-pointer."});
  verdict.grade = analysis::Grade::kPoor;
  const std::string svg = flame_svg(profile, analysis::call_tree(profile), verdict, {.width = 700});
  EXPECT_NE(svg.find("x=\"26\" y=\"65\">"), std::string::npos);
}

TEST(FlameSvg, HasNoExternalResources) {
  const std::string svg = draw({{"app", {{"main"}}}});
  EXPECT_EQ(svg.find("href"), std::string::npos);
  for (size_t at = svg.find("http"); at != std::string::npos; at = svg.find("http", at + 1)) {
    EXPECT_EQ(svg.substr(at, 18), "http://www.w3.org/");
  }
}

TEST(FlameSvg, AProfileWithoutWeightIsStillAPicture) {
  EXPECT_EQ(count_of(draw({}), "<g class=\"f\""), 1u);
  EXPECT_EQ(count_of(draw({{"app", {{"main"}}, 0}}), "<g class=\"f\""), 1u);
}

// Another program than ours says whether the XML is well-formed.
bool is_well_formed(const std::string& svg, const std::string& path) {
  std::ofstream(path, std::ios::binary) << svg;
  const std::string command =
      "python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' '" + path + "'";
  return std::system(command.c_str()) == 0;
}

TEST(FlameSvg, HostileNamesAreText) {
  if (std::system("python3 -c 'import xml.etree' 2>/dev/null") != 0) GTEST_SKIP() << "python3 is not installed";
  std::vector<TestStack> stacks{
      {"<svg onload='x'>", {{"<script>alert(1)</script>"}}},
      {"]]>", {{"]]>"}, {"<![CDATA["}, {"-->"}, {"<!--"}, {"&amp;&#0;"}}},
      {"\"'", {{"a\" onload=\"alert(1)"}, {"' x='"}, {"<title>"}, {"</title></g>"}}},
      {std::string("a\0b", 3), {{"\x01\x02\x1b[31m"}, {"\n\r\t"}, {"\xff\xfe"}, {"\xEF\xBF\xBF"}, {"\xED\xA0\x80"}}},
      {"", {{std::string(100000, '<')}, {"\xF0\x9F\x94\xA5\u202E"}}},
  };
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string name(1 + random() % 12, ' ');
    for (char& c : name) c = static_cast<char>(random());
    stacks.push_back({name, {{name}, {name + "<"}}});
  }
  FlameSvgOptions options{
      .title = "<b>\"\x01", .subtitle = "]]>&", .font = "x</style>", .count_name = "<i>", .name_type = "\"><"};
  const std::string svg = draw(stacks, options);
  EXPECT_TRUE(is_well_formed(svg, testing::TempDir() + "tephra_hostile.svg"));
  EXPECT_EQ(count_of(svg, "<script"), 1u);
  EXPECT_EQ(count_of(svg, "]]>"), 1u);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(FlameColors, NamesOfPalettesAndBackgrounds) {
  for (const auto name : palette_names()) EXPECT_TRUE(palette_named(name)) << name;
  EXPECT_EQ(palette_named("hot"), Palette::kHot);
  EXPECT_EQ(palette_named("wakeup"), Palette::kWakeup);
  EXPECT_FALSE(palette_named("mauve"));
  EXPECT_TRUE(background_named("#12aBcd"));
  EXPECT_FALSE(background_named("#12aBcd\"/><script>"));
  EXPECT_FALSE(background_named("#12345g"));
}

TEST(FlameColors, HuesAreWhatTheirNamesSay) {
  const auto rgb = [](Palette palette, const std::string& label) {
    const std::string color = frame_color(frame_tone(palette, {label}), label);
    return std::array{std::stoi(color.substr(1, 2), nullptr, 16), std::stoi(color.substr(3, 2), nullptr, 16),
                      std::stoi(color.substr(5, 2), nullptr, 16)};
  };
  for (const char* label : {"a", "malloc", "std::sort", "x_[k]"}) {
    const auto red = rgb(Palette::kRed, label);
    EXPECT_GT(red[0], red[1]);
    EXPECT_GT(red[0], red[2]);
    const auto green = rgb(Palette::kGreen, label);
    EXPECT_GT(green[1], green[0]);
    EXPECT_GT(green[1], green[2]);
    const auto blue = rgb(Palette::kBlue, label);
    EXPECT_GT(blue[2], blue[0]);
    EXPECT_GT(blue[2], blue[1]);
  }
}

}  // namespace
}  // namespace tephra::views
