#include "collect/jit_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iomanip>
#include <random>

namespace tephra::collect {
namespace {

using Kind = stream::JitBatch::Kind;
using Clock = JitWatch::Clock;

constexpr std::string_view kLongName = "a_name_that_fills_the_file_and_is_a_few_words_long_so_that_it_does_so_soon";

// A process that does nothing, and a map of its.
class JitWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
    ASSERT_GT(pid_, 0);
    path_ = "/tmp/perf-" + std::to_string(pid_) + ".map";
  }
  void TearDown() override {
    end_process();
    ::unlink(path_.c_str());
  }

  void end_process() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ended_ = true;
  }

  void write_map(size_t bytes, std::string_view last) const {
    std::ofstream file(path_);
    // Names differ, or they would be packed to next to nothing, which no reader believes.
    std::mt19937_64 random(1);
    for (size_t written = 0; written < bytes; written += kLongName.size() + 22) {
      file << "10 1 " << std::hex << std::setw(16) << std::setfill('0') << random() << kLongName << '\n';
    }
    file << last;
  }

  void hear(JitSign::Kind kind) { watch_.hear({.kind = kind, .pid = pid_}); }

  // The names that a reader of the section finds, but for those that fill it.
  std::string names() {
    const std::string section = watch_.feature().content;
    const stream::JitLog log = stream::read_jit_log(base::as_bytes(section));
    EXPECT_FALSE(log.damaged);
    std::string out;
    for (const stream::JitBatch& batch : log.batches) {
      if (batch.kind == Kind::kLeftOut) out += "(cut)";
      std::string_view text = base::as_text(batch.content);
      const size_t last_filler = text.rfind(kLongName);
      if (last_filler != std::string_view::npos) text.remove_prefix(last_filler + kLongName.size() + 1);
      out += text;
    }
    return out;
  }

  pid_t pid_ = -1;
  bool ended_ = false;
  std::string path_;
  std::vector<std::string> notes_;
  JitWatch watch_{false, [this](const std::string& note) { notes_.push_back(note); }};
};

constexpr size_t kMoreThanAtOnce = 40 << 20;

TEST_F(JitWatchTest, TheLastLookEndsBesideAnUnfinishedLine) {
  hear(JitSign::Kind::kMemory);
  write_map(0, "10 1 whole\n20 1 unfin");
  size_t asked = 0;
  ASSERT_TRUE(watch_.last_look([&asked] {
    ++asked;
    return false;
  }));
  EXPECT_LT(asked, 10u);
  EXPECT_EQ(names(), "10 1 whole\n");
  EXPECT_TRUE(notes_.empty());
}

TEST_F(JitWatchTest, TheMapOfAnEndedProcessIsReadToItsEndLookByLook) {
  hear(JitSign::Kind::kMemory);
  write_map(kMoreThanAtOnce, "20 1 the_last\n");
  hear(JitSign::Kind::kExit);
  end_process();
  for (int round = 0; round < 100 && watch_.next_look() != Clock::time_point::max(); ++round) {
    ASSERT_TRUE(watch_.look(watch_.next_look()));
  }
  EXPECT_EQ(watch_.next_look(), Clock::time_point::max());
  EXPECT_EQ(names(), "20 1 the_last\n");
  EXPECT_TRUE(notes_.empty());
}

TEST_F(JitWatchTest, TheLastLookReadsALongMapToItsEnd) {
  hear(JitSign::Kind::kMemory);
  write_map(kMoreThanAtOnce, "20 1 the_last\n");
  ASSERT_TRUE(watch_.last_look([] { return false; }));
  EXPECT_EQ(names(), "20 1 the_last\n");
  EXPECT_TRUE(notes_.empty());
}

TEST_F(JitWatchTest, WhatIsLeftOutInAHurryIsTold) {
  hear(JitSign::Kind::kMemory);
  write_map(kMoreThanAtOnce, "20 1 the_last\n");
  ASSERT_TRUE(watch_.last_look([] { return true; }));
  EXPECT_EQ(names(), "(cut)");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find(path_), std::string::npos) << notes_[0];
}

// More than are followed; each is counted once.
TEST_F(JitWatchTest, ProcessesThatAreTooManyAreCounted) {
  constexpr size_t kFollowed = 256;
  std::vector<pid_t> children;
  for (size_t i = 0; i < kFollowed + 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    ASSERT_GT(child, 0);
    children.push_back(child);
    for (int twice = 0; twice < 2; ++twice) watch_.hear({.kind = JitSign::Kind::kMemory, .pid = child});
  }
  const std::string section = watch_.feature().content;
  const stream::JitLog log = stream::read_jit_log(base::as_bytes(section));
  std::vector<pid_t> left_out;
  for (const stream::JitBatch& batch : log.batches) {
    if (batch.kind == Kind::kNotWatched) left_out.push_back(batch.pid);
  }
  EXPECT_EQ(left_out, std::vector<pid_t>(children.end() - 3, children.end()));
  EXPECT_EQ(notes_.size(), 1u);
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

TEST_F(JitWatchTest, TheMapOfTheProgramBeforeAnExecIsReadToItsEnd) {
  hear(JitSign::Kind::kMemory);
  write_map(17 << 20, "20 1 the_last\n");
  hear(JitSign::Kind::kExec);
  EXPECT_EQ(names(), "20 1 the_last\n");
}

}  // namespace
}  // namespace tephra::collect
