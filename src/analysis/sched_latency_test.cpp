#include "analysis/sched_latency.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/sched_map.h"
#include "analysis/sched_timeline.h"
#include "stream/sched_recording_for_tests.h"

namespace tephra::analysis {
namespace {

using stream::TestSched;

SchedLatency latency_of(TestSched& test, const SchedLatencyOptions& options = {}) {
  const stream::Recording recording = test.recording();
  const auto events = stream::SchedEvents::of(recording);
  EXPECT_TRUE(events.ok());
  return sched_latency(recording, *events, options);
}

const SchedThread& thread_of(const SchedLatency& latency, int32_t tid) {
  static const SchedThread kNone;
  const auto found = std::find_if(latency.threads.begin(), latency.threads.end(),
                                  [&](const SchedThread& thread) { return thread.tid == tid; });
  EXPECT_NE(found, latency.threads.end()) << tid;
  return found == latency.threads.end() ? kNone : *found;
}

// 5 sleeps at 100 and is woken at 200; 6 runs until 260.
TestSched one_wait() {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6);
  test.woken(TestSched::kWaking, 200, 1, 9, 5, 0).woken(TestSched::kWakeup, 205, 1, 9, 5, 0);
  test.switched(260, 0, 6, TestSched::kRunnable, 5);
  test.switched(300, 0, 5, TestSched::kSleeping, 6);
  return test;
}

TEST(SchedLatency, ADelayGoesFromTheWakingToTheRun) {
  TestSched test = one_wait();
  const SchedLatency latency = latency_of(test);
  EXPECT_TRUE(latency.from_waking);
  const SchedThread& woken = thread_of(latency, 5);
  EXPECT_EQ(woken.delays.count(), 1u);
  EXPECT_EQ(woken.delays.worst, 60u);
  EXPECT_EQ(woken.delays.worst_from, 200u);
  EXPECT_EQ(woken.delays.worst_to, 260u);
  EXPECT_EQ(woken.run, 40u);
  EXPECT_EQ(woken.woken, 1u);
  const SchedThread& preempted = thread_of(latency, 6);
  EXPECT_EQ(preempted.run, 160u);
  EXPECT_EQ(preempted.preempted, 1u);
  ASSERT_EQ(preempted.preemptors.size(), 1u);
  EXPECT_EQ(preempted.preemptors[0].tid, 5);
  EXPECT_EQ(preempted.preemptors[0].waited, 40u);
}

TEST(SchedLatency, OrFromTheWakeup) {
  TestSched test = one_wait();
  const SchedLatency latency = latency_of(test, {.from = DelayFrom::kWakeup});
  EXPECT_EQ(thread_of(latency, 5).delays.worst, 55u);
}

TEST(SchedLatency, TellsWhoRanWhileAThreadWaited) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kRunnable, 6);
  test.switched(150, 0, 6, TestSched::kSleeping, 7);
  test.switched(170, 1, 8, TestSched::kSleeping, 9);
  test.migrated(180, 1, 9, 5, 0, 1);
  test.switched(200, 1, 9, TestSched::kSleeping, 5);
  const SchedLatency latency =
      latency_of(test, {.choice = {.pids = {}, .tids = {5}, .comms = {}}, .ran_instead = true});
  ASSERT_EQ(latency.threads.size(), 1u);
  const SchedThread& thread = latency.threads[0];
  EXPECT_EQ(thread.delays.worst, 100u);
  EXPECT_EQ(thread.migrations, 1u);
  std::vector<std::pair<int32_t, uint64_t>> ran;
  for (const RanInstead& other : thread.ran_instead) ran.emplace_back(other.tid, other.waited);
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(ran, (std::vector<std::pair<int32_t, uint64_t>>{{6, 50}, {7, 30}, {9, 20}}));
}

TEST(SchedLatency, NothingIsInventedAcrossALoss) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kRunnable, 6);
  test.switched(110, 1, 7, TestSched::kSleeping, 8);
  test.lost(190, 0, 3);
  test.switched(200, 0, 6, TestSched::kSleeping, 5);
  test.switched(230, 0, 5, TestSched::kSleeping, 6);
  test.switched(240, 1, 8, TestSched::kSleeping, 7);
  const SchedLatency latency = latency_of(test);
  EXPECT_EQ(latency.lost, 3u);
  EXPECT_EQ(thread_of(latency, 5).delays.count(), 0u);
  EXPECT_EQ(thread_of(latency, 5).unknown_delays, 1u);
  EXPECT_EQ(thread_of(latency, 6).run, 0u);
  EXPECT_EQ(thread_of(latency, 5).run, 30u);
  EXPECT_EQ(thread_of(latency, 8).run, 130u);  // on the other CPU
  EXPECT_EQ(latency.unknown_runs, 1u);
}

