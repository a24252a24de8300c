#include "stream/io_reading.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <map>

#include "abi/activity_record.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

constexpr uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                             PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
constexpr uint32_t kDisk = 254 << 20;

tephra_activity_record record_of(uint32_t kind, uint64_t count, uint64_t bytes, uint64_t ns, const char* device) {
  tephra_activity_record record{};
  record.size = sizeof record;
  record.kind = kind;
  record.detail = kDisk;
  record.count = count;
  record.bytes = bytes;
  record.ns = ns;
  record.longest_ns = ns;
  std::strncpy(reinterpret_cast<char*>(record.extra), device, sizeof record.extra);
  return record;
}

// With the four bytes that fill the field up to whole words.
std::string raw_of(const tephra_activity_record& record) {
  return std::string(reinterpret_cast<const char*>(&record), sizeof record) + std::string(4, '\0');
}

TestRecording io_recording() {
  TestRecording test(kFields);
  test.events()[0].name = kIoEvent;
  return test;
}

model::Profile profile_of(const TestRecording& test) {
  Recording recording = test.recording();
  recording.recorder.emplace();
  EXPECT_TRUE(add_readings(recording, {}).ok());
  return build_profile(recording, {});
}

using Rows = std::map<std::string, std::pair<uint64_t, uint64_t>>;

// By event and labels, counts and values.
Rows rows_of(const model::Profile& profile) {
  Rows rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    std::string text(profile.text(profile.events[profile.samples.event[i]].name));
    for (const auto& label : profile.label_sets[profile.samples.labels[i]].labels) {
      const std::string_view word = profile.text(label.text);
      text += " " + (word.empty() ? std::to_string(label.number) : std::string(word));
    }
    rows[text].first += profile.samples.count[i];
    rows[text].second += profile.samples.value[i];
  }
  return rows;
}

TEST(IoReading, RequestsAndCallsHaveTimesAndBytes) {
  TestRecording test = io_recording();
  test.sample({.time = 1, .raw = raw_of(record_of(TEPHRA_BLOCK_READ, 3, 12288, 900, "vda"))});
  test.sample({.time = 2, .raw = raw_of(record_of(TEPHRA_FILE_SYNC, 1, 0, 70, "vda"))});
  const Rows expected{{"block-time read vda 900", {3, 900}},
                      {"block-bytes read vda 900", {3, 12288}},
                      {"file-time sync vda 70", {1, 70}},
                      {"file-bytes sync vda 70", {1, 0}}};
  EXPECT_EQ(rows_of(profile_of(test)), expected);
}

TEST(IoReading, FlagsAndDevicesWithoutNames) {
  TestRecording test = io_recording();
  auto failed = record_of(TEPHRA_BLOCK_WRITE, 1, 512, 10, "");
  failed.flags = TEPHRA_ACTIVITY_FAILED | TEPHRA_ACTIVITY_OPEN;
  failed.longest_ns = 123456;
  test.sample({.time = 1, .raw = raw_of(failed)});
  EXPECT_EQ(rows_of(profile_of(test)).count("block-bytes write 254:0 failed end 123000"), 1u)
      << rows_of(profile_of(test)).begin()->first;
}

TEST(IoReading, WhatMakesNoSenseIsLeftOutAndTold) {
  TestRecording test = io_recording();
  auto other = record_of(TEPHRA_SYSCALL, 1, 1, 1, "vda");
  auto too_long = record_of(TEPHRA_BLOCK_READ, 1, 1, 1, "vda");
  too_long.size = 60000;
  test.sample({.time = 1, .raw = raw_of(other)});
  test.sample({.time = 2, .raw = raw_of(too_long)});
  test.sample({.time = 3, .raw = std::string(12, '\xff')});
  const auto profile = profile_of(test);
  EXPECT_EQ(profile.samples.size(), 0u);
}

TEST(IoReading, NamesWithoutAnEndAndLargestNumbers) {
  TestRecording test = io_recording();
  auto record = record_of(TEPHRA_FILE_READ, 0, UINT64_MAX, UINT64_MAX, "");
  std::memset(record.extra, 'z', sizeof record.extra);
  record.longest_ns = UINT64_MAX;
  test.sample({.time = 1, .raw = raw_of(record)});
  const auto rows = rows_of(profile_of(test));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NE(rows.begin()->first.find(std::string(16, 'z')), std::string::npos);
}

TEST(IoReading, OtherRecordingsStayWhatTheyAre) {
  TestRecording test;
  test.sample({.time = 1});
  Recording recording = test.recording();
  EXPECT_TRUE(add_readings(recording, {}).ok());
  EXPECT_TRUE(recording.readings.empty());
}

}  // namespace
}  // namespace tephra::stream
