// collect/ on machines that tests choose. Recordings run against the real clock and real programs.
#include "collect/recorder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "formats/format.h"
#include "records_for_tests.h"
#include "wall_clock.h"

namespace tephra::collect {
namespace {

using fake::machine;

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fake-record-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.output.path = folder_ + "/perf.data";
    options_.target.command = {"sleep", "0.15"};
    options_.on_note = [this](const std::string& text) { notes_ += text + "\n"; };
#ifdef __SANITIZE_ADDRESS__
    // Names are looked up in a fork, and the fake machine's clock is a thread that allocates: unlike that of glibc, the
    // sanitizer's allocator may be locked for ever in the child.
    options_.embed_names = false;
#endif
    machine().reset();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void events(const std::string& text) { options_.events = *kernel::parse_events(text); }
  base::Result<RecordSummary> run() {
    const fake::WallClock clock(machine());
    return record(options_, {});
  }
  // The message of a recording that fails.
  std::string failure() {
    const auto summary = run();
    EXPECT_FALSE(summary) << "it should have failed";
    EXPECT_FALSE(std::filesystem::exists(options_.output.path));
    return summary ? "" : summary.error().message();
  }
  bool said(const std::string& text) const { return notes_.find(text) != std::string::npos; }

  std::string folder_;
  RecordOptions options_;
  std::string notes_;
};

TEST_F(RecorderTest, SamplesCyclesWhereTheyAreCounted) {
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->event_name, "cycles:P");
  EXPECT_EQ(summary->lost, 0u);
  // 4000 a second; the machine notices the program's start and end a little late.
  EXPECT_GT(summary->samples, 300u);
  EXPECT_LT(summary->samples, 1200u);
  EXPECT_EQ(notes_, "");
}

TEST_F(RecorderTest, SamplesCpuClockWhereCyclesStandStill) {
  fake::MachineConfig config;
  config.stuck = true;
  machine().reset(config);
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->event_name, "cpu-clock");
  EXPECT_GT(summary->samples, 300u);
  EXPECT_TRUE(said("cpu-clock"));
}

TEST_F(RecorderTest, SamplesCpuClockWhereThereIsNoPmu) {
  fake::MachineConfig config;
  config.pmu = false;
  machine().reset(config);
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->event_name, "cpu-clock");
}

TEST_F(RecorderTest, CountsWhatTheRingHadNoRoomFor) {
  fake::MachineConfig config;
  config.lose = 50;
  machine().reset(config);
  events("cycles");
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  // Every CPU's ring loses as many; one that the program never came to again tells by its read count alone.
  EXPECT_GE(summary->lost, 50u);
  EXPECT_LE(summary->lost, 100u);
}

TEST_F(RecorderTest, CountsWhatThePmuLost) {
  fake::MachineConfig config;
  config.lose_samples = 9;
  machine().reset(config);
  events("cycles");
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->lost, 9u * static_cast<uint64_t>(config.cpus));
}

TEST_F(RecorderTest, CountsPauses) {
  fake::MachineConfig config;
  config.throttle = true;
  config.max_sample_rate = 4000;
  machine().reset(config);
  events("cycles");
  options_.target.command = {"sleep", "0.25"};
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_GT(summary->throttled, 5u);
}

TEST_F(RecorderTest, TakesASmallerRingWhereMemoryMayNotBeLocked) {
  machine().fail_map([](size_t bytes) { return bytes > 64 << 10; }, EPERM);
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(said("rings are 64 KiB")) << notes_;
  EXPECT_GT(summary->samples, 300u);
}

// The limit is on all rings together, so the first must not take what the others need.
TEST_F(RecorderTest, SharesMemoryThatMayBeLockedAmongTheCpus) {
  fake::MachineConfig config;
  config.mlock_bytes = 2 * (64 << 10) + 2 * 4096;
  machine().reset(config);
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(said("rings are 64 KiB")) << notes_;
  EXPECT_EQ(summary->ring_bytes, size_t{64 << 10});
}

TEST_F(RecorderTest, ARingThatWasAskedForIsNotMadeSmaller) {
  fake::MachineConfig config;
  config.mlock_bytes = 64 << 10;
  machine().reset(config);
  options_.ring_bytes = 1 << 20;
  const std::string message = failure();
  EXPECT_NE(message.find("1024 KiB"), std::string::npos) << message;
  EXPECT_NE(message.find("perf_event_mlock_kb"), std::string::npos) << message;
}

