// Waits that are known one by one: where they are in time, on charts, and summed up by where a program waits.
#include <gtest/gtest.h>

#include "analysis/flame_chart.h"
#include "analysis/folded_for_tests.h"
#include "analysis/single_waits.h"
#include "analysis/top_waits.h"
#include "analysis/wait_frames.h"
#include "model/profile_assembler.h"
#include "stream/wait_states.h"

namespace tephra::analysis {
namespace {

// A thread that runs and waits. Frames that begin with '/' are of libc, with '#' of the kernel.
class RunsAndWaits {
 public:
  RunsAndWaits()
      : runs_(made_.event({made_.string("cpu-clock"), made_.string("ns")})),
        waits_(made_.event({made_.string(stream::kWaitEvent), made_.string("ns")})) {}

  RunsAndWaits& ran(uint64_t time, const std::vector<std::string>& frames) {
    made_.sample({.stack = stack(frames), .event = runs_, .thread = thread(), .count = 1, .value = 10, .time = time});
    return *this;
  }
  RunsAndWaits& waited(uint64_t time, uint64_t length, const std::vector<std::string>& frames, bool single = true,
                       uint64_t count = 1, std::string_view lock = "") {
    std::vector<model::Label> labels{{made_.string(stream::kStateLabel), made_.string("sleeping"), 0, {}}};
    if (single) labels.push_back({made_.string(stream::kExtentLabel), made_.string(stream::kSingleWait), 0, {}});
    if (!lock.empty()) labels.push_back({made_.string(stream::kLockLabel), made_.string(lock), 0, {}});
    made_.sample({.stack = stack(frames),
                  .event = waits_,
                  .thread = thread(),
                  .count = count,
                  .value = length,
                  .time = time,
                  .labels = made_.labels(labels)});
    return *this;
  }
  model::Profile finish() { return std::move(made_).finish(); }

 private:
  model::ThreadId thread() { return made_.thread({1, 2, made_.string("app")}); }

  model::StackId stack(const std::vector<std::string>& frames) {
    model::StackId stack;
    for (const std::string& frame : frames) {
      const bool libc = frame[0] == '/';
      const bool kernel = frame[0] == '#';
      const auto name = made_.string(libc || kernel ? frame.substr(1) : frame);
      const auto path = made_.string(libc ? "/lib/libc.so.6" : kernel ? "[kernel.kallsyms]" : "/bin/app");
      const auto mapping =
          made_.mapping({.path = path, .kind = kernel ? model::CodeKind::kKernel : model::CodeKind::kFile});
      stack = made_.stack(stack, made_.frame({.mapping = mapping, .function = made_.function({name, name, true})}));
    }
    return stack;
  }

  model::ProfileAssembler made_;
  model::EventId runs_;
  model::EventId waits_;
};

TEST(SingleWaits, AreThoseThatSaySo) {
  const auto waits = single_waits(RunsAndWaits()
                                      .ran(100, {"main"})
                                      .waited(110, 500, {"main", "#futex_wait"})
                                      .waited(0, 900, {"main", "#futex_wait"}, false, 7)
                                      .finish());
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].row, 1u);
  EXPECT_EQ(waits[0].begin, 110u);
  EXPECT_EQ(waits[0].length, 500u);
  EXPECT_EQ(waits[0].kind, WaitKind::kLock);
}

TEST(FlameChartOfWaits, StandsBetweenWhatRan) {
  const auto chart = flame_chart(RunsAndWaits()
                                     .ran(1000, {"main", "work"})
                                     .ran(1010, {"main", "work"})
                                     .waited(1015, 400, {"main", "lock", "#futex_wait"})
                                     .ran(1420, {"main", "work"})
                                     .waited(0, 900, {"main", "#futex_wait"}, false, 7)
                                     .finish());
  EXPECT_EQ(chart.begin, 1000u);  // a sum of waits has no place in time
  EXPECT_EQ(chart.period, 10u);
  ASSERT_EQ(chart.lanes.size(), 1u);
  EXPECT_EQ(chart.lanes[0].waiting, 400u);
  EXPECT_EQ(chart.lanes[0].running, 25u);
  std::vector<std::string> boxes;
  for (const FlameChart::Box& box : chart.lanes[0].boxes) {
    boxes.push_back(chart.names[box.name].label + " " + std::to_string(box.begin) + "-" + std::to_string(box.end) +
                    (box.wait == WaitKind::kLock ? " lock" : ""));
  }
  EXPECT_EQ(boxes, (std::vector<std::string>{"main 0-15", "work 0-15", "main 15-415 lock", "lock 15-415 lock",
                                             "futex_wait 15-415 lock", "main 420-430", "work 420-430"}));
}

