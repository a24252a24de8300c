// The whole program on a fake machine, with perf as the judge of its recordings.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>

namespace tephra {
namespace {

struct Ended {
  int status = -1;
  std::string output;
};

Ended shell(const std::string& command) {
  Ended ended;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  char part[4096];
  while (const size_t got = ::fread(part, 1, sizeof part, pipe)) ended.output.append(part, got);
  const int status = ::pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return ended;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The sum of the numbers before an event's name in lines "PERIOD EVENT:".
double sum_of_periods(const std::string& text, const std::string& event) {
  double sum = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(event) != std::string::npos) sum += std::strtod(line.c_str(), nullptr);
  }
  return sum;
}

class ProgramOnFakeMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "fake-program-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Ended tephra(const std::string& machine, const std::string& arguments) {
    return shell("cd " + folder_ + " && TEPHRA_FAKE_MACHINE='" + machine +
                 "' " TEPHRA_BINARY_DIR "/tephra_on_fake_machine " + arguments);
  }
  Ended perf(const std::string& arguments) { return shell("cd " + folder_ + " && perf " + arguments); }
  // Records a program for a fifth of a second; what was said is in output_.
  void record(const std::string& machine, const std::string& options) {
    const auto recorded = tephra(machine, "record " + options + " -- " TEPHRA_BINARY_DIR "/programs/spin 200");
    output_ = recorded.output;
    ASSERT_EQ(recorded.status, 0) << output_;
    const size_t at = output_.find("recorded ");
    ASSERT_NE(at, std::string::npos) << output_;
    samples_ = std::strtoull(output_.c_str() + at + 9, nullptr, 10);
  }
  bool has_perf() { return shell("perf --version").status == 0; }

  std::string folder_;
  std::string output_;
  uint64_t samples_ = 0;
};

constexpr const char* kSpin = " -- " TEPHRA_BINARY_DIR "/programs/spin 200";
constexpr const char* kFunctions = "functions=_Z5heavyv:7/_Z5lightv:3";

TEST_F(ProgramOnFakeMachine, RecordsHardwareSamplesThatPerfReads) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  const auto recorded = tephra(kFunctions, std::string("record -e cycles,instructions --call-graph fp") + kSpin);
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  EXPECT_NE(recorded.output.find("samples of cycles and instructions"), std::string::npos) << recorded.output;
  const auto listed = perf("evlist -v");
  EXPECT_EQ(count_of(listed.output, "sample_freq }: 4000"), 2u) << listed.output;
  const auto printed = perf("script -F comm,event,ip,sym");
  EXPECT_GT(count_of(printed.output, "cycles:"), 300u);
  EXPECT_EQ(count_of(printed.output, "cycles:"), count_of(printed.output, "main\n") / 2);
  const double heavy = static_cast<double>(count_of(printed.output, " heavy\n"));
  const double light = static_cast<double>(count_of(printed.output, " light\n"));
  EXPECT_NEAR(heavy / (heavy + light), 0.7, 0.01);
}

// The kernel takes the program that walks stacks, where it lets us load it, but the machine's events do not.
TEST_F(ProgramOnFakeMachine, StacksAreTakenInAnotherWayWhereEventsRefuseToBeWalked) {
  const auto recorded = tephra(kFunctions, std::string("record -e cycles -g") + kSpin);
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  const std::string why = "cannot be walked in the kernel: ";
  const size_t at = recorded.output.find(why);
  ASSERT_NE(at, std::string::npos) << recorded.output;
  EXPECT_EQ(recorded.output.find(why, at + 1), std::string::npos) << "said once: " << recorded.output;
  EXPECT_NE(tephra("", "fold perf.data").output.find("heavy"), std::string::npos);
}

TEST_F(ProgramOnFakeMachine, WalkingAskedForByNameIsAnErrorWhereEventsRefuseIt) {
  const auto recorded = tephra(kFunctions, std::string("record -e cycles --call-graph bpf") + kSpin);
  EXPECT_EQ(recorded.status, 125) << recorded.output;
  EXPECT_NE(recorded.output.find("cannot walk"), std::string::npos) << recorded.output;
}

