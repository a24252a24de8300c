#include "collect/stack_engine.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "collect/stack_program_for_tests.h"
#include "collect/walked_samples.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using stream::put;

using namespace std::chrono_literals;

std::string record(uint32_t type, uint16_t misc, const std::string& body) {
  std::string out;
  put(out, perf_event_header{type, misc, static_cast<uint16_t>(8 + body.size())});
  return out + body;
}
std::string ids(pid_t pid, pid_t tid) {
  std::string out;
  put(out, pid);
  put(out, tid);
  return out;
}
std::string mapped(pid_t pid, uint16_t misc = 0) { return record(PERF_RECORD_MMAP2, misc, ids(pid, pid)); }
std::string ended(pid_t pid, pid_t tid) { return record(PERF_RECORD_EXIT, 0, ids(pid, 1) + ids(tid, 1)); }
kernel::Pending pending(const std::string& text) { return {{base::as_bytes(text), base::Bytes()}, text.size()}; }

// Uses up CPU time of the thread that calls it.
void burn(std::chrono::nanoseconds time) {
  const auto now = [] {
    timespec at{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec);
  };
  for (const auto end = now() + time; now() < end;) continue;
}

struct Engine {
  Engine() {
    auto owned = std::make_unique<FakeStackProgram>();
    program = owned.get();
    WalkedProcesses::Sources sources{
        [this](pid_t, pid_t) {
          ++looks;
          burn(cost.load());
          return ProcessCode{
              1, 2, {{0x1000, 0x2000, uint64_t{0x1000} * looks, CodeMapping::Kind::kGenerated, 0, 0, 0, ""}}};
        },
        [](pid_t, pid_t, const CodeMapping&) { return WalkedProcesses::Answer{}; }, [](pid_t) { return true; }};
    engine = std::make_unique<StackEngine>(std::move(owned), std::move(sources));
  }
  void hear(const std::string& text) {
    engine->heard(pending(text));
    engine->wait_prepared(10s);
  }
  FakeStackProgram* program;
  std::atomic<unsigned> looks = 0;
  std::atomic<std::chrono::milliseconds> cost{0ms};  // of a look
  std::unique_ptr<StackEngine> engine;
};

TEST(StackEngine, LearnsWhatIsAskedForAndHandsOverSamples) {
  Engine it;
  it.program->wanted = {{TEPHRA_RECORD_WANTED, 0, sizeof(tephra_walk_wanted), 7, 8, 0}};
  it.program->samples = "samples";
  std::string samples = "before ";
  it.engine->take(samples);
  EXPECT_EQ(samples, "before samples");
  it.engine->wait_prepared(10s);
  EXPECT_TRUE(it.program->processes.contains(7));
  EXPECT_EQ(it.engine->totals().processes.processes, 1u);
}

TEST(StackEngine, FollowsKnownProcessesAlone) {
  Engine it;
  it.engine->prepare(7);
  it.engine->wait_prepared(10s);
  ASSERT_EQ(it.looks, 1u);
  it.hear(mapped(8) + mapped(7) + mapped(7));
  EXPECT_EQ(it.looks, 2u);
  it.hear(mapped(7, PERF_RECORD_MISC_MMAP_DATA) + record(PERF_RECORD_COMM, 0, ids(7, 7)));
  EXPECT_EQ(it.looks, 2u);
  it.hear(record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, ids(7, 7)));
  EXPECT_EQ(it.looks, 3u);
  it.hear(ended(7, 9));
  EXPECT_TRUE(it.program->processes.contains(7));
  it.hear(mapped(7) + ended(7, 7));
  EXPECT_TRUE(it.program->processes.empty());
  EXPECT_EQ(it.looks, 3u);
}

TEST(StackEngine, WhatTakesLongToLearnIsNotLearntAtEveryChange) {
  Engine it;
  it.cost = 20ms;
  it.engine->prepare(7);
  it.engine->wait_prepared(10s);
  const auto begin = std::chrono::steady_clock::now();
  unsigned changes = 0;
  for (; changes < 50 || it.looks < 3; ++changes) {
    it.hear(mapped(7));
    ASSERT_LT(std::chrono::steady_clock::now() - begin, 60s) << "what has to wait is learnt some time";
    std::this_thread::sleep_for(1ms);
  }
  const auto passed = std::chrono::steady_clock::now() - begin;
  // The first, and then each after a pause of 19 times what it took.
  EXPECT_LE(it.looks - 1, static_cast<unsigned>(passed / (19 * 20ms)) + 1);
  EXPECT_LT(it.looks, changes);
  // Another program is learnt at once, and the end is heard.
  it.cost = 0ms;
  const unsigned before = it.looks;
  it.hear(mapped(7) + record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, ids(7, 7)) + mapped(7));
  EXPECT_GT(it.looks, before);
  it.hear(ended(7, 7));
  EXPECT_TRUE(it.program->processes.empty());
}

TEST(StackEngine, BeginsAnewWhenToldTooMuch) {
  Engine it;
  it.engine->prepare(7);
  it.engine->wait_prepared(10s);
  std::string flood;
  for (int i = 0; i < 300'000; ++i) flood += mapped(100 + i % 1000);
  it.hear(flood.substr(0, flood.size() / 2));
  it.engine->heard(pending(flood));
  it.engine->wait_prepared(10s);
  EXPECT_TRUE(it.program->processes.empty());
}

std::string sample(uint64_t time) {
  std::string body(24, 'x');
  put(body, time);
  return record(PERF_RECORD_SAMPLE, 0, body);
}

TEST(WalkedSamples, AreMergedInOrderOfTimeAndBounded) {
  WalkedSamples samples;
  samples.add(sample(10) + sample(40), 1 << 20);
  samples.add(sample(30), 1 << 20);
  const std::string throttle = record(PERF_RECORD_THROTTLE, 0, std::string(24, 't'));
  EXPECT_EQ(samples.merged_with(sample(20) + throttle + sample(50), 15),
            sample(20) + throttle + sample(30) + sample(40) + sample(50));
  const std::string block = std::string(sample(1));
  for (int i = 0; i < 10'000; ++i) samples.add(block, 200 << 10);
  EXPECT_LE(samples.bytes(), uint64_t{200 << 10});
}

}  // namespace
}  // namespace tephra::collect
