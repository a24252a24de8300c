#include "stream/wait_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "abi/wait_record.h"
#include "model/reading_notes.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"
#include "stream/syscall_names.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

std::string payload(tephra_wait_record wait) {
  wait.size = sizeof wait;
  return TestBytes().put(wait).put(uint32_t{0}).text();
}

class WaitReadingTest : public testing::Test {
 protected:
  WaitReadingTest() : test_(TestRecording::kUsual | PERF_SAMPLE_RAW) {
    test_.events()[0].name = "offcpu-time";
    test_.event("wakers", TestRecording::kUsual | PERF_SAMPLE_RAW);
  }
  void wait(uint64_t time, uint64_t ns, const tephra_wait_record& wait) {
    test_.sample({.time = time, .callchain = {kTestUserMarker, 1}, .period = ns, .raw = payload(wait)});
  }
  Recording recording() const {
    Recording recording = test_.recording();
    recording.recorder.emplace();
    recording.facts.arch = "x86_64";
    EXPECT_TRUE(add_readings(recording, {}).ok());
    return recording;
  }
  // What the labels of each sample say: "key=text".
  static std::vector<std::string> labels(const model::Profile& profile) {
    std::vector<std::string> all;
    for (const model::LabelSetId set : profile.samples.labels) {
      std::set<std::string> texts;
      for (const model::Label& label : profile.label_sets[set].labels) {
        std::string text(profile.text(label.key));
        text.append("=").append(profile.text(label.text));
        if (label.number != 0) text += std::to_string(label.number);
        texts.insert(text);
      }
      std::string text;
      for (const std::string& each : texts) text += (text.empty() ? "" : " ") + each;
      all.push_back(text);
    }
    return all;
  }

  TestRecording test_;
};

TEST_F(WaitReadingTest, ALockIsOfTheFileWhoseCodeIsBelowIt) {
  test_.mmap2({.pid = 1, .start = 0x401000, .size = 0x1000, .offset = 0x1000, .path = "/bin/one"});
  test_.mmap2({.pid = 2, .start = 0x402000, .size = 0x1000, .offset = 0x2000, .path = "/bin/two"});
  tephra_wait_record wait{.state = TEPHRA_WAIT_SLEEPING, .syscall = 202, .count = 1, .address = 0x404010};
  for (const int32_t pid : {1, 2, 3}) {
    test_.sample({.time = 5000, .pid = pid, .tid = pid, .callchain = {kTestUserMarker, 1}, .raw = payload(wait)});
  }
  wait.address = 0x401800;  // in the code itself
  test_.sample({.time = 5000, .callchain = {kTestUserMarker, 1}, .raw = payload(wait)});
  const auto profile = build_profile(recording(), {});
  std::vector<std::string> places;
  for (const model::LabelSetId set : profile.samples.labels) {
    const auto& labels = profile.label_sets[set].labels;
    const auto lock =
        std::ranges::find_if(labels, [&](const auto& label) { return profile.text(label.key) == kLockLabel; });
    ASSERT_NE(lock, labels.end());
    const model::Frame& frame = profile.frames[model::FrameId{static_cast<uint32_t>(lock->number)}];
    places.push_back(fmt::format("{} {}+{:#x}", profile.text(lock->text),
                                 profile.text(profile.mappings[frame.mapping].path), frame.address));
  }
  EXPECT_EQ(places,
            (std::vector<std::string>{"0x404010 /bin/one+0x8000000000004010", "0x404010 /bin/two+0x8000000000004010",
                                      "0x404010 +0x0", "0x401800 +0x0"}));
}

