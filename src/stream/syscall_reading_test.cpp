#include "stream/syscall_reading.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "abi/activity_record.h"
#include "model/reading_notes.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

tephra_activity_record calls(uint32_t number, uint64_t count, uint64_t ns) {
  tephra_activity_record record{};
  record.size = sizeof record;
  record.kind = TEPHRA_SYSCALL;
  record.detail = number;
  record.count = count;
  record.ns = ns;
  return record;
}

class SyscallReadingTest : public testing::Test {
 protected:
  SyscallReadingTest() : test_(TestRecording::kUsual | PERF_SAMPLE_RAW) { test_.events()[0].name = "syscalls"; }

  void add(const tephra_activity_record& record) { add_raw(TestBytes().put(record).put(uint32_t{0}).text()); }
  void add_raw(std::string raw) {
    test_.sample({.time = 5, .callchain = {kTestUserMarker, 1}, .period = 1, .raw = std::move(raw)});
  }
  // "event value/count key=text …" of each sample, in any order.
  std::multiset<std::string> shown() {
    Recording recording = test_.recording();
    recording.recorder.emplace();
    recording.facts.arch = "x86_64";
    EXPECT_TRUE(add_readings(recording, {}).ok());
    notes_ = model::reading_notes(recording.facts).size();
    const auto profile = build_profile(recording, {});
    std::multiset<std::string> all;
    for (size_t i = 0; i < profile.samples.size(); ++i) {
      std::string text(profile.text(profile.events[profile.samples.event[i]].name));
      text += " " + std::to_string(profile.samples.value[i]) + "/" + std::to_string(profile.samples.count[i]);
      if (!profile.samples.labels.empty()) {
        for (const model::Label& label : profile.label_sets[profile.samples.labels[i]].labels) {
          text.append(" ").append(profile.text(label.key)).append("=").append(profile.text(label.text));
        }
      }
      all.insert(text);
    }
    return all;
  }

  TestRecording test_;
  size_t notes_ = 0;
};

using Shown = std::multiset<std::string>;

TEST_F(SyscallReadingTest, CallsHaveCountsAndTimes) {
  add(calls(0, 7, 900));
  EXPECT_EQ(shown(), (Shown{"syscall-count 7/7 call=read", "syscall-time 900/7 call=read"}));
}

// They were counted in an earlier sum.
TEST_F(SyscallReadingTest, CallsThatEndedHaveTimeAlone) {
  add(calls(1, 0, 50));
  EXPECT_EQ(shown(), (Shown{"syscall-time 50/1 call=write"}));
}

TEST_F(SyscallReadingTest, SumsWithoutStackAreOfNoCall) {
  auto sum = calls(0, 3, 0);
  sum.flags = TEPHRA_ACTIVITY_NO_STACK;
  add(sum);
  const Shown all = shown();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.begin()->find("call="), std::string::npos) << *all.begin();
}

TEST_F(SyscallReadingTest, DamagedSamplesAreToldAndNotShown) {
  add_raw("short");
  auto huge = calls(0, 1, 1);
  huge.size = 1 << 20;
  add(huge);
  auto other = calls(0, 1, 1);
  other.kind = TEPHRA_TCP_SENT;
  add(other);
  add(calls(0, 1, 1));
  EXPECT_EQ(shown().size(), 2u);
  EXPECT_EQ(notes_, 1u);
}

}  // namespace
}  // namespace tephra::stream