TEST_F(ProgramOnFakeMachine, ReadsItsOwnRecordingAsPerfDoes) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  ASSERT_EQ(tephra(kFunctions, std::string("record -e cycles -g") + kSpin).status, 0);
  const auto folded = tephra("", "fold perf.data");
  EXPECT_NE(folded.output.find("heavy"), std::string::npos) << folded.output;
  const auto ours = tephra("", "script -F comm,event,ip,sym");
  const auto theirs = perf("script -F comm,event,ip,sym");
  EXPECT_EQ(count_of(ours.output, "cycles:"), count_of(theirs.output, "cycles:")) << ours.output.substr(0, 1000);
}

TEST_F(ProgramOnFakeMachine, ALeaderReadsItsGroup) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record(kFunctions, "-e '{cycles,instructions}:S'");
  const auto listed = perf("evlist -v");
  EXPECT_EQ(count_of(listed.output, "GROUP"), 2u) << listed.output;
  // perf makes a sample of each member from what the leader read; instructions come 1.5 times as often as cycles.
  const auto printed = perf("script -F event,period");
  const double cycles = sum_of_periods(printed.output, "cycles:");
  const double instructions = sum_of_periods(printed.output, "instructions:");
  EXPECT_GT(cycles, 1e8) << printed.output.substr(0, 500);
  EXPECT_NEAR(instructions / cycles, 1.5, 0.03);
}

TEST_F(ProgramOnFakeMachine, EventsShareCounters) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record("counters=2", "-e cycles,instructions,branches,branch-misses");
  const auto printed = perf("script -F event");
  const auto all = static_cast<double>(count_of(printed.output, ":"));
  for (const char* event : {"cycles:", "instructions:", "branches:", "branch-misses:"}) {
    EXPECT_NEAR(static_cast<double>(count_of(printed.output, event)) / all, 0.25, 0.05) << event;
  }
  // Each is on a counter half of the time: 4 events of 2000 samples a second.
  EXPECT_NEAR(all / static_cast<double>(samples_), 1, 0.01);
  EXPECT_LT(samples_, 4000u);
}

TEST_F(ProgramOnFakeMachine, AWeakGroupIsCountedApartWhereItIsTooLarge) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  const std::string group = "'{cycles,instructions,branches}";
  record("counters=2", "-e " + group + ":W'");
  EXPECT_NE(output_.find("does not fit"), std::string::npos) << output_;
  EXPECT_GT(count_of(perf("script -F event").output, "branches:"), 50u);
  const auto refused = tephra("counters=2", "record -e " + group + "' -- true");
  EXPECT_EQ(refused.status, 125) << refused.output;
}

TEST_F(ProgramOnFakeMachine, RecordsBranches) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record(kFunctions, "-e cycles -b");
  const auto all = perf("script -F ip,brstack");
  EXPECT_GT(count_of(all.output, "/P/"), 300u) << all.output.substr(0, 500);
  EXPECT_GT(count_of(all.output, "/M/"), 300u);
  record(kFunctions, "-e cycles -j any_call,u");
  const auto calls = perf("script -F ip,brstack");
  EXPECT_EQ(count_of(calls.output, "/M/"), 0u) << "loops are no calls";
  EXPECT_GT(count_of(calls.output, "/P/"), 300u) << calls.output.substr(0, 500);
  const auto ours = tephra("", "report -i perf.data");
  EXPECT_EQ(ours.status, 0) << ours.output;
}

TEST_F(ProgramOnFakeMachine, RecordsCallStacksOfTheProcessor) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record(kFunctions, "-e cycles:u --call-graph lbr");
  const auto listed = perf("evlist -v");
  EXPECT_NE(listed.output.find("CALL_STACK"), std::string::npos) << listed.output;
  const auto printed = perf("script -F event,ip,sym");
  EXPECT_GT(count_of(printed.output, " main"), 300u) << printed.output.substr(0, 500);
}

