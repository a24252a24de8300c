#include "formats/folded_lines.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace tephra::formats {
namespace {

TEST(FoldedLines, NothingIsNoLine) { EXPECT_EQ(FoldedLines().text(), ""); }

TEST(FoldedLines, ALineMayBeginAnother) {
  FoldedLines lines;
  const auto program = lines.below(FoldedLines::kTop, lines.text_of("program"));
  const auto function = lines.below(program, lines.text_of("f"));
  const auto sibling = lines.below(program, lines.text_of("f2"));
  const auto callee = lines.below(function, lines.text_of("g"));
  lines.count(callee, 1);
  lines.count(sibling, 2);
  lines.count(function, 3);
  lines.count(callee, 4);
  EXPECT_EQ(lines.text(), "program;f 3\nprogram;f2 2\nprogram;f;g 5\n");
}

TEST(FoldedLines, ValuesOfZeroAreLines) {
  FoldedLines lines;
  lines.count(lines.below(FoldedLines::kTop, lines.text_of("idle")), 0);
  EXPECT_EQ(lines.text(), "idle 0\n");
}

// The tree must give what sorting whole lines gives, whatever characters texts are made of.
TEST(FoldedLines, AnyLinesAreInTheOrderOfTheirBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FoldedLines lines;
    std::map<std::string, uint64_t> expected;
    for (int i = 0; i < 60; ++i) {
      std::string line;
      FoldedLines::Place place = FoldedLines::kTop;
      for (unsigned depth = random() % 5 + 1; depth > 0; --depth) {
        std::string text;
        for (unsigned length = random() % 3 + 1; length > 0; --length) text += "a1!~ \xff:"[random() % 7];
        line += (line.empty() ? "" : ";") + text;
        place = lines.below(place, lines.text_of(text));
      }
      lines.count(place, i + 1);
      expected[line] += i + 1;
    }
    std::string text;
    for (const auto& [line, value] : expected) text += line + " " + std::to_string(value) + "\n";
    ASSERT_EQ(lines.text(), text);
  }
}

}  // namespace
}  // namespace tephra::formats
