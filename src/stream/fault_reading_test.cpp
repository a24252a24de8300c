#include "stream/fault_reading.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <map>

#include "abi/fault_record.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"
#include "stream/sample_reading.h"

namespace tephra::stream {
namespace {

constexpr uint32_t kMapped = TEPHRA_FAULT_MAPPING_KNOWN | TEPHRA_FAULT_CAUSE_KNOWN;
constexpr uint32_t kWrite = kMapped | TEPHRA_FAULT_WRITE;

TEST(FaultClass, FreshMemoryIsOfTheMappingItIsIn) {
  EXPECT_EQ(classify_fault(kWrite, false), FaultClass::kAnonymous);
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_HEAP, false), FaultClass::kHeap);
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_STACK, false), FaultClass::kStack);
  EXPECT_EQ(classify_fault(kMapped | TEPHRA_FAULT_FILE, false), FaultClass::kFile);
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_FILE | TEPHRA_FAULT_SHARED, true), FaultClass::kFile);
  constexpr uint32_t kShared = TEPHRA_FAULT_FILE | TEPHRA_FAULT_MEMORY_FILE | TEPHRA_FAULT_SHARED;
  EXPECT_EQ(classify_fault(kWrite | kShared, false), FaultClass::kShared);
}

TEST(FaultClass, WritingWhatIsNotOnesOwnCopiesIt) {
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_PRESENT, false), FaultClass::kCopyOnWrite);
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_PRESENT | TEPHRA_FAULT_HEAP, false), FaultClass::kCopyOnWrite);
  EXPECT_EQ(classify_fault(kWrite | TEPHRA_FAULT_FILE, true), FaultClass::kCopyOnWrite);
}

TEST(FaultClass, WhatWasThereOrIsOfZerosAddsNothing) {
  const auto shared = kWrite | TEPHRA_FAULT_PRESENT | TEPHRA_FAULT_FILE | TEPHRA_FAULT_SHARED;
  EXPECT_EQ(classify_fault(shared, false), FaultClass::kPermission);
  EXPECT_EQ(classify_fault(kMapped | TEPHRA_FAULT_PRESENT, false), FaultClass::kPermission);
  EXPECT_EQ(classify_fault(kMapped | TEPHRA_FAULT_HEAP, false), FaultClass::kZeroPage);
  // Huge pages that were set aside are there even for a reader.
  EXPECT_EQ(classify_fault(kMapped | TEPHRA_FAULT_HUGETLB, false), FaultClass::kAnonymous);
  for (const FaultClass none : {FaultClass::kPermission, FaultClass::kZeroPage}) EXPECT_FALSE(adds_memory(none));
  EXPECT_TRUE(adds_memory(FaultClass::kUnknown));
}

TEST(FaultClass, MemoryThatWaitsForADiskComesFromSwap) {
  EXPECT_EQ(classify_fault(kMapped | TEPHRA_FAULT_HEAP, true), FaultClass::kSwapIn);
  constexpr uint32_t kShared = TEPHRA_FAULT_FILE | TEPHRA_FAULT_MEMORY_FILE | TEPHRA_FAULT_SHARED;
  EXPECT_EQ(classify_fault(kMapped | kShared, true), FaultClass::kSwapIn);
}

TEST(FaultClass, NothingIsGuessed) {
  EXPECT_EQ(classify_fault(0, false), FaultClass::kUnknown);
  EXPECT_EQ(classify_fault(TEPHRA_FAULT_CAUSE_KNOWN | TEPHRA_FAULT_WRITE, true), FaultClass::kUnknown);
  // A fault of which only the mapping is known may have read or written.
  EXPECT_EQ(classify_fault(TEPHRA_FAULT_MAPPING_KNOWN, false), FaultClass::kAnonymous);
}

constexpr uint64_t kFaultFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW | PERF_SAMPLE_DATA_PAGE_SIZE;

std::string facts(uint32_t flags) { return {reinterpret_cast<const char*>(&flags), sizeof flags}; }

TestRecording fault_recording() {
  TestRecording test(kFaultFields);
  test.events()[0].name = "minor-faults";
  test.layout().config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
  test.event("major-faults", kFaultFields).config = PERF_COUNT_SW_PAGE_FAULTS_MAJ;
  return test;
}

// Labels of all samples, in a line each, with what they weigh.
std::map<std::string, std::pair<uint64_t, uint64_t>> by_labels(const model::Profile& profile) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> sums;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    EXPECT_EQ(profile.text(profile.events[profile.samples.event[i]].name), kResidentMemory);
    std::string text;
    for (const auto& label : profile.label_sets[profile.samples.labels[i]].labels) {
      text += (text.empty() ? "" : " ") + std::string(profile.text(label.text));
    }
    sums[text].first += profile.samples.count[i];
    sums[text].second += profile.samples.value[i];
  }
  return sums;
}

TEST(FaultReading, FaultsOfBothKindsWeighTheirPages) {
  TestRecording test = fault_recording();
  test.sample({.time = 1, .raw = facts(kWrite | TEPHRA_FAULT_HEAP), .rest = {4096}});
  test.sample({.time = 2, .raw = facts(kWrite | TEPHRA_FAULT_HEAP), .rest = {2 << 20}});
  test.sample({.time = 3, .raw = facts(kMapped | TEPHRA_FAULT_HEAP), .rest = {4096}});
  test.sample({.time = 4, .event = 1, .raw = facts(kMapped | TEPHRA_FAULT_FILE), .rest = {4096}});
  test.sample({.time = 5, .raw = facts(0), .rest = {4096}});
  test.sample({.time = 6, .raw = facts(kWrite), .rest = {0}});
  Recording recording = test.recording();
  add_readings(recording, {});
  const auto profile = build_profile(recording, {});
  const std::map<std::string, std::pair<uint64_t, uint64_t>> expected{{"heap minor", {2, 4096 + (2 << 20)}},
                                                                      {"zero-page minor", {1, 0}},
                                                                      {"file major", {1, 4096}},
                                                                      {"unknown minor", {1, 4096}},
                                                                      {"anonymous minor size unknown", {1, 0}}};
  EXPECT_EQ(by_labels(profile), expected);
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "bytes");
}

TEST(FaultReading, WithAPeriodAFaultStandsForOthers) {
  TestRecording test = fault_recording();
  test.layout().sample_period_or_frequency = 10;
  test.sample({.time = 1, .raw = facts(kWrite), .rest = {4096}});
  Recording recording = test.recording();
  add_readings(recording, {});
  EXPECT_EQ(by_labels(build_profile(recording, {})).at("anonymous minor"), std::pair(uint64_t{1}, uint64_t{40960}));
}

TEST(FaultReading, OtherEventsAndFaultsWithoutPagesStayWhatTheyAre) {
  TestRecording other;
  other.sample({.time = 1});
  Recording recording = other.recording();
  add_readings(recording, {});
  EXPECT_TRUE(recording.readings.empty());
  TestRecording plain;
  plain.layout().config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
  recording = plain.recording();
  add_readings(recording, {});
  EXPECT_TRUE(recording.readings.empty());
}

}  // namespace
}  // namespace tephra::stream
