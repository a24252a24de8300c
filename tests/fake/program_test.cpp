// The whole program on a fake machine, with perf as the judge of its recordings.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
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
  bool has_perf() { return shell("perf --version").status == 0; }

  std::string folder_;
};

constexpr const char* kSpin = " -- " TEPHRA_BINARY_DIR "/programs/spin 200";
constexpr const char* kFunctions = "functions=_Z5heavyv:7/_Z5lightv:3";

TEST_F(ProgramOnFakeMachine, RecordsHardwareSamplesThatPerfReads) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  const auto recorded = tephra(kFunctions, std::string("record -e cycles,instructions -g") + kSpin);
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

TEST_F(ProgramOnFakeMachine, ReadsItsOwnRecordingAsPerfDoes) {
  if (!has_perf()) GTEST_SKIP() << "perf is not installed";
  ASSERT_EQ(tephra(kFunctions, std::string("record -e cycles -g") + kSpin).status, 0);
  const auto folded = tephra("", "fold perf.data");
  EXPECT_NE(folded.output.find("heavy"), std::string::npos) << folded.output;
  const auto ours = tephra("", "script -F comm,event,ip,sym");
  const auto theirs = perf("script -F comm,event,ip,sym");
  EXPECT_EQ(count_of(ours.output, "cycles:"), count_of(theirs.output, "cycles:")) << ours.output.substr(0, 1000);
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
