#include "formats/diff_folded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "formats/folded.h"

namespace tephra::formats {
namespace {

model::Profile read(std::string_view text) {
  auto profile = kFolded.read(base::as_bytes(text));
  EXPECT_TRUE(profile.ok());
  return std::move(profile).value();
}

std::string diff(std::string_view before, std::string_view after, const DiffFoldedOptions& options = {}) {
  const model::Profile first = read(before);
  const model::Profile second = read(after);
  const model::Profile* sides[] = {&first, &second};
  return write_diff_folded({&sides[0], 1}, {&sides[1], 1}, options);
}

TEST(DiffFolded, StacksOfEitherSideHaveTwoNumbers) {
  EXPECT_EQ(diff("a;b 3\na;c 1\n", "a;b 4\na;d 2\n"), "a;b 3 4\na;c 1 0\na;d 0 2\n");
}

TEST(DiffFolded, TheFirstSideIsScaledAndFractionsAreDropped) {
  EXPECT_EQ(diff("a 2\nb 1\n", "a 4\nb 3\n", {.normalise = true}), "a 4 4\nb 2 3\n");
  EXPECT_EQ(diff("a 2\nb 1\n", "a 2\nc 1\n", {.normalise = true}), "a 2 2\nb 1 0\nc 0 1\n");
}

TEST(DiffFolded, HexadecimalNumbersAreStripped) {
  EXPECT_EQ(diff("a;0x12ab 3\na;0xFFq 1\n", "a;0x7 4\n", {.strip_hex = true}), "a;0x... 3 4\na;0x...q 1 0\n");
  EXPECT_EQ(diff("a;0x 3\n", "a;0x;0x1 4\n", {.strip_hex = true}), "a;0x 3 0\na;0x;0x... 0 4\n");
}

TEST(DiffFolded, SeveralProfilesOfASideAreAddedUp) {
  const model::Profile one = read("a 1\n");
  const model::Profile two = read("a 2\nb 5\n");
  const model::Profile* both[] = {&one, &two};
  EXPECT_EQ(write_diff_folded(both, {both, 1}, {}), "a 3 1\nb 5 0\n");
}

// What inferno-diff-folded made of its own samples; it leaves the order of lines open.
TEST(DiffFolded, IsWhatInfernoMakesOfItsSamples) {
  const auto folder = base::fixtures("diff-folded/jonhoo-inferno");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no public profiles at " << folder;
  const auto text = [&](const char* name) {
    auto content = base::FileContent::open((folder / name).string());
    EXPECT_TRUE(content.ok()) << name;
    return content.ok() ? std::string(reinterpret_cast<const char*>(content->bytes().data()), content->bytes().size())
                        : std::string();
  };
  const auto sorted = [](const std::string& all) {
    std::vector<std::string> lines;
    std::istringstream in(all);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const std::string before = text("before.txt");
  const std::string after = text("after.txt");
  EXPECT_EQ(sorted(diff(before, after)), sorted(text("results/default.txt")));
  EXPECT_EQ(sorted(diff(before, after, {.normalise = true})), sorted(text("results/normalize.txt")));
  // One line of it is no stack: it is left out, and counted.
  EXPECT_EQ(sorted(diff(text("bad_before.txt"), after)).size(), 9u);
  EXPECT_EQ(read(text("bad_before.txt")).quality[model::Reason::malformed_records], 1u);
}

}  // namespace
}  // namespace tephra::formats