TEST_F(ProgramOnFakeMachine, RecordsWhatMemoryWasAccessed) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record("", "-e cpu/mem-loads/P -W -d --phys-data");
  const auto printed = perf("script -F event,addr,weight,data_src,phys_addr");
  EXPECT_GT(count_of(printed.output, "7f00000"), 300u) << printed.output.substr(0, 1000);
  EXPECT_GT(count_of(printed.output, "L1 hit"), 100u);
  EXPECT_GT(count_of(printed.output, "L2 hit"), 100u);
  EXPECT_GT(count_of(printed.output, "abc000"), 300u);
  const auto ours = tephra("", "script");
  EXPECT_EQ(count_of(ours.output, "mem-loads"), samples_) << ours.output.substr(0, 500);
}

TEST_F(ProgramOnFakeMachine, IsAsPreciseAsItsMachine) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  record("precise=2", "");
  EXPECT_NE(perf("evlist -v").output.find("precise_ip: 2"), std::string::npos);
  record("precise=0", "");
  EXPECT_EQ(perf("evlist -v").output.find("precise_ip"), std::string::npos);
}

TEST_F(ProgramOnFakeMachine, RingsGrowBeforeTheyOverflow) {
  record("max_rate=1000000,rate=1", "-v -g -c 3000 -e cycles");
  EXPECT_NE(output_.find("rings grew"), std::string::npos) << output_;
}

TEST_F(ProgramOnFakeMachine, TellsOfLossesAndPauses) {
  record("lose=100,lose_samples=7", "-e cycles");
  EXPECT_NE(output_.find("records were lost"), std::string::npos) << output_;
  record("throttle=1,max_rate=4000", "-e cycles");
  EXPECT_NE(output_.find("paused sampling"), std::string::npos) << output_;
  const auto verdict = tephra("", "report -i perf.data");
  EXPECT_EQ(verdict.status, 0) << verdict.output;
}

TEST_F(ProgramOnFakeMachine, WithoutRightsOnlyUserCodeIsSampled) {
  if (::geteuid() != 0) GTEST_SKIP() << "rights can only be given up by root";
  const std::string nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  ::chmod(folder_.c_str(), 0777);
  if (shell(nobody + "test -x " TEPHRA_BINARY_DIR "/tephra_on_fake_machine").status != 0) {
    GTEST_SKIP() << "other users cannot reach the program";
  }
  const auto paranoid = shell("cat /proc/sys/kernel/perf_event_paranoid").output;
  if (paranoid[0] != '2') GTEST_SKIP() << "perf_event_paranoid is not 2";
  const auto recorded = shell("cd " + folder_ + " && TEPHRA_FAKE_MACHINE=privileged=0 " + nobody +
                              TEPHRA_BINARY_DIR "/tephra_on_fake_machine record -e cycles -- sleep 0.2");
  EXPECT_EQ(recorded.status, 0) << recorded.output;
  EXPECT_NE(recorded.output.find("only user code is sampled"), std::string::npos) << recorded.output;
  EXPECT_NE(recorded.output.find("samples of cycles:u"), std::string::npos) << recorded.output;
  const auto everything = shell("cd " + folder_ + " && TEPHRA_FAKE_MACHINE=privileged=0 " + nobody +
                                TEPHRA_BINARY_DIR "/tephra_on_fake_machine record -e cycles -a -- sleep 0.2");
  EXPECT_EQ(everything.status, 125) << everything.output;
  EXPECT_NE(everything.output.find("perf_event_paranoid"), std::string::npos) << everything.output;
}

TEST_F(ProgramOnFakeMachine, SaysWhatItsMachineRefuses) {
  const auto refused = tephra("refuse=perf_event_open/hardware:EBUSY", "record -e cycles -- true");
  EXPECT_EQ(refused.status, 125) << refused.output;
  EXPECT_NE(refused.output.find("cycles"), std::string::npos) << refused.output;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/perf.data"));
}

TEST_F(ProgramOnFakeMachine, ItsVariableIsChecked) {
  for (const char* wrong : {"counters", "counters=x", "nonsense=1", "kernel=1.0", "refuse=open:EPERM",
                            "refuse=mmap:EWHAT", "refuse=mmap:EPERM:often=1", "functions=main", "cpus=0"}) {
    const auto ended = tephra(wrong, "--help");
    EXPECT_EQ(ended.status, 2) << wrong;
    EXPECT_NE(ended.output.find("TEPHRA_FAKE_MACHINE"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace tephra
