#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fixtures_for_tests.h"
#include "formats/input_file.h"
#include "formats/perf_script.h"
#include "formats/plain_text.h"
#include "formats/script_fold.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;

// Public texts with the results of stackcollapse-perf.pl and inferno-collapse-perf, in a folder beside the project that
// is not part of it.
fs::path fixtures() { return base::fixtures("perf-script"); }

#define SKIP_WITHOUT_FIXTURES() \
  if (!fs::exists(fixtures())) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES"

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

ScriptFoldOptions options_of(std::string_view word) {
  ScriptFoldOptions options;
  options.pid = word == "pid";
  options.tid = word == "tid";
  options.names.kernel = word == "kernel" || word == "all";
  options.names.jit = word == "jit" || word == "all";
  options.names.addresses = word == "addrs";
  return options;
}

FoldedScript folded(const fs::path& path, const ScriptFoldOptions& options) {
  const auto file = InputFile::open(path);
  EXPECT_TRUE(file.ok()) << path;
  return fold_script(PlainText(file.value().bytes()).text(), options);
}

// Java's names lose the 'L' of their signature. Three results with --pid and --tid are from before the script did that
// for "java-PID", and the names in them begin with it.
std::string without_java_signs(std::string text) {
  for (size_t at = text.find(";L"); at != std::string::npos; at = text.find(";L", at + 1)) {
    const size_t end = text.find_first_of("; ", at + 1);
    if (text.substr(at, end - at).find('/') != std::string::npos) text.erase(at + 1, 1);
  }
  return text;
}

bool is_older(const std::string& name, std::string_view option) {
  return (name.starts_with("perf-java-") || name.starts_with("perf-vertx-")) && (option == "pid" || option == "tid");
}

TEST(PerfScriptFixtures, FoldsAsStackcollapsePerfDoes) {
  SKIP_WITHOUT_FIXTURES();
  const fs::path folder = fixtures() / "brendangregg-FlameGraph";
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    const std::string name = entry.path().stem();
    for (const auto option : {"pid", "tid", "kernel", "jit", "all", "addrs"}) {
      std::string expected = content(folder / "results" / (name + "-collapsed-" + option + ".txt"));
      std::string found = folded(entry.path(), options_of(option)).text;
      if (is_older(name, option)) {
        // Names that differ are sorted elsewhere: compare how the lines begin and what they count alone.
        expected = without_java_signs(expected);
        EXPECT_EQ(found.size(), expected.size()) << name << " " << option;
        std::stringstream lines(expected);
        for (std::string line; std::getline(lines, line);) {
          EXPECT_NE(found.find(line + "\n"), std::string::npos) << name << " " << option << ": " << line;
        }
      } else {
        EXPECT_EQ(found, expected) << name << " " << option;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 54);
}

TEST(PerfScriptFixtures, FoldsAsInfernoDoes) {
  SKIP_WITHOUT_FIXTURES();
  const fs::path results = fixtures() / "jonhoo-inferno" / "results";
  const auto expect = [&](const fs::path& text, const std::string& result, std::string_view option) {
    ScriptFoldOptions options = options_of(option);
    options.names.rules = NameRules::kInferno;
    EXPECT_EQ(folded(fixtures() / text, options).text, content(results / result)) << result;
  };
  for (const std::string option : {"pid", "tid", "kernel", "jit", "all", "addrs"}) {
    expect("brendangregg-FlameGraph/perf-rust-Yamakaky-dcpu.txt",
           "perf-rust-Yamakaky-dcpu-collapsed-" + option + ".txt", option);
  }
  expect("brendangregg-FlameGraph/example-perf-stacks.txt.gz", "example-perf-stacks-collapsed.txt", "");
  expect("jonhoo-inferno/versioned-vmlinux.txt", "versioned-vmlinux-collapsed-kernel.txt", "kernel");
  for (const std::string name : {"cpp-stacks-std-function", "go-stacks", "single-event"}) {
    expect("jonhoo-inferno/" + name + ".txt", name + "-collapsed.txt", "");
  }
}

TEST(PerfScriptFixtures, RefusesAndCountsWhatInfernoDoes) {
  SKIP_WITHOUT_FIXTURES();
  const auto bytes_of = [](const std::string& name) { return content(fixtures() / "jonhoo-inferno" / name); };
  const std::string invalid = bytes_of("invalid-perf-with-empty-line-after-event-line.txt");
  EXPECT_NE(kPerfScript.refusal(base::as_bytes(invalid)), "");
  const std::string odd = bytes_of("empty-line.txt");
  EXPECT_EQ(kPerfScript.refusal(base::as_bytes(odd)), "");
  const auto profile = kPerfScript.read(base::as_bytes(odd));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile.value().samples.size(), 2u);
  EXPECT_EQ(profile.value().quality[model::Reason::malformed_records], 1u);
}

// What simpleperf's report_sample.py prints, of a recording with 525 samples.
TEST(PerfScriptFixtures, ReadsTextOfSimpleperf) {
  SKIP_WITHOUT_FIXTURES();
  const std::string text = content(fixtures() / "../perf-data/aosp-simpleperf/perf_display_bitmaps.perf-script");
  EXPECT_EQ(kPerfScript.refusal(base::as_bytes(text)), "");
  const auto profile = kPerfScript.read(base::as_bytes(text));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile.value().samples.size(), 525u);
  EXPECT_EQ(profile.value().samples.cpu.size(), 525u);
  EXPECT_EQ(profile.value().quality[model::Reason::malformed_records], 0u);
}

// Every text is recognised, no line is left over, and what is written of it is read again with the same sums.
TEST(PerfScriptFixtures, ReadsEveryText) {
  SKIP_WITHOUT_FIXTURES();
  int texts = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixtures())) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || entry.path().parent_path().filename() == "results") continue;
    if (name == "no-events.txt" || name == "empty-line.txt" || name.starts_with("invalid-")) continue;
    const auto file = InputFile::open(entry.path());
    ASSERT_TRUE(file.ok()) << name;
    const base::Bytes bytes = file.value().bytes();
    EXPECT_EQ(kPerfScript.refusal(bytes), "") << name;
    const auto profile = kPerfScript.read(bytes);
    ASSERT_TRUE(profile.ok()) << name;
    EXPECT_EQ(profile.value().quality[model::Reason::malformed_records], 0u) << name;
    EXPECT_GT(profile.value().samples.size(), 0u) << name;
    const auto written = write_perf_script(*profile);
    ASSERT_TRUE(written.ok()) << name;
    const auto again = kPerfScript.read(base::as_bytes(*written));
    ASSERT_TRUE(again.ok()) << name;
    EXPECT_EQ(model::totals(*again), model::totals(*profile)) << name;
    EXPECT_EQ(again.value().quality[model::Reason::malformed_records], 0u) << name;
    ++texts;
  }
  EXPECT_GE(texts, 33);
}

}  // namespace
}  // namespace tephra::formats