TEST(FlameChartOfWaits, LengthsOfDamagedFilesDoNotWrapAround) {
  const auto chart =
      flame_chart(RunsAndWaits().waited(UINT64_MAX - 5, UINT64_MAX, {"main"}).waited(3, UINT64_MAX, {"main"}).finish());
  for (const FlameChart::Lane& lane : chart.lanes) {
    for (const FlameChart::Box& box : lane.boxes) {
      EXPECT_LE(box.begin, box.end);
      EXPECT_LE(box.end, chart.duration);
    }
  }
}

TEST(TopWaits, NameTheProgramsOwnFunctionAndTheKind) {
  const auto profile = RunsAndWaits()
                           .waited(10, 300, {"main", "take", "/pthread_mutex_lock", "#futex_wait"})
                           .waited(20, 50, {"main", "take", "/pthread_mutex_lock", "#futex_wait"}, false, 4)
                           .waited(30, 200, {"main", "nap", "/usleep", "#do_nanosleep"})
                           .waited(40, 9, {"/start_thread", "#do_nanosleep"})
                           .waited(50, 8, {"#kthread", "#schedule"})
                           .ran(60, {"main", "take"})
                           .finish();
  const auto waits = top_waits(profile, 10);
  ASSERT_EQ(waits.size(), 5u);
  EXPECT_EQ(waits[0].function, "take");
  EXPECT_EQ(waits[0].kind, WaitKind::kLock);
  EXPECT_EQ(waits[0].nanoseconds, 350u);
  EXPECT_EQ(waits[0].count, 5u);
  EXPECT_EQ(waits[1].function, "nap");
  EXPECT_EQ(waits[1].kind, WaitKind::kSleep);
  EXPECT_EQ(waits[2].function, "take");
  EXPECT_EQ(waits[2].kind, WaitKind::kNone);
  EXPECT_EQ(waits[3].function, "start_thread");
  EXPECT_EQ(waits[4].function, "schedule");
  EXPECT_TRUE(waits[4].kernel);
}

model::Profile waits_for_locks() {
  return RunsAndWaits()
      .waited(10, 300, {"main", "take", "#futex_wait"}, true, 1, "queue_mutex")
      .waited(20, 100, {"main", "take", "#futex_wait"}, true, 1, "cache_mutex")
      .waited(30, 40, {"main", "take", "#futex_wait"}, true, 1, "0x55001000")
      .waited(40, 20, {"main", "take", "#futex_wait"}, true, 1, "0x55002000")
      .waited(50, 7, {"main", "nap", "#do_nanosleep"})
      .finish();
}

TEST(TopWaits, LocksWithANameAreToldApart) {
  const auto profile = waits_for_locks();
  std::vector<std::string> rows;
  for (const TopWait& wait : top_waits(profile, 10)) {
    rows.push_back(std::string(wait.lock) + " " + std::string(wait.function) + " " + std::to_string(wait.nanoseconds));
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"queue_mutex take 300", "cache_mutex take 100", " take 60", " nap 7"}));
}

TEST(WaitFrames, NameLocks) {
  const auto profile = with_wait_frames(waits_for_locks(), wait_kinds(waits_for_locks()));
  EXPECT_EQ(folded_values(profile),
            (std::map<std::string, uint64_t>{{"app;[lock queue_mutex];main;take;futex_wait", 300},
                                             {"app;[lock cache_mutex];main;take;futex_wait", 100},
                                             {"app;[lock];main;take;futex_wait", 60},
                                             {"app;[sleep];main;nap;do_nanosleep", 7}}));
  const auto hidden = with_wait_frames(waits_for_locks(), wait_kinds(waits_for_locks()), LockNames::kLeaveOut);
  EXPECT_EQ(folded_values(hidden), (std::map<std::string, uint64_t>{{"app;[lock];main;take;futex_wait", 460},
                                                                    {"app;[sleep];main;nap;do_nanosleep", 7}}));
  EXPECT_TRUE(is_wait_frame("[lock queue_mutex]"));
  EXPECT_FALSE(is_wait_frame("[lock"));
  EXPECT_FALSE(is_wait_frame("[locksmith]"));
}

TEST(TopWaits, WhoWokeItIsNotWhereItWaits) {
  const auto profile = RunsAndWaits().waited(10, 300, {"main", "take", "[woken by b]", "unlock"}).finish();
  const auto waits = top_waits(profile, 10);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].function, "take");
}

}  // namespace
}  // namespace tephra::analysis
