#include "collect/stack_ends.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <thread>

namespace tephra::collect {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Processes that a test makes up.
struct Machine {
  std::map<pid_t, std::string> maps;
  std::map<pid_t, uint64_t> first_ends;
  int reads = 0;

  StackEnds ends() {
    return StackEnds({[this](pid_t pid) {
                        ++reads;
                        return maps[pid];
                      },
                      [this](pid_t pid) -> std::optional<uint64_t> {
                        const auto found = first_ends.find(pid);
                        if (found == first_ends.end()) return {};
                        return found->second;
                      }});
  }
};

constexpr const char* kMaps =
    "00400000-00401000 r-xp 00000000 fe:00 11 /bin/program\n"
    "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
    "7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n"
    "7f0000801000-7f0000802000 ---p 00000000 00:00 0 \n"
    "7f0000802000-7f0001002000 rw-p 00000000 00:00 0 \n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"
    "7ffc000f0000-7ffc000f2000 r-xp 00000000 00:00 0 [vdso]\n";

TEST(StackEnds, ThreadsEndWithTheirMapping) {
  Machine machine;
  machine.maps[7] = kMaps;
  StackEnds ends = machine.ends();
  EXPECT_EQ(ends.end_of(7, 0x7f0000700000, 0), 0x7f0000801000u);
  EXPECT_EQ(ends.end_of(7, 0x7f0001001ff8, 0), 0x7f0001002000u);
  EXPECT_EQ(machine.reads, 1);
}

TEST(StackEnds, TheFirstThreadEndsWhereArgumentsBegin) {
  Machine machine;
  machine.maps[7] = kMaps;
  machine.first_ends[7] = 0x7ffc0001f000;
  StackEnds ends = machine.ends();
  EXPECT_EQ(ends.end_of(7, 0x7ffc0001e000, 0), 0x7ffc0001f000u);
  EXPECT_EQ(ends.end_of(7, 0x7ffc00020000, 0), 0x7ffc00020000u) << "above, nothing is needed";
  Machine silent;
  silent.maps[7] = kMaps;
  EXPECT_EQ(silent.ends().end_of(7, 0x7ffc0001e000, 0), 0x7ffc00021000u);
  silent.first_ends[7] = 0x1000;
  EXPECT_EQ(silent.ends().end_of(7, 0x7ffc0001e000, 0), 0x7ffc00021000u) << "an end that is none";
}

TEST(StackEnds, TheFirstStackGrowsWithoutBeingReadAgain) {
  Machine machine;
  machine.maps[7] = kMaps;
  StackEnds ends = machine.ends();
  EXPECT_EQ(ends.end_of(7, 0x7ffbfff00000, 0), 0x7ffc00021000u);
  EXPECT_EQ(machine.reads, 1);
}

TEST(StackEnds, NoStackIsWhereNothingCanBeWritten) {
  Machine machine;
  machine.maps[7] = kMaps;
  StackEnds ends = machine.ends();
  EXPECT_FALSE(ends.end_of(7, 0x400800, 0).has_value());
  EXPECT_FALSE(ends.end_of(7, 0x7f0000801800, 0).has_value());
  EXPECT_FALSE(ends.end_of(7, 0, 0).has_value());
  EXPECT_FALSE(ends.end_of(8, 0x7f0000700000, 0).has_value()) << "a process that is gone";
}

TEST(StackEnds, IsReadAgainForANewStack) {
  Machine machine;
  machine.maps[7] = kMaps;
  StackEnds ends = machine.ends();
  EXPECT_FALSE(ends.end_of(7, 0x7e0000000800, 0).has_value());
  machine.maps[7] = std::string("7e0000000000-7e0000001000 rw-p 00000000 00:00 0 \n") + kMaps;
  EXPECT_EQ(ends.end_of(7, 0x7e0000000800, 0), 0x7e0000001000u);
  EXPECT_EQ(ends.end_of(7, 0x7f0000700000, 0), 0x7f0000801000u);
}

TEST(StackEnds, IsNotReadTooOften) {
  Machine machine;
  machine.maps[7] = kMaps;
  StackEnds ends = machine.ends();
  for (int i = 0; i < 1000; ++i) ends.end_of(7, 0x10, 5 * kSecond + static_cast<uint64_t>(i));
  const int in_a_second = machine.reads;
  EXPECT_LE(in_a_second, 50);
  EXPECT_GT(in_a_second, 1);
  // What is known needs no reading.
  EXPECT_EQ(ends.end_of(7, 0x7f0000700000, 5 * kSecond), 0x7f0000801000u);
  // Rings are not read in the order of time.
  ends.end_of(7, 0x10, 4 * kSecond);
  EXPECT_EQ(machine.reads, in_a_second);
  ends.end_of(7, 0x10, 6 * kSecond);
  EXPECT_EQ(machine.reads, in_a_second + 1);
}

TEST(StackEnds, ManyProcessesAreNotAllRemembered) {
  Machine machine;
  StackEnds ends = machine.ends();
  for (pid_t pid = 1; pid <= 5000; ++pid) {
    machine.maps[pid] = kMaps;
    EXPECT_TRUE(ends.end_of(pid, 0x7f0000700000, static_cast<uint64_t>(pid) * kSecond).has_value());
  }
  EXPECT_EQ(machine.reads, 5000);
}

uint64_t here() { return reinterpret_cast<uint64_t>(__builtin_frame_address(0)); }

TEST(StackEnds, OfThisProcess) {
  StackEnds ends;
  const auto first = ends.end_of(::getpid(), here(), 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(*first, here());
  std::thread([&ends] {
    const auto end = ends.end_of(::getpid(), here(), 0);
    ASSERT_TRUE(end.has_value());
    EXPECT_GT(*end, here());
    EXPECT_LT(*end - here(), uint64_t{16} << 20);
  }).join();
}

}  // namespace
}  // namespace tephra::collect