TEST(SchedLatency, SwitchesThatDoNotFitAreNotCounted) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6).switched(200, 0, 9, TestSched::kSleeping, 7);
  const SchedLatency latency = latency_of(test);
  EXPECT_EQ(latency.unknown_runs, 1u);
  EXPECT_EQ(thread_of(latency, 6).run, 0u);
  EXPECT_EQ(thread_of(latency, 9).run, 0u);
}

TEST(SchedLatency, InterruptsInsideOthersAreCountedOnce) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6);
  test.interrupt(TestSched::kSoftEntry, 110, 0, 6, 1).interrupt(TestSched::kIrqEntry, 120, 0, 6, 40);
  test.interrupt(TestSched::kIrqExit, 125, 0, 6, 40).interrupt(TestSched::kSoftExit, 140, 0, 6, 1);
  test.switched(200, 0, 6, TestSched::kSleeping, 5);
  const SchedLatency latency = latency_of(test);
  const SchedThread& thread = thread_of(latency, 6);
  EXPECT_EQ(thread.interrupted(), 30u);
  ASSERT_EQ(thread.interrupts.size(), 2u);
  EXPECT_EQ(thread.interrupts[0].name, "TIMER");
  EXPECT_EQ(thread.interrupts[0].total, 25u);
  EXPECT_EQ(thread.interrupts[1].name, "eth0");
  EXPECT_EQ(thread.interrupts[1].total, 5u);
}

TEST(SchedLatency, TheEdgesAreToldApart) {
  TestSched test;
  test.accounted(50, 0, 5, 10);  // 5 runs already
  test.switched(100, 0, 5, TestSched::kRunnable, 6);
  test.accounted(130, 1, 9, 10);  // the last that is heard of anything
  const SchedLatency latency = latency_of(test);
  EXPECT_EQ(thread_of(latency, 5).run, 0u);
  EXPECT_EQ(thread_of(latency, 5).edge_run, 50u);
  EXPECT_EQ(thread_of(latency, 5).waiting_since, 100u);
  EXPECT_EQ(thread_of(latency, 6).edge_run, 30u);
  EXPECT_EQ(thread_of(latency, 9).edge_run, 0u);
}

TEST(SchedLatency, WhereSwitchesAreHiddenNothingIsKnownOfTheEdges) {
  TestSched test;
  test.accounted(50, 0, 9, 10);  // not who leaves next
  test.switched(100, 0, 5, TestSched::kSleeping, 6).switched(150, 0, 5, TestSched::kSleeping, 6);
  test.switched(170, 0, 5, TestSched::kSleeping, 6).accounted(300, 1, 9, 10);
  const SchedLatency latency = latency_of(test);
  EXPECT_EQ(latency.unknown_runs, 3u);
  EXPECT_EQ(thread_of(latency, 5).whole_run(), 0u);
  EXPECT_EQ(thread_of(latency, 6).whole_run(), 0u);
  EXPECT_EQ(latency.idle, 0u);
}

TEST(SchedLatency, ANumberThatIsUsedAgainIsAnotherThread) {
  TestSched test;
  test.switched(100, 0, 6, TestSched::kSleeping, 5);
  test.switched(200, 0, 5, TestSched::kDead, 6);
  test.forked(250, 0, 6, 5).woken(TestSched::kNew, 260, 0, 6, 5, 0);
  test.switched(300, 0, 6, TestSched::kSleeping, 5);
  test.switched(310, 0, 5, TestSched::kDead, 6);
  const SchedLatency latency = latency_of(test);
  std::vector<uint64_t> runs;
  for (const SchedThread& thread : latency.threads) {
    if (thread.tid == 5) runs.push_back(thread.run);
  }
  EXPECT_EQ(runs, (std::vector<uint64_t>{100, 10}));
}

TEST(RunQueueDelays, QuantilesAreValuesThatWereSeen) {
  RunQueueDelays delays;
  for (uint64_t value = 1; value <= 200; ++value) delays.add(1000, 1000 + value);
  delays.finish();
  EXPECT_EQ(delays.quantile(0.99), 198u);
  EXPECT_EQ(delays.quantile(0.5), 100u);
  EXPECT_EQ(delays.quantile(1), 200u);
  EXPECT_EQ(delays.average(), 100u);
}

