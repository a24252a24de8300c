#include "stream/sample_reading.h"

#include <gtest/gtest.h>

#include <map>

#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

using Labels = SampleReading::Labels;

// Reads samples of one event as two parts of another: the even and the odd share of its period, in time order reversed.
class HalvesReading : public SampleReading {
 public:
  HalvesReading(uint32_t from, uint32_t to, std::string key) : from_(from), to_(to) {
    label_sets_ = {Labels{}, Labels{{key, "first", 0, ""}}, Labels{{key, "", 2, "nd"}}};
  }
  bool reads(uint32_t event) const override { return event == from_; }
  void read(const Sample& sample, uint64_t position, std::vector<Part>& parts) const override {
    if (sample.period == 0) return;
    parts.push_back({to_, sample.period / 2, 1, 1});
    parts.push_back({to_, sample.period - sample.period / 2, 3, 2});
    if (position == 0) parts.push_back({from_, 7, 1, 0});
  }
  uint64_t time_of(const Sample& sample) const override { return 1000 - sample.origin.time; }
  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  uint32_t from_;
  uint32_t to_;
  std::vector<Labels> label_sets_;
};

// Values by event and label.
std::map<std::string, model::Totals> sums(const model::Profile& profile) {
  std::map<std::string, model::Totals> sums;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    std::string key(profile.text(profile.events[profile.samples.event[i]].name));
    if (!profile.samples.labels.empty()) {
      for (const model::Label& label : profile.label_sets[profile.samples.labels[i]].labels) {
        key.append(" ").append(profile.text(label.key)).append("=").append(profile.text(label.text));
        if (label.number != 0) key.append(std::to_string(label.number)).append(profile.text(label.unit));
      }
    }
    sums[key].count += profile.samples.count[i];
    sums[key].value += profile.samples.value[i];
  }
  return sums;
}

class SampleReadingTest : public testing::Test {
 protected:
  SampleReadingTest() {
    test_.event("page-faults", TestRecording::kUsual);
    for (const uint64_t time : {10, 20, 30}) {
      test_.sample({.time = time, .callchain = {kTestUserMarker, 1}, .period = 11});
      test_.sample({.time = time, .callchain = {kTestUserMarker, 1}, .period = 100, .event = 1});
    }
    test_.sample({.time = 40, .callchain = {kTestUserMarker, 1}, .period = 0});
    recording_ = test_.recording();
  }
  uint32_t add_halves(uint32_t event, const std::string& name) {
    const uint32_t shown = add_shown_event(recording_, event, name, "ns", "things");
    recording_.readings.push_back(std::make_shared<HalvesReading>(event, shown, name));
    return shown;
  }

  TestRecording test_;
  Recording recording_;
};

TEST_F(SampleReadingTest, PartsSumUpAndLabelsKeepThemApart) {
  add_halves(0, "half");
  const std::map<std::string, model::Totals> expected{
      {"half half=first", {3, 15}}, {"half half=2nd", {9, 18}}, {"cpu-clock", {1, 7}}, {"page-faults", {3, 300}}};
  const auto counted = build_profile(recording_, {});
  EXPECT_EQ(sums(counted), expected);
  EXPECT_EQ(counted.samples.size(), 4u);  // equal samples are one row
  EXPECT_EQ(sums(build_profile(recording_, {.keep_every_sample = true})), expected);
  EXPECT_EQ(sums(build_profile(recording_, {.stitch_branches = true})), expected);
}

TEST_F(SampleReadingTest, SeveralReadingsHaveTheirOwnLabels) {
  add_halves(0, "half");
  add_halves(1, "part");
  const auto profile = build_profile(recording_, {});
  EXPECT_EQ(sums(profile), (std::map<std::string, model::Totals>{{"half half=first", {3, 15}},
                                                                 {"half half=2nd", {9, 18}},
                                                                 {"cpu-clock", {1, 7}},
                                                                 {"part part=first", {3, 150}},
                                                                 {"part part=2nd", {9, 150}}}));
}

TEST_F(SampleReadingTest, TheFirstOfTwoReadingsOfAnEventDoes) {
  add_halves(0, "half");
  add_halves(0, "other");
  const auto found = sums(build_profile(recording_, {}));
  EXPECT_TRUE(found.contains("half half=first"));
  EXPECT_FALSE(found.contains("other other=first"));
}

TEST_F(SampleReadingTest, FiltersKnowTheShownEvent) {
  add_halves(0, "half");
  const auto profile = build_profile(recording_, {.filter = {.events = {"half"}}});
  EXPECT_EQ(model::totals(profile), (model::Totals{12, 33}));
  EXPECT_EQ(sums(build_profile(recording_, {.filter = {.events = {"cpu-clock"}}})),
            (std::map<std::string, model::Totals>{{"cpu-clock", {1, 7}}}));
}

TEST_F(SampleReadingTest, EventsSayTheirUnitAndWhatIsCounted) {
  add_halves(0, "half");
  const auto profile = build_profile(recording_, {.filter = {.events = {"half"}}});
  const model::Event& event = profile.events[profile.samples.event[0]];
  EXPECT_EQ(profile.text(event.unit), "ns");
  EXPECT_EQ(profile.text(event.counted), "things");
}

TEST_F(SampleReadingTest, EverySampleIsInTheOrderOfWhatItStandsFor) {
  add_halves(0, "half");
  const auto profile = build_profile(recording_, {.filter = {.events = {"half"}}, .keep_every_sample = true});
  EXPECT_EQ(profile.samples.time, (std::vector<uint64_t>{970, 970, 980, 980, 990, 990}));
  std::vector<uint64_t> visited;
  for_each_sample(recording_, {.events = {"half"}},
                  [&](const Sample& sample) { visited.push_back(sample.origin.time); });
  EXPECT_EQ(visited, profile.samples.time);
  EXPECT_EQ(profile.facts.first_time, 970u);
  EXPECT_EQ(profile.facts.last_time, 990u);
}

TEST_F(SampleReadingTest, TimesAreFilteredByWhatIsShown) {
  add_halves(0, "half");
  const auto profile = build_profile(recording_, {.filter = {.events = {"half"}, .begin_time = 985}});
  EXPECT_EQ(model::totals(profile), (model::Totals{4, 11}));
}

TEST_F(SampleReadingTest, WhatWasWrittenFromAProfileIsNotReadAgain) {
  recording_.converted = true;
  EXPECT_TRUE(add_readings(recording_, {.weight = "bytes_req"}).ok());
  EXPECT_TRUE(recording_.readings.empty());
}

}  // namespace
}  // namespace tephra::stream