TEST_F(WaitReadingTest, CountsAndLabelsAreThoseOfThePayload) {
  wait(5000, 900, {.state = TEPHRA_WAIT_SLEEPING, .syscall = 202, .count = 3, .address = 0x7f1000, .waker = 4});
  wait(5000, 40,
       {.state = TEPHRA_WAIT_UNINTERRUPTIBLE, .flags = TEPHRA_WAIT_FOR_IO, .syscall = TEPHRA_NO_SYSCALL, .count = 2});
  const auto profile = build_profile(recording(), {});
  EXPECT_EQ(profile.samples.count, (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(profile.samples.value, (std::vector<uint64_t>{900, 40}));
  EXPECT_EQ(labels(profile), (std::vector<std::string>{"lock=0x7f1000 state=sleeping syscall=futex waker=4",
                                                       "cause=disk state=uninterruptible"}));
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "ns");
}

TEST_F(WaitReadingTest, SingleWaitsAreWhenTheyBegan) {
  wait(5000, 900,
       {.flags = TEPHRA_WAIT_SINGLE | TEPHRA_WAIT_OPEN_END, .syscall = TEPHRA_NO_SYSCALL, .count = 1, .began = 4100});
  wait(4500, 10, {.syscall = TEPHRA_NO_SYSCALL, .count = 1, .began = 17});
  const auto profile = build_profile(recording(), {.keep_every_sample = true});
  EXPECT_EQ(profile.samples.time, (std::vector<uint64_t>{4100, 4500}));
  EXPECT_EQ(labels(profile), (std::vector<std::string>{"open=end state=sleeping wait=single", "state=sleeping"}));
}

TEST_F(WaitReadingTest, WakersKeepTheirNumbers) {
  const std::string raw = TestBytes().put(uint64_t{4}).put(uint64_t{9}).put(uint32_t{0}).text();
  test_.sample({.time = 1, .callchain = {kTestUserMarker, 1}, .event = 1, .raw = raw});
  const auto profile = build_profile(recording(), {});
  EXPECT_EQ(labels(profile), (std::vector<std::string>{"waker=4 woken by=9"}));
}

TEST_F(WaitReadingTest, TheIdleTaskMayWakeOthers) {
  const std::string raw = TestBytes().put(uint64_t{4}).put(uint64_t{0}).put(uint32_t{0}).text();
  test_.sample({.time = 1, .pid = 0, .tid = 0, .callchain = {kTestUserMarker, 1}, .event = 1, .raw = raw});
  const auto profile = build_profile(recording(), {.filter = {.keep_idle = false}});
  EXPECT_EQ(labels(profile), (std::vector<std::string>{"waker=4"}));
  EXPECT_EQ(profile.quality.idle, 0u);
}

TEST_F(WaitReadingTest, OlderPayloadsAreShorter) {
  TestBytes raw;
  raw.put(uint32_t{24}).put(uint32_t{TEPHRA_WAIT_OTHER}).put(uint32_t{0}).put(uint32_t{0}).put(uint64_t{5});
  test_.sample({.time = 1, .callchain = {kTestUserMarker, 1}, .period = 7, .raw = raw.put(uint32_t{0}).text()});
  const auto profile = build_profile(recording(), {});
  EXPECT_EQ(labels(profile), (std::vector<std::string>{"state=other syscall=read"}));
  EXPECT_EQ(profile.samples.count[0], 5u);
}

TEST_F(WaitReadingTest, DamagedPayloadsKeepTheirTimeAndAreTold) {
  wait(1, 30, {.state = TEPHRA_WAIT_STATES, .count = 77});
  test_.sample({.time = 2, .callchain = {kTestUserMarker, 1}, .period = 12, .raw = std::string(4, '\xff')});
  const Recording read = recording();
  const auto profile = build_profile(read, {});
  EXPECT_EQ(model::totals(profile), (model::Totals{2, 42}));
  ASSERT_EQ(model::reading_notes(read.facts).size(), 1u);
  EXPECT_EQ(model::reading_notes(read.facts)[0].text, "2 samples without what the recorder tells of waits");
}

TEST_F(WaitReadingTest, OtherRecordersSayNothingButTheTime) {
  wait(1, 30, {.count = 5});
  Recording recording = test_.recording();
  ASSERT_TRUE(add_readings(recording, {}).ok());
  const auto profile = build_profile(recording, {});
  EXPECT_EQ(model::totals(profile), (model::Totals{1, 30}));
  EXPECT_EQ(profile.text(profile.events[profile.samples.event[0]].unit), "ns");
  EXPECT_TRUE(profile.samples.labels.empty());
}

TEST(SyscallNamesTest, ByMachine) {
  EXPECT_EQ(syscall_name(0, "x86_64"), "read");
  EXPECT_EQ(syscall_name(202, "x86_64"), "futex");
  EXPECT_EQ(syscall_name(98, "aarch64"), "futex");
  EXPECT_EQ(syscall_name(63, "aarch64"), "read");
  EXPECT_EQ(syscall_name(9999, "x86_64"), "syscall 9999");
  EXPECT_EQ(syscall_name(1, "s390x"), "syscall 1");
}

}  // namespace
}  // namespace tephra::stream
