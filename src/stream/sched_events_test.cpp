#include "stream/sched_events.h"

#include <gtest/gtest.h>

#include "stream/lost_spans.h"
#include "stream/sched_recording_for_tests.h"

namespace tephra::stream {
namespace {

// What is read points into the recording, and into what `events` knows of it.
std::vector<SchedEvent> read_all(const Recording& recording, const base::Result<SchedEvents>& events) {
  EXPECT_TRUE(events.ok());
  std::vector<SchedEvent> read;
  if (events.ok()) {
    for_each_sched_event(recording, *events, [&](const Sample&, const SchedEvent& event) { read.push_back(event); });
  }
  return read;
}

TEST(SchedEvents, ReadsEveryKindByItsFields) {
  TestSched test;
  test.switched(10, 0, 5, TestSched::kSleeping, 6);
  test.switched(11, 0, 6, TestSched::kPreempted, 5);
  test.woken(TestSched::kNew, 12, 0, 5, 7, 3);
  test.migrated(13, 0, 5, 7, 3, 1);
  test.accounted(14, 0, 5, 12345678901);
  test.forked(15, 0, 5, 8);
  test.interrupt(TestSched::kIrqEntry, 16, 0, 5, 40);
  test.interrupt(TestSched::kSoftExit, 17, 0, 5, 3);
  test.interrupt(TestSched::kTimerEntry, 18, 0, 5, 236);
  const Recording recording = test.recording();
  const auto events = SchedEvents::of(recording);
  const auto read = read_all(recording, events);
  ASSERT_EQ(read.size(), 9u);
  const auto& first = std::get<SchedSwitch>(read[0]);
  EXPECT_EQ(first.previous.tid, 5);
  EXPECT_EQ(first.previous.comm, "t5");
  EXPECT_EQ(first.next.tid, 6);
  EXPECT_EQ(first.state.letter, 'S');
  const auto& second = std::get<SchedSwitch>(read[1]);
  EXPECT_TRUE(second.state.runnable());
  EXPECT_TRUE(second.state.preempted);
  const auto& woken = std::get<SchedWakeup>(read[2]);
  EXPECT_EQ(woken.kind, SchedWakeup::Kind::kNew);
  EXPECT_EQ(woken.target_cpu, 3);
  const auto& moved = std::get<SchedMigration>(read[3]);
  EXPECT_EQ(moved.from_cpu, 3);
  EXPECT_EQ(moved.to_cpu, 1);
  EXPECT_EQ(std::get<SchedRuntime>(read[4]).nanoseconds, 12345678901u);
  EXPECT_EQ(std::get<SchedFork>(read[5]).child.tid, 8);
  const auto& irq = std::get<Interrupt>(read[6]);
  EXPECT_EQ(irq.kind, InterruptKind::kHard);
  EXPECT_EQ(irq.name, "eth0");
  const auto& soft = std::get<Interrupt>(read[7]);
  EXPECT_FALSE(soft.entry);
  EXPECT_EQ(soft.name, "NET_RX");
  EXPECT_EQ(std::get<Interrupt>(read[8]).name, "local_timer");
}

TEST(SchedEvents, SamplesThatAreTooShortAreNotRead) {
  TestSched test;
  test.switched(10, 0, 5, TestSched::kSleeping, 6);
  TestSample cut;
  cut.event = 1;
  cut.time = 20;
  cut.raw = std::string(36, '\1');  // prev_state is within, next_pid is not
  test.records().sample(cut);
  const Recording recording = test.recording();
  EXPECT_EQ(read_all(recording, SchedEvents::of(recording)).size(), 1u);
}

TEST(SchedEvents, WithoutSwitchesThereIsNothingToRead) {
  TestRecording test;
  const Recording recording = test.recording();
  const auto events = SchedEvents::of(recording);
  ASSERT_FALSE(events.ok());
  EXPECT_NE(events.error().message().find("sched:sched_switch is needed, and it has cpu-clock"), std::string::npos);
}

TEST(LostSpans, LieBetweenTheRecordsAroundThem) {
  TestSched test;
  test.switched(100, 0, 5, 0, 6).switched(150, 1, 7, 0, 8);
  test.lost(300, 0, 4);
  test.switched(310, 0, 6, 0, 5);
  const LostSpans spans = LostSpans::of(test.recording());
  EXPECT_EQ(spans.count(), 4u);
  EXPECT_TRUE(spans.touch(0, 100, 110));
  EXPECT_TRUE(spans.touch(0, 50, 101));
  EXPECT_FALSE(spans.touch(0, 50, 100));
  EXPECT_FALSE(spans.touch(0, 300, 310));
  EXPECT_FALSE(spans.touch(1, 100, 300));
  EXPECT_TRUE(spans.touch(200, 210));
}

TEST(LostSpans, WithoutATimeTheyReachFromTheLastRecordsToTheEnd) {
  TestSched test;
  test.switched(100, 0, 5, 0, 6).switched(150, 1, 7, 0, 8).lost(0, 0, 2);
  const LostSpans spans = LostSpans::of(test.recording());
  EXPECT_FALSE(spans.touch(1, 50, 100));
  EXPECT_TRUE(spans.touch(1, 150, 1000));
}

}  // namespace
}  // namespace tephra::stream
