// collect/ on machines that tests choose. Recordings run against the real clock and real programs.
#include "collect/recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>

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

// Copies of stacks whose size is the recorder's to choose. The machine has no programs in the kernel, and its stacks
// fill every copy.
class CopiesTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    events("cycles:u");
    options_.sampling.call_graph = CallGraph::kAuto;
    options_.sampling.frequency = 500;
    options_.target.command = {std::string(TEPHRA_BINARY_DIR) + "/programs/frameless", "100000"};
  }
  // Records until some more samples have come after this was told, however long that takes.
  base::Result<RecordSummary> run_until(const std::string& text) {
    const fake::WallClock clock(machine());
    uint64_t enough = 0;
    return record(options_, [&](const Progress& progress) {
      if (progress.finished || !said(text)) return;
      if (enough == 0) enough = progress.samples + 150;
      if (progress.samples >= enough) ::raise(SIGINT);
    });
  }
  model::Profile profile() {
    const auto content = base::FileContent::open(options_.output.path);
    EXPECT_TRUE(content);
    auto profile = formats::read_profile(content->bytes(), "perf.data", {});
    EXPECT_TRUE(profile);
    return std::move(*profile);
  }
  // Opened a second time; events whose stacks are to be walked in the kernel, which is tried first, have a size of
  // their own.
  static bool renewed(const fake::OpenCall& call) {
    const uint32_t bytes = call.attr.sample_stack_user;
    return bytes > kFirstStackBytes && bytes != kStartStackBytes;
  }
};

TEST_F(CopiesTest, GrowUntilTheyHoldTheStacks) {
  // When a change is told, the old events are closed and the new ones on.
  std::vector<uint32_t> open_sizes;
  options_.on_note = [&](const std::string& text) {
    notes_ += text + "\n";
    if (text.find("from now on") == std::string::npos) return;
    size_t sampled = 0;
    for (const auto& event : machine().events()) {
      if (event.attr.sample_stack_user == 0) continue;
      ++sampled;
      EXPECT_TRUE(event.enabled);
      open_sizes.push_back(event.attr.sample_stack_user);
    }
    EXPECT_EQ(sampled, static_cast<size_t>(machine().config().cpus));
  };
  const auto summary = run_until("copies of stacks are 64.0 KiB from now on");
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(said("stacks are copied, 16.0 KiB each at first")) << notes_;
  EXPECT_TRUE(said("copies of stacks are 36.0 KiB from now on: 100 % were cut at 16.0 KiB")) << notes_;
  EXPECT_TRUE(said("copies of stacks are 64.0 KiB from now on")) << notes_;
  ASSERT_EQ(summary->copy_sizes.size(), 3u);
  uint64_t samples = 0;
  for (const auto& size : summary->copy_sizes) {
    EXPECT_GE(size.samples, 100u);
    EXPECT_EQ(size.cut, size.samples);
    samples += size.samples;
  }
  EXPECT_EQ(samples, summary->samples);
  const model::Profile read = profile();
  EXPECT_EQ(read.facts.engine, "stack copies");
  EXPECT_EQ(read.facts.copy_sizes, summary->copy_sizes);
  EXPECT_EQ(read.quality[model::Reason::unknown_event], 0u);
  EXPECT_EQ(std::accumulate(read.samples.count.begin(), read.samples.count.end(), uint64_t{0}), samples);
  EXPECT_EQ(std::set(open_sizes.begin(), open_sizes.end()), (std::set<uint32_t>{36864, kMaxStackBytes}));
}

TEST_F(CopiesTest, StayWhereEventsCannotBeOpenedAgain) {
  machine().fail_open(renewed, EMFILE);
  const auto summary = run_until("stay at");
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(said("copies of stacks stay at 16.0 KiB, 100 % are cut")) << notes_;
  EXPECT_EQ(notes_.find("stay at"), notes_.rfind("stay at")) << "told once";
  ASSERT_EQ(summary->copy_sizes.size(), 1u);
  EXPECT_EQ(summary->copy_sizes[0].samples, summary->samples);
  EXPECT_GE(summary->samples, 250u) << "at least a hundred before that was told";
  EXPECT_EQ(profile().quality[model::Reason::unknown_event], 0u);
}

// Half of what has to be opened is open when it fails.
TEST_F(CopiesTest, StayWholeWhereOpeningFailsHalfway) {
  int calls = 0;
  machine().fail_open([&calls](const fake::OpenCall& call) { return renewed(call) && ++calls == 2; }, EACCES);
  const auto summary = run_until("stay at");
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(said("copies of stacks stay at 16.0 KiB")) << notes_;
  EXPECT_GE(summary->samples, 250u) << "at least a hundred before that was told";
  EXPECT_EQ(summary->copy_sizes[0].samples, summary->samples);
}

TEST_F(CopiesTest, AskedForByNameTheyStayAsTheyAre) {
  options_.sampling.call_graph = CallGraph::kDwarf;
  options_.sampling.stack_bytes = 4096;
  options_.target.command.back() = "1200";
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(summary->copy_sizes.empty());
  EXPECT_FALSE(said("copies of stacks")) << notes_;
}

TEST_F(CopiesTest, FlightRecordersKeepTheirSize) {
  options_.flight.emplace();
  options_.target.command.back() = "1200";
  const auto summary = run();
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_TRUE(summary->copy_sizes.empty());
  EXPECT_TRUE(said("stacks are copied, 64.0 KiB each (")) << notes_;
}

}  // namespace
}  // namespace tephra::collect