TEST_F(RecorderTest, RunsOnOldKernels) {
  for (const char* version : {"3.10", "4.4", "4.19", "5.4", "5.15", "6.1"}) {
    fake::MachineConfig config;
    config.kernel = *fake::kernel_age(version);
    machine().reset(config);
    const auto summary = run();
    if (std::string(version) == "3.10") {
      // It has neither PERF_SAMPLE_IDENTIFIER nor MMAP2.
      EXPECT_FALSE(summary);
      continue;
    }
    ASSERT_TRUE(summary) << version << ": " << summary.error().message();
    EXPECT_GT(summary->samples, 200u) << version;
  }
}

TEST_F(RecorderTest, TellsOfEventsThatShareCounters) {
  fake::MachineConfig config;
  config.counters = 2;
  machine().reset(config);
  events("cycles,instructions,branches,branch-misses,cpu-clock");
  ASSERT_TRUE(run());
  for (const char* name : {"cycles", "instructions", "branches", "branch-misses"}) {
    const size_t at = notes_.find(std::string(name) + " was on a counter ");
    ASSERT_NE(at, std::string::npos) << notes_;
    EXPECT_NEAR(std::atoi(notes_.c_str() + notes_.find("counter ", at) + 8), 50, 8) << notes_;
  }
  EXPECT_FALSE(said("cpu-clock")) << notes_;
}

TEST_F(RecorderTest, DoesNotSpeakOfSharingWhereNothingIsShared) {
  events("cycles,instructions");
  ASSERT_TRUE(run());
  EXPECT_EQ(notes_, "");
  notes_.clear();
  options_.target.all_cpus = true;
  ASSERT_TRUE(run());
  EXPECT_FALSE(said("counter")) << notes_;
}

TEST_F(RecorderTest, TellsOfAGroupThatNeverRan) {
  fake::MachineConfig config;
  config.taken_counters = 3;
  machine().reset(config);
  events("{cycles,instructions}");
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->samples, 0u);
  EXPECT_TRUE(said("cycles was never on a counter")) << notes_;
  EXPECT_TRUE(said("instructions was never on a counter")) << notes_;
}

TEST_F(RecorderTest, TellsOfAPinnedEventThatFoundNoCounter) {
  fake::MachineConfig config;
  config.counters = 1;
  machine().reset(config);
  events("cycles:D,instructions:D");
  ASSERT_TRUE(run());
  EXPECT_TRUE(said("instructions:D was never on a counter")) << notes_;
  EXPECT_FALSE(said("cycles:D was never")) << notes_;
}

TEST_F(RecorderTest, SaysThatASocketCannotBeSampled) {
  events("uncore_imc_0/cas_count_read/");
  options_.target.all_cpus = true;
  EXPECT_NE(failure().find("whole socket"), std::string::npos);
}

struct Explained {
  int error;
  const char* says;
};

class ErrorsOfOpening : public RecorderTest, public ::testing::WithParamInterface<Explained> {};

TEST_P(ErrorsOfOpening, AreExplained) {
  events("cycles");
  machine().fail_open(fake::of_type(PERF_TYPE_HARDWARE), GetParam().error);
  const std::string message = failure();
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
  EXPECT_EQ(machine().events().size(), 0u) << "all descriptors are closed";
}

INSTANTIATE_TEST_SUITE_P(
    All, ErrorsOfOpening,
    ::testing::Values(Explained{ENOENT, "no such hardware counter"}, Explained{ENODEV, "no such hardware counter"},
                      Explained{ENXIO, "no such hardware counter"}, Explained{EOPNOTSUPP, "no such hardware counter"},
                      Explained{EMFILE, "ulimit -n"}, Explained{ENFILE, "fs.file-max"},
                      Explained{EINVAL, "refuses these settings"}, Explained{EBUSY, "another program has the counter"},
                      Explained{ENOMEM, "no memory for it"}, Explained{ENOSPC, "debug registers"},
                      Explained{E2BIG, "too old"}, Explained{EOVERFLOW, "--max-stack"},
                      Explained{EIO, "Input/output error"}),
    [](const auto& param) { return ::strerrorname_np(param.param.error); });

class RefusalsOfEverything : public RecorderTest, public ::testing::WithParamInterface<Explained> {};

