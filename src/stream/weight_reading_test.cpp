#include "stream/weight_reading.h"

#include <gtest/gtest.h>

#include "model/reading_notes.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"
#include "stream/tracing_data_for_tests.h"

namespace tephra::stream {
namespace {

constexpr uint64_t kAllocId = 42;

std::string raw_of(int64_t bytes) { return TestBytes().put(uint64_t{kAllocId}).put(bytes).put(uint32_t{0}).text(); }

class WeightReadingTest : public testing::Test {
 protected:
  WeightReadingTest() : test_(TestRecording::kUsual | PERF_SAMPLE_RAW) {
    test_.events()[0].name = "kmem:kmalloc";
    test_.layout().type = PERF_TYPE_TRACEPOINT;
    test_.layout().config = kAllocId;
    tracing_data_ =
        TestTracingData().event("kmalloc", kAllocId, "\tfield:long bytes_req;\toffset:8;\tsize:8;\tsigned:1;\n").text();
  }
  void alloc(int64_t bytes, uint64_t period = 1) {
    test_.sample({.callchain = {kTestUserMarker, 1}, .period = period, .raw = raw_of(bytes)});
  }
  Recording recording() const {
    Recording recording = test_.recording();
    recording.tracing_data = base::as_bytes(tracing_data_);
    return recording;
  }

  TestRecording test_;
  std::string tracing_data_;
};

TEST_F(WeightReadingTest, SamplesWeighTheField) {
  alloc(100);
  alloc(28);
  alloc(4, 10);  // one of ten was recorded
  Recording recording = this->recording();
  ASSERT_TRUE(add_readings(recording, {.weight = "bytes_req"}).ok());
  for (const bool every : {false, true}) {
    const auto profile = build_profile(recording, {.keep_every_sample = every});
    EXPECT_EQ(model::totals(profile), (model::Totals{3, 168}));
    EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "bytes");
  }
  EXPECT_TRUE(model::reading_notes(recording.facts).empty());
}

TEST_F(WeightReadingTest, WithoutTheOptionTheyWeighTheirPeriod) {
  alloc(100);
  Recording recording = this->recording();
  ASSERT_TRUE(add_readings(recording, {}).ok());
  EXPECT_EQ(model::totals(build_profile(recording, {})), (model::Totals{1, 1}));
}

TEST_F(WeightReadingTest, WhatHasNoSuchFieldIsLeftOutAndTold) {
  test_.event("cpu-clock", TestRecording::kUsual | PERF_SAMPLE_RAW);
  alloc(100);
  alloc(-5);
  test_.sample({.callchain = {kTestUserMarker, 1}, .raw = std::string(12, 'x')});
  for (int i = 0; i < 2; ++i) test_.sample({.callchain = {kTestUserMarker, 1}, .event = 1, .raw = std::string(4, 'x')});
  Recording recording = this->recording();
  ASSERT_TRUE(add_readings(recording, {.weight = "bytes_req"}).ok());
  EXPECT_EQ(model::totals(build_profile(recording, {})), (model::Totals{2, 100}));
  std::vector<std::string> notes;
  for (const auto& note : model::reading_notes(recording.facts)) notes.push_back(note.text);
  EXPECT_EQ(notes, (std::vector<std::string>{"2 samples of events without the field bytes_req left out",
                                             "1 sample too short for the field bytes_req left out",
                                             "1 sample with a negative bytes_req weigh nothing"}));
}

TEST_F(WeightReadingTest, ErrorsNameWhatThereIs) {
  alloc(100);
  Recording recording = this->recording();
  const auto added = add_readings(recording, {.weight = "bytes"});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().why, "no event has a number called 'bytes'");
  EXPECT_EQ(added.error().fix, "There are: bytes_req.");
}

TEST_F(WeightReadingTest, HugeWeightsDoNotWrapAround) {
  alloc(INT64_MAX, 4);
  Recording recording = this->recording();
  ASSERT_TRUE(add_readings(recording, {.weight = "bytes_req"}).ok());
  EXPECT_EQ(model::totals(build_profile(recording, {})).value, UINT64_MAX);
}

TEST(UnitOfFieldTest, ByTheWordsOfTheName) {
  EXPECT_EQ(unit_of_field("bytes_req"), "bytes");
  EXPECT_EQ(unit_of_field("data_len"), "bytes");
  EXPECT_EQ(unit_of_field("size"), "bytes");
  EXPECT_EQ(unit_of_field("delay"), "ns");
  EXPECT_EQ(unit_of_field("wait_ns"), "ns");
  EXPECT_EQ(unit_of_field("count"), "count");
  EXPECT_EQ(unit_of_field("lengthy"), "count");
  EXPECT_EQ(unit_of_field(""), "count");
}

}  // namespace
}  // namespace tephra::stream
