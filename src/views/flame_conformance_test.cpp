#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fixtures_for_tests.h"
#include "formats/format.h"
#include "views/flame_svg.h"

// The pictures that inferno's tests expect: ours must have the same frames in the same places.
namespace tephra::views {
namespace {

// A frame, wherever it was drawn: sorted by depth and place.
struct Frame {
  int depth = 0;
  uint64_t x = 0;
  uint64_t width = 0;
  std::string name;
  auto operator<=>(const Frame&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Frame& frame) {
  return out << frame.depth << ": " << frame.x << "+" << frame.width << " " << frame.name;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> entities[] = {{"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""},
                                                          {"&#39;", "'"}, {"&apos;", "'"}, {"&amp;", "&"}};
  for (const auto& [from, to] : entities) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      text.replace(at, std::string_view(from).size(), to);
    }
  }
  return std::string(analysis::without_mark(text));
}

// <title>NAME (35 samples, 6.82%)</title><rect … y="165" … fg:x="61" fg:w="35"/>, rows 16 pixels apart.
std::vector<Frame> expected_frames(const std::string& svg, bool inverted) {
  static const std::regex kFrame(
      "<title>([^<]*) \\([0-9,]+ [^<(]*\\)</title>\\s*<rect [^>]*y=\"([0-9]+)\"[^>]*fg:x=\"([0-9]+)\" "
      "fg:w=\"([0-9]+)\"");
  std::vector<Frame> frames;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kFrame), end; at != end; ++at) {
    const std::smatch& found = *at;
    // A line that ends in ";" has a frame without a name there; here it ends one frame earlier.
    if (std::string_view(found[1].str()).find_first_not_of(' ') == std::string_view::npos) continue;
    frames.push_back({std::stoi(found[2]), std::stoull(found[3]), std::stoull(found[4]), unescaped(found[1])});
  }
  const auto by_row = [](const Frame& a, const Frame& b) { return a.depth < b.depth; };
  const auto [least, most] = std::minmax_element(frames.begin(), frames.end(), by_row);
  const int root = inverted ? least->depth : most->depth;
  for (Frame& frame : frames) frame.depth = std::abs(frame.depth - root) / 16;
  std::sort(frames.begin(), frames.end());
  return frames;
}

std::vector<Frame> drawn_frames(const std::string& svg) {
  static const std::regex kRowOrFrame(
      "(<g transform=)|<g class=\"f\" data-x=\"([0-9]+)\" data-w=\"([0-9]+)\"[^>]*><title>([^<\\n]*)");
  std::vector<Frame> frames;
  int depth = -1;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kRowOrFrame), end; at != end; ++at) {
    const std::smatch& found = *at;
    if (found[1].matched) {
      ++depth;
    } else {
      frames.push_back({depth, std::stoull(found[2]), std::stoull(found[3]), unescaped(found[4])});
    }
  }
  std::sort(frames.begin(), frames.end());
  return frames;
}

struct Case {
  const char* expected;  // below flamegraph-svg/jonhoo-inferno
  const char* input;     // below the fixtures
  bool reverse = false;
  bool inverted = false;
};

// inferno leaves out frames narrower than a ten-thousandth of the whole.
constexpr double kNarrowest = 0.0001;

std::string draw(const model::Profile& profile, const Case& test) {
  const analysis::CallTreeOptions tree{.leaf_first = test.reverse};
  FlameSvgOptions options{.inverted = test.inverted};
  options.min_width = kNarrowest * (kDefaultFlameWidth - 24);
  if (const auto pair = analysis::before_and_after(profile)) {
    return flame_difference_svg(profile, analysis::pair_tree(profile, *pair, tree), {}, options);
  }
  return flame_svg(profile, analysis::call_tree(profile, tree), {}, options);
}

TEST(FlameConformance, FramesAreWhereInfernoDrawsThem) {
  const auto root = base::fixtures("");
  const auto folder = root / "flamegraph-svg/jonhoo-inferno";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  const char* diff = "flamegraph-svg/jonhoo-inferno/differential/perf-cycles-instructions-01-collapsed-all-diff.txt";
  // Sorted, the file beside perf-script/ lacks a sample that the pictures have.
  const char* vertx = "flamegraph-svg/jonhoo-inferno/unsorted-input/perf-vertx-stacks-01-collapsed-all-unsorted.txt";
  const char* async = "flamegraph-svg/jonhoo-inferno/colors/async-profiler-collapsed-part.txt";
  const Case cases[] = {
      {"differential/diff.svg", diff},
      {"options/title_simple.svg", diff},
      {"options/title_with_symbols.svg", diff},
      {"options/subtitle_simple.svg", diff},
      {"options/count_name_simple.svg", diff},
      {"options/search_color.svg", diff},
      {"options/font_type_simple.svg", diff},
      {"options/colordiffusion.svg", vertx},
      {"colors/async-profiler-java.svg", async},
      {"colors/deterministic.svg", async},
      {"example-perf-stacks/example-perf-stacks.svg",
       "perf-script/jonhoo-inferno/results/example-perf-stacks-collapsed.txt"},
      {"fractional-samples/fractional-reversed.svg", "flamegraph-svg/jonhoo-inferno/fractional-samples/fractional.txt",
       true},
      {"grey-frames/grey-frames.svg", "flamegraph-svg/jonhoo-inferno/grey-frames/grey-frames.txt"},
      {"inverted/inverted.svg", vertx, false, true},
      {"narrow-blocks/narrow-blocks.svg", "flamegraph-svg/jonhoo-inferno/narrow-blocks/narrow-blocks.txt"},
      {"perf-vertx-stacks/perf-vertx-stacks-01-collapsed-all.svg", vertx},
      {"austin/flame.svg", "flamegraph-svg/jonhoo-inferno/austin/flames.txt"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.expected);
    const std::string text = read_text(root / test.input);
    stream::BuildOptions all;
    all.filter.keep_idle = true;
    const auto profile = formats::read_profile(base::as_bytes(text), test.input, all);
    ASSERT_TRUE(profile.ok()) << profile.error().why;
    const auto expected = expected_frames(read_text(folder / test.expected), test.inverted);
    const auto drawn = drawn_frames(draw(*profile, test));
    ASSERT_GT(expected.size(), 5u);
    EXPECT_EQ(drawn.size(), expected.size());
    const auto differs = std::mismatch(drawn.begin(), drawn.end(), expected.begin(), expected.end());
    if (differs.first != drawn.end() && differs.second != expected.end()) {
      ADD_FAILURE() << "drawn " << *differs.first << ", expected " << *differs.second;
    }
  }
}

}  // namespace
}  // namespace tephra::views
