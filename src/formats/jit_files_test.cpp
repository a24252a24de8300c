#include "formats/jit_files.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace tephra::formats {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A jitdump with one function at 0x1000.
std::string jitdump(uint32_t pid, uint64_t time, uint64_t flags = 0) {
  std::string out;
  for (const uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, pid}) put(out, word);
  put(out, uint64_t{1'700'000'000'000'000});  // the time of day in microseconds, as V8 has it
  put(out, flags);
  const std::string name("made", 5);
  put(out, uint32_t{0});
  put(out, static_cast<uint32_t>(56 + name.size()));
  put(out, time);
  for (const uint32_t word : {pid, pid}) put(out, word);
  for (const uint64_t word : {0x1000ull, 0x1000ull, 16ull, 1ull}) put(out, uint64_t{word});
  return out + name;
}

class JitFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string place = ::testing::TempDir() + "jit-files-XXXXXX";
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    folder_ = place;
    utsname machine{};
    ASSERT_EQ(::uname(&machine), 0);
    recording_.facts.host = machine.nodename;
    recording_.facts.clock = "CLOCK_MONOTONIC";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }
  // What is found for process 7, whose recording ended at 100.
  std::shared_ptr<const stream::JitLog> find(const std::string& jitdump) {
    return find_jit_files(recording_, {{.pid = 7, .jitdump = jitdump, .since = 5, .until = 100}}, folder_);
  }

  std::string folder_;
  stream::Recording recording_;
};

TEST_F(JitFilesTest, AJitdumpOfTheSameProcessAndClockIsProven) {
  const auto log = find(write("jit-7.dump", jitdump(7, 50)));
  ASSERT_TRUE(log);
  ASSERT_EQ(log->batches.size(), 1u);
  EXPECT_FALSE(log->batches[0].unproven);
}

TEST_F(JitFilesTest, OneOfAnotherProcessOrClockIsNot) {
  EXPECT_TRUE(find(write("a.dump", jitdump(8, 50)))->batches[0].unproven);
  const auto cpu_time = find(write("b.dump", jitdump(7, 50, 1)));
  EXPECT_TRUE(cpu_time->batches[0].unproven);
  EXPECT_TRUE(cpu_time->batches[0].other_clock);
  recording_.facts.clock = "CLOCK_MONOTONIC_RAW";
  EXPECT_TRUE(find(write("c.dump", jitdump(7, 50)))->batches[0].unproven);
  recording_.facts.clock = "";
  EXPECT_TRUE(find(write("d.dump", jitdump(7, 50)))->batches[0].unproven);
}

TEST_F(JitFilesTest, OneOfALaterProcessIsNotUsed) {
  EXPECT_FALSE(find(write("jit-7.dump", jitdump(7, 101))));
  EXPECT_TRUE(find(write("jit-7.dump", jitdump(7, 100))));
  // Times of another clock cannot be compared.
  recording_.facts.clock = "";
  EXPECT_TRUE(find(write("jit-7.dump", jitdump(7, 101))));
}

TEST_F(JitFilesTest, MapsAreNeverProven) {
  write("perf-7.map", "1000 10 made\n");
  const auto log = find("");
  ASSERT_TRUE(log);
  EXPECT_TRUE(log->batches[0].unproven);
  recording_.facts.host = "elsewhere";
  EXPECT_FALSE(find(""));
}

}  // namespace
}  // namespace tephra::formats
