#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "formats/perf_data.h"
#include "model/profile.h"
#include "stream/profile_builder.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;

// Public recordings, in a folder beside the project that is not part of it.
fs::path fixtures() { return base::fixtures("perf-data"); }

#define SKIP_WITHOUT_FIXTURES() \
  if (!fs::exists(fixtures() / "sample-counts.tsv")) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES"

// perf prints some events under another name: without a name in the file it adds who may be measured, and says
// "branches" for the event the kernel calls branch-instructions.
std::string plain_name(std::string name) {
  if (name.ends_with(":HG")) name.resize(name.size() - 3);
  return name;
}

struct Expected {
  uint64_t samples = 0;
  bool stated = false;        // whether the number of samples is known
  bool read_by_perf = false;  // whether the numbers by event are
  std::map<std::string, model::Totals> events;
};

std::map<std::string, Expected> expectations() {
  std::map<std::string, Expected> files;
  std::ifstream table(fixtures() / "sample-counts.tsv");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::stringstream columns(line);
    std::string file, samples, perf, event, lines, periods;
    for (auto* column : {&file, &samples, &perf, &event, &lines, &periods}) std::getline(columns, *column, '\t');
    Expected& expected = files[file];
    expected.stated = !samples.empty();
    if (expected.stated) expected.samples = std::stoull(samples);
    expected.read_by_perf = perf.starts_with("opens");
    if (!event.empty()) expected.events[plain_name(event)] = {std::stoull(lines), std::stoull(periods)};
  }
  return files;
}

std::map<std::string, model::Totals> by_event(const model::Profile& profile) {
  std::map<std::string, model::Totals> events;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    auto& sum = events[plain_name(std::string(profile.text(profile.events[profile.samples.event[i]].name)))];
    sum.count += profile.samples.count[i];
    sum.value += profile.samples.value[i];
  }
  return events;
}

// Files whose numbers are not the table's, and why.
const std::map<std::string, std::string> kOtherNumbers{
    {"aosp-simpleperf/invalid_perf.data", "the file is damaged"},
    {"KDAB-hotspot/perf.data.PerfFormatLost", "a record stands for samples of both events of a group"},
};
// Files whose numbers by event are not perf's.
const std::map<std::string, std::string> kOtherEvents{
    {"google-perf_data_converter/quipper/perf.data.intel_pt-4.14", "perf decodes the AUX trace into more samples"},
};

TEST(PerfDataFixtures, SamplesAndPeriodsAreThoseOfPerf) {
  SKIP_WITHOUT_FIXTURES();
  const auto files = expectations();
  ASSERT_GT(files.size(), 50u);
  size_t by_perf = 0;
  for (const auto& [name, expected] : files) {
    SCOPED_TRACE(name);
    const auto content = base::FileContent::open(fixtures() / name);
    ASSERT_TRUE(content.ok());
    const auto recording = kPerfData.open(content.value().bytes());
    if (kOtherNumbers.contains(name)) continue;
    EXPECT_TRUE(recording.ok()) << recording.error().message();
    if (!recording.ok()) continue;
    const auto profile = stream::build_profile(*recording, {});
    EXPECT_EQ(model::totals(profile).count, expected.samples);
    uint64_t visited = 0;
    stream::for_each_sample(*recording, {}, [&](const stream::Sample&) { ++visited; });
    EXPECT_EQ(visited, expected.samples);
    EXPECT_EQ(profile.quality[model::Reason::malformed_records], 0u);
    EXPECT_EQ(profile.quality[model::Reason::unknown_event], 0u);
    if (!expected.read_by_perf || kOtherEvents.contains(name)) continue;
    ++by_perf;
    auto events = by_event(profile);
    for (const auto& [event, totals] : expected.events) {
      EXPECT_EQ(events[event].count, totals.count) << event;
      EXPECT_EQ(events[event].value, totals.value) << event;
    }
    EXPECT_EQ(events.size(), expected.events.size());
  }
  EXPECT_GT(by_perf, 40u);
}

// The numbers are those of the differences between the values that the file holds for each id, in the order of time.
TEST(PerfDataFixtures, LeadersOfGroupsSampleForAllMembers) {
  SKIP_WITHOUT_FIXTURES();
  const auto content = base::FileContent::open(fixtures() / "KDAB-hotspot/perf.data.PerfFormatLost");
  ASSERT_TRUE(content.ok());
  const auto recording = kPerfData.open(content.value().bytes());
  ASSERT_TRUE(recording.ok());
  const auto profile = stream::build_profile(*recording, {});
  auto events = by_event(profile);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events.begin()->second, (model::Totals{34, 7221496}));
  EXPECT_EQ(events.rbegin()->second, (model::Totals{34, 6379415}));
  EXPECT_EQ(profile.quality[model::Reason::malformed_records], 0u);
  EXPECT_EQ(profile.quality[model::Reason::unknown_event], 0u);
}

// Every file of the folder, damaged ones first of all, is read to an end or refused.
TEST(PerfDataFixtures, NoFileCrashesOrHangs) {
  SKIP_WITHOUT_FIXTURES();
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixtures())) {
    if (!entry.is_regular_file()) continue;
    SCOPED_TRACE(entry.path().string());
    ++files;
    const auto content = base::FileContent::open(entry.path());
    ASSERT_TRUE(content.ok());
    const auto bytes = content.value().bytes();
    const auto recording = kPerfData.open(bytes);
    if (!recording.ok()) continue;
    const auto profile = stream::build_profile(*recording, {.keep_every_sample = true});
    EXPECT_LE(model::totals(profile).count, (bytes.size() + (size_t{64} << 20)) / 8);
  }
  EXPECT_GT(files, 100u);
  struct rusage usage {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 4L << 20) << "KiB";
}

}  // namespace
}  // namespace tephra::formats
