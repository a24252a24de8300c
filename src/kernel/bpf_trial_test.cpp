#include "kernel/bpf_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "kernel/event_trial.h"

namespace tephra::kernel {
namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

TEST(BpfTrial, TriesEveryKindAndLeavesNothingOpen) {
  const auto btf = base::FileContent::open("/sys/kernel/btf/vmlinux");
  const size_t before = open_descriptors();
  const BpfTrials trials = try_bpf(btf ? btf->bytes() : base::Bytes());
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(trials.programs.size(), 6u);
  EXPECT_EQ(trials.features.size(), 3u);
  for (const auto* rows : {&trials.programs, &trials.features}) {
    for (const auto& row : *rows) {
      EXPECT_TRUE(row.trial.tried) << row.name;
      EXPECT_EQ(row.trial.works, row.trial.reason.empty()) << row.name << ": " << row.trial.reason;
      EXPECT_EQ(row.trial.reason.find('\n'), std::string::npos) << row.name;
    }
  }
}

TEST(BpfTrial, WithoutBtfNoTracingProgramIsTried) {
  const BpfTrials trials = try_bpf({});
  ASSERT_NE(trials.find("tp_btf"), nullptr);
  EXPECT_FALSE(trials.find("tp_btf")->works);
  EXPECT_EQ(trials.find("tp_btf")->reason, "the kernel has no BTF");
  EXPECT_EQ(trials.find("no such"), nullptr);
}

TEST(EventTrial, LeavesNothingOpenAndNamesRefusals) {
  const size_t before = open_descriptors();
  const EventTrials trials = try_events();
  EXPECT_EQ(open_descriptors(), before);
  for (const Trial* trial : {&trials.user, &trials.kernel, &trials.every_process, &trials.cycles}) {
    EXPECT_TRUE(trial->tried);
    EXPECT_EQ(trial->works, trial->reason.empty());
  }
  // Who may sample the kernel may sample less, too.
  EXPECT_TRUE(trials.user.works || !trials.kernel.works);
  EXPECT_FALSE(try_process_event(0x3fffffff).works);
  EXPECT_EQ(try_process_event(0x3fffffff).error, trials.user.works ? ESRCH : trials.user.error);
}

TEST(Trial, ReasonIsTheVerifiersLastTellingLine) {
  const Trial trial = refused(EINVAL, "0: (85) call bpf_loop#181\nunknown func bpf_loop#181\nprocessed 1 insns\n");
  EXPECT_EQ(trial.reason, "unknown func bpf_loop#181");
  EXPECT_EQ(refused(EPERM).reason, "Operation not permitted");
  EXPECT_EQ(refused(EPERM, "\n\n").reason, "Operation not permitted");
  EXPECT_EQ(refused(524).reason, "Not supported");
}

}  // namespace
}  // namespace tephra::kernel