TEST_P(RefusalsOfEverything, AreExplained) {
  events("cycles");
  machine().fail_open(fake::always(), GetParam().error);
  const std::string message = failure();
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, RefusalsOfEverything,
                         ::testing::Values(Explained{EPERM, "perf_event_paranoid"},
                                           Explained{EACCES, "perf_event_paranoid"},
                                           Explained{ENOSYS, "without perf events"}),
                         [](const auto& param) { return ::strerrorname_np(param.param.error); });

TEST_F(RecorderTest, TriesAgainWhenInterrupted) {
  machine().fail_open(fake::of_type(PERF_TYPE_HARDWARE), EINTR, 3);
  events("cycles");
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_GT(summary->samples, 300u);
}

TEST_F(RecorderTest, RunsOutOfDescriptorsHalfway) {
  events("cycles,instructions");
  machine().fail_open(fake::of_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), EMFILE);
  EXPECT_NE(failure().find("instructions"), std::string::npos);
  EXPECT_EQ(machine().events().size(), 0u);
}

TEST_F(RecorderTest, SaysThatSamplingIsTooFast) {
  fake::MachineConfig config;
  config.max_sample_rate = 100;
  machine().reset(config);
  events("cycles");
  options_.sampling.frequency = 1'000'000'000;
  const std::string message = failure();
  EXPECT_NE(message.find("perf_event_max_sample_rate"), std::string::npos) << message;
}

TEST_F(RecorderTest, SaysThatTheProgramWasKilled) {
  events("cycles");
  machine().fail_open(fake::of_type(PERF_TYPE_HARDWARE), ESRCH);
  EXPECT_NE(failure().find("killed before it started"), std::string::npos);
}

TEST_F(RecorderTest, SaysThatThereAreNoBranchStacks) {
  fake::MachineConfig config;
  config.branches = 0;
  machine().reset(config);
  events("cycles");
  options_.sampling.branch_types = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
  EXPECT_NE(failure().find("no branch stacks"), std::string::npos);
}

// The machine makes a branch of each caller, five bytes before where it returns to.
TEST_F(RecorderTest, BranchRecordsAreReadAsStacks) {
  events("cycles:u");
  options_.sampling.call_graph = CallGraph::kBranches;
  options_.target.command = {std::string(TEPHRA_BINARY_DIR) + "/programs/spin", "150"};
  ASSERT_TRUE(run());
  const auto content = base::FileContent::open(options_.output.path);
  ASSERT_TRUE(content);
  const auto profile = formats::read_profile(content->bytes(), "perf.data", {});
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->facts.engine, "branch records");
  size_t calls = 0;
  for (size_t i = 0; i < profile->samples.size(); ++i) {
    for (auto stack = profile->samples.stack[i]; stack; stack = profile->stacks[stack].parent) {
      const model::Frame& frame = profile->frames[profile->stacks[stack].frame];
      EXPECT_EQ(frame.kind, model::AddressKind::kInstruction);
      calls += profile->stacks[stack].parent ? 1 : 0;
    }
  }
  EXPECT_GT(calls, 0u);
}

TEST_F(RecorderTest, SaysThatBranchStacksAreNoCallStacks) {
  fake::MachineConfig config;
  config.branch_call_stacks = false;
  machine().reset(config);
  events("cycles");
  options_.sampling.call_graph = CallGraph::kBranches;
  EXPECT_NE(failure().find("no branch stacks"), std::string::npos);
}

TEST_F(RecorderTest, SaysThatSamplesCannotBePrecise) {
  fake::MachineConfig config;
  config.max_precise = 1;
  machine().reset(config);
  events("cycles:pp");
  EXPECT_NE(failure().find("no precise samples"), std::string::npos);
}

TEST_F(RecorderTest, SaysThatAGroupIsTooLarge) {
  fake::MachineConfig config;
  config.counters = 2;
  machine().reset(config);
  events("{cycles,instructions,branches}");
  const std::string message = failure();
  EXPECT_NE(message.find("more counters than there are"), std::string::npos) << message;
}

TEST_F(RecorderTest, SaysThatRedirectionFailed) {
  machine().fail_control(PERF_EVENT_IOC_SET_OUTPUT, EINVAL);
  events("cycles");
  EXPECT_NE(failure().find("ring of CPU"), std::string::npos);
}

}  // namespace
}  // namespace tephra::collect