TEST(SchedThreads, OfOneNameAreMerged) {
  std::vector<SchedThread> threads(3);
  for (int at = 0; at < 3; ++at) {
    threads[at].tid = at + 1;
    threads[at].comm = at == 1 ? "other" : "same";
    threads[at].run = 10;
    threads[at].delays.add(0, static_cast<uint64_t>(at) + 1);
  }
  auto merged = merged_by_name(threads);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].threads, 2u);
  EXPECT_EQ(merged[0].run, 20u);
  EXPECT_EQ(merged[0].delays.worst, 3u);
  sort_threads(merged, {SchedSort::kTid});
  EXPECT_EQ(merged[0].tid, 1);
  sort_threads(merged, {SchedSort::kRunTime});
  EXPECT_EQ(merged[0].comm, "same");
}

std::vector<TimelineEntry> timeline_of(TestSched& test, const TimelineOptions& options = {}) {
  const stream::Recording recording = test.recording();
  const auto events = stream::SchedEvents::of(recording);
  EXPECT_TRUE(events.ok());
  std::vector<TimelineEntry> entries;
  sched_timeline(recording, *events, options, [&](const TimelineEntry& entry) { entries.push_back(entry); });
  return entries;
}

TEST(SchedTimeline, TellsEachRunWhenItEnds) {
  TestSched test = one_wait();
  const auto entries = timeline_of(test);
  ASSERT_EQ(entries.size(), 4u);  // three switches and a wake-up
  EXPECT_EQ(entries[1].kind, TimelineEntry::Kind::kWakeup);
  EXPECT_EQ(entries[2].task.tid, 6);
  EXPECT_EQ(entries[2].run, 160u);
  EXPECT_EQ(entries[3].task.tid, 5);
  EXPECT_EQ(entries[3].wait, 160u);
  EXPECT_EQ(entries[3].delay, 60u);
  EXPECT_EQ(entries[3].run, 40u);
}

TEST(SchedTimeline, EachCpuHasItsOwnIdleTask) {
  TestSched test;
  test.switched(100, 0, 0, TestSched::kRunnable, 5).switched(110, 1, 0, TestSched::kRunnable, 6);
  test.switched(150, 0, 5, TestSched::kSleeping, 0).switched(180, 0, 0, TestSched::kRunnable, 5);
  const auto entries = timeline_of(test);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[3].wait, 50u);
  EXPECT_EQ(entries[3].run, 30u);
}

TEST(SchedTimeline, CutsRunsAtTheWindow) {
  TestSched test = one_wait();
  const auto entries = timeline_of(test, {.choice = {}, .cpus = {}, .begin = 210, .end = 280});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].run, 50u);
  EXPECT_EQ(entries[1].run, 20u);
  EXPECT_EQ(entries[1].time, 280u);
}

TEST(SchedTimeline, DoesNotMeasureAcrossALoss) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6).lost(150, 0, 1).switched(200, 0, 6, TestSched::kSleeping, 5);
  test.switched(250, 0, 5, TestSched::kSleeping, 6);
  const auto entries = timeline_of(test);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_FALSE(entries[1].run_known);
  EXPECT_TRUE(entries[2].run_known);
  EXPECT_FALSE(entries[2].wait_known);
}

TEST(SchedMap, ShowsWhatIsKnownOfEachCpu) {
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6).switched(110, 2, 7, TestSched::kSleeping, 0);
  test.lost(150, 0, 1);
  test.switched(200, 2, 0, TestSched::kRunnable, 6);
  const stream::Recording recording = test.recording();
  const auto events = stream::SchedEvents::of(recording);
  ASSERT_TRUE(events.ok());
  const MapCpus cpus = map_cpus(recording, {});
  EXPECT_EQ(cpus.shown, (std::vector<int32_t>{0, 2}));
  std::vector<std::vector<MapCell>> steps;
  std::vector<bool> first;
  sched_map(recording, *events, cpus, {}, [&](const MapStep& step) {
    steps.emplace_back(step.cells.begin(), step.cells.end());
    first.push_back(step.first);
  });
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0][0].tid, 6);
  EXPECT_EQ(steps[0][1].kind, MapCell::Kind::kUnknown);
  EXPECT_EQ(steps[1][1].kind, MapCell::Kind::kIdle);
  EXPECT_EQ(steps[2][0].kind, MapCell::Kind::kUnknown);  // lost meanwhile
  EXPECT_EQ(steps[2][1].tid, 6);
  EXPECT_EQ(first, (std::vector<bool>{true, false, false}));
}

}  // namespace
}  // namespace tephra::analysis
