#include "collect/side_band_keeper.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stream/profile_builder.h"
#include "stream/profile_for_tests.h"
#include "stream/recording_for_tests.h"

namespace tephra::collect {
namespace {

using stream::TestRecording;

constexpr uint64_t kPage = 0x1000;

std::vector<AddressRange> no_ranges(pid_t) { return {}; }

// Gives the keeper what was added to the recording since the last call.
class Feeder {
 public:
  explicit Feeder(SideBandKeeper& keeper) : keeper_(keeper) {}
  TestRecording& records() { return records_; }
  void feed(bool end_round = true) {
    keeper_.take(base::as_bytes(records_.data()));
    records_.data().clear();
    if (end_round) keeper_.end_round();
  }

 private:
  SideBandKeeper& keeper_;
  TestRecording records_;
};

std::string written(SideBandKeeper& keeper) {
  std::string bytes;
  const auto status = keeper.write_to([&](base::Bytes block) -> base::Status {
    bytes += base::as_text(block);
    return {};
  });
  EXPECT_TRUE(status.ok());
  return bytes;
}

size_t count_of(const std::string& bytes, uint32_t type) {
  stream::RecordWalker walker(base::as_bytes(bytes));
  stream::Record record;
  size_t count = 0;
  while (walker.next(record)) count += record.type == type;
  EXPECT_FALSE(walker.damaged());
  return count;
}

// The rows of a file that has these records and then the samples.
std::vector<std::string> rows(const std::string& records, const std::vector<stream::TestSample>& samples) {
  TestRecording test;
  test.add(records);
  for (const auto& sample : samples) test.sample(sample);
  const auto recording = test.recording();
  const auto profile = stream::build_profile(recording, {.keep_every_sample = true});
  auto texts = stream::row_texts(profile);
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(SideBandKeeper, NamesASampleOfAProcessThatEnded) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .fork(100, 20, 10, 20, 10)
      .comm(110, 20, 20, "worker", true)
      .mmap2({.time = 120, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/worker"})
      .exit(200, 20, 20);
  feeder.feed();
  keeper.forget_before(200);
  EXPECT_EQ(rows(written(keeper), {{.time = 150, .pid = 20, .tid = 20, .ip = 0x4010, .callchain = {0x4010}}}),
            std::vector<std::string>{"worker /bin/worker+10"});
  keeper.forget_before(201);
  EXPECT_EQ(written(keeper), "");
  EXPECT_EQ(keeper.counts().processes, 0u);
}

TEST(SideBandKeeper, AChildKeepsWhatItHadFromAForgottenParent) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .comm(0, 10, 10, "daemon")
      .mmap2({.pid = 10, .start = 0x4000, .size = kPage, .path = "/bin/daemon"})
      .fork(100, 20, 10, 20, 10)
      .exit(150, 10, 10)
      .fork(160, 20, 20, 21, 20);
  feeder.feed();
  const std::vector<stream::TestSample> samples{
      {.time = 400, .pid = 20, .tid = 20, .ip = 0x4010, .callchain = {0x4010}},
      {.time = 401, .pid = 20, .tid = 21, .ip = 0x4020, .callchain = {0x4020}}};
  const std::vector<std::string> expected{"daemon /bin/daemon+10", "daemon /bin/daemon+20"};
  EXPECT_EQ(rows(written(keeper), samples), expected);
  keeper.forget_before(300);
  EXPECT_EQ(keeper.counts().processes, 1u);
  EXPECT_EQ(rows(written(keeper), samples), expected);
}

TEST(SideBandKeeper, AReusedIdIsAnotherProcess) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .fork(100, 20, 10, 20, 10)
      .comm(101, 20, 20, "first", true)
      .mmap2({.time = 102, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/first"})
      .exit(200, 20, 20)
      .fork(300, 20, 10, 20, 10)
      .comm(301, 20, 20, "second", true)
      .mmap2({.time = 302, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/second"});
  feeder.feed();
  const stream::TestSample early{.time = 150, .pid = 20, .tid = 20, .ip = 0x4010, .callchain = {0x4010}};
  stream::TestSample late = early;
  late.time = 350;
  EXPECT_EQ(rows(written(keeper), {early, late}),
            (std::vector<std::string>{"first /bin/first+10", "second /bin/second+10"}));
  EXPECT_EQ(keeper.counts().processes, 2u);
  keeper.forget_before(250);
  EXPECT_EQ(keeper.counts().processes, 1u);
  EXPECT_EQ(rows(written(keeper), {late}), std::vector<std::string>{"second /bin/second+10"});
}

TEST(SideBandKeeper, ExecDropsEarlierMappingsOnceNoSampleIsOlder) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records().fork(100, 20, 10, 20, 10);
  for (uint64_t i = 0; i < 50; ++i) {
    feeder.records().mmap2({.time = 110, .pid = 20, .start = 0x4000 + i * kPage, .size = kPage, .path = "/lib/old"});
  }
  feeder.records()
      .comm(200, 20, 20, "new", true)
      .mmap2({.time = 210, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/new"});
  feeder.feed();
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_MMAP2), 51u);
  keeper.forget_before(200);
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_MMAP2), 1u);
}

TEST(SideBandKeeper, ExecOfAnotherThreadEndsTheOthers) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  // Thread 22 execs: its id goes without an exit, and the first thread, which had ended, is there again.
  feeder.records()
      .fork(100, 20, 10, 20, 10)
      .fork(110, 20, 20, 21, 20)
      .fork(111, 20, 20, 22, 20)
      .exit(120, 20, 21)
      .exit(121, 20, 20)
      .comm(122, 20, 20, "new", true);
  feeder.feed();
  keeper.forget_before(150);
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_FORK), 1u);
  EXPECT_EQ(keeper.counts().processes, 1u);
  feeder.records().exit(200, 20, 20);
  feeder.feed();
  keeper.forget_before(300);
  EXPECT_EQ(written(keeper), "");
}

TEST(SideBandKeeper, AProcessLivesAsLongAsItsLastThread) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .fork(100, 20, 10, 20, 10)
      .comm(101, 20, 20, "server", true)
      .mmap2({.time = 102, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/server"})
      .fork(110, 20, 20, 21, 20)
      .comm(111, 20, 21, "pool")
      .fork(112, 20, 20, 22, 21)
      .exit(120, 20, 20)
      .exit(121, 20, 21);
  feeder.feed();
  keeper.forget_before(200);
  const stream::TestSample sample{.time = 250, .pid = 20, .tid = 22, .ip = 0x4010, .callchain = {0x4010}};
  EXPECT_EQ(rows(written(keeper), {sample}), std::vector<std::string>{"pool /bin/server+10"});
  feeder.records().exit(300, 20, 22);
  feeder.feed();
  keeper.forget_before(301);
  EXPECT_EQ(written(keeper), "");
}

TEST(SideBandKeeper, RecordsOfSeveralRingsAreAppliedInOrderOfTime) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records().fork(100, 20, 10, 20, 10).comm(110, 20, 20, "a", true);
  feeder.feed();
  // The second CPU's ring is taken first: the exit comes before the mapping that is older.
  feeder.records().exit(300, 20, 20);
  feeder.feed(false);
  feeder.records().mmap2({.time = 120, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/a"});
  feeder.feed();
  EXPECT_EQ(rows(written(keeper), {{.time = 150, .pid = 20, .tid = 20, .ip = 0x4010, .callchain = {0x4010}}}),
            std::vector<std::string>{"a /bin/a+10"});
  keeper.forget_before(400);
  EXPECT_EQ(written(keeper), "");
}

TEST(SideBandKeeper, KernelCodeStaysUntilItGoes) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .ksymbol(100, 0xffffffffa0000000, 0x100, false, "bpf_prog_1")
      .ksymbol(110, 0xffffffffa0001000, 0x100, false, "bpf_prog_2")
      .ksymbol(200, 0xffffffffa0000000, 0x100, true, "bpf_prog_1");
  feeder.feed();
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_KSYMBOL), 3u);
  keeper.forget_before(200);
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_KSYMBOL), 1u);
  feeder.records().ksymbol(300, 0xffffffffa0001000, 0x100, true, "bpf_prog_2");
  feeder.feed();
  keeper.forget_before(301);
  EXPECT_EQ(written(keeper), "");
}

TEST(SideBandKeeper, KernelMappingsAreReplacedBySuchOfTheSameRange) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  for (uint64_t i = 0; i < 100; ++i) {
    feeder.records().mmap({.time = i,
                           .pid = -1,
                           .start = 0xffffffffa0000000,
                           .size = kPage,
                           .path = "[module]",
                           .misc = PERF_RECORD_MISC_KERNEL});
  }
  feeder.feed();
  written(keeper);
  keeper.forget_before(1000);
  EXPECT_EQ(count_of(written(keeper), PERF_RECORD_MMAP), 1u);
}

TEST(SideBandKeeper, AMillionProcessesThatCameAndWentLeaveNothing) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records().comm(0, 10, 10, "shell");
  for (uint64_t i = 0; i < 30; ++i) {
    feeder.records().mmap2({.pid = 10, .start = 0x4000 + i * kPage, .size = kPage, .path = "/lib/library.so"});
  }
  size_t early = 0;
  size_t most = 0;
  uint64_t time = 100'000;
  for (int i = 0; i < 1'000'000; ++i, time += 10) {
    const int32_t pid = 100 + i % 30'000;
    feeder.records().fork(time, pid, 10, pid, 10);
    if (i % 8 == 0) {
      feeder.records()
          .comm(time + 1, pid, pid, "command", true)
          .mmap2({.time = time + 2, .pid = pid, .start = 0x4000, .size = kPage, .path = "/bin/command"});
    }
    feeder.records().exit(time + 5, pid, pid);
    if (i % 1000 != 999) continue;
    feeder.feed();
    keeper.forget_before(time - 20'000);
    if (i < 20'000) early = std::max(early, keeper.bytes());
    most = std::max(most, keeper.bytes());
  }
  EXPECT_LE(most, early + early / 10);
  EXPECT_LT(most, 20u << 20);
  EXPECT_LT(keeper.counts().processes, 5000u);
  keeper.forget_before(time);
  written(keeper);
  keeper.forget_before(time + 1);
  EXPECT_EQ(keeper.counts().processes, 1u);
  EXPECT_LT(keeper.bytes(), 64u << 10);
}

TEST(SideBandKeeper, ManyThreadsRenamesAndExecsLeaveNothing) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  size_t early = 0;
  size_t most = 0;
  uint64_t time = 100'000;
  feeder.records().fork(time, 20, 10, 20, 10);
  for (int i = 0; i < 100'000; ++i, time += 10) {
    const int32_t tid = 100 + i % 30'000;
    feeder.records()
        .fork(time, 20, 20, tid, 20)
        .comm(time + 1, 20, tid, "thread")
        .comm(time + 2, 20, 20, "another name")
        .mmap2({.time = time + 2, .pid = 20, .start = 0x4000, .size = kPage, .path = "/tmp/jit"})
        .exit(time + 5, 20, tid);
    if (i % 100 == 0) feeder.records().comm(time + 6, 20, 20, "again", true);
    if (i % 1000 != 999) continue;
    feeder.feed();
    keeper.forget_before(time - 5'000);
    if (i < 10'000) early = std::max(early, keeper.bytes());
    most = std::max(most, keeper.bytes());
  }
  EXPECT_LE(most, early + early / 10);
  EXPECT_EQ(keeper.counts().processes, 1u);
}

TEST(SideBandKeeper, AsksWhichMappingsAreLeft) {
  int asked = 0;
  const LiveRanges only_program = [&asked](pid_t) {
    ++asked;
    return std::vector<AddressRange>{{0x4000, 0x4000 + kPage}};
  };
  SideBandKeeper keeper(only_program, {.mappings_per_process = 100});
  Feeder feeder(keeper);
  feeder.records().mmap2({.time = 1, .pid = 20, .start = 0x4000, .size = kPage, .path = "/bin/program"});
  for (uint64_t i = 1; i < 10'000; ++i) {
    feeder.records().mmap2(
        {.time = i, .pid = 20, .start = 0x100000 + i * kPage, .size = kPage, .path = "/tmp/unmapped"});
    feeder.feed();
    keeper.forget_before(i > 50 ? i - 50 : 0);
  }
  EXPECT_GT(asked, 10);
  EXPECT_LT(asked, 1000);
  const std::string bytes = written(keeper);
  EXPECT_LT(count_of(bytes, PERF_RECORD_MMAP2), 300u);
  EXPECT_NE(bytes.find("/bin/program"), std::string::npos);
  EXPECT_EQ(keeper.counts().dropped_mappings, 0u);
}

TEST(SideBandKeeper, DropsAndCountsMappingsThatAreTooMany) {
  SideBandKeeper keeper(no_ranges, {.mappings_per_process = 100, .most_per_process = 1000});
  Feeder feeder(keeper);
  for (uint64_t i = 1; i <= 5000; ++i) {
    feeder.records().mmap2({.time = i, .pid = 20, .start = i * kPage, .size = kPage, .path = "/tmp/many"});
  }
  feeder.feed();
  const size_t kept = count_of(written(keeper), PERF_RECORD_MMAP2);
  EXPECT_LE(kept, 1000u);
  EXPECT_EQ(keeper.counts().dropped_mappings, 5000 - kept);
}

TEST(SideBandKeeper, ForgetsEarlyRatherThanTakeAllMemory) {
  SideBandKeeper keeper(no_ranges, {.bytes = 4 << 20});
  Feeder feeder(keeper);
  for (int i = 0; i < 100'000; ++i) {
    const auto time = static_cast<uint64_t>(1000 + i * 10);
    feeder.records().fork(time, 100 + i, 10, 100 + i, 10).exit(time + 5, 100 + i, 100 + i);
    if (i % 100 == 99) feeder.feed();
  }
  EXPECT_LT(keeper.bytes(), 5u << 20);
  const auto counts = keeper.counts();
  EXPECT_GT(counts.forgotten_early, 50'000u);
  EXPECT_GT(counts.forgotten_until, 0u);
}

TEST(SideBandKeeper, ForgetsProcessesThatVanishedWithoutAnExit) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records().fork(100, 20, 10, 20, 10).fork(101, 21, 10, 21, 10);
  feeder.records().lost(102, 7);
  feeder.feed();
  written(keeper);
  EXPECT_EQ(keeper.counts().lost, 7u);
  keeper.forget_vanished([](pid_t pid) { return pid == 21; }, 200);
  keeper.forget_before(201);
  EXPECT_EQ(keeper.counts().processes, 1u);
}

TEST(SideBandKeeper, PassesOverForeignAndBrokenRecords) {
  SideBandKeeper keeper(no_ranges);
  Feeder feeder(keeper);
  feeder.records()
      .sample({.time = 100})
      .throttle(100, true)
      .add(stream::test_record(PERF_RECORD_MMAP2, 0, "too short"));
  feeder.records().add(std::string(8, '\0')).comm(100, 20, 20, "unreached");
  feeder.feed();
  EXPECT_EQ(written(keeper), "");
  EXPECT_EQ(keeper.counts().malformed, 1u);
}

// A machine on which processes and threads start, get names, map, exec and end, by chance.
class RandomMachine {
 public:
  explicit RandomMachine(uint32_t seed) : random_(seed) {
    tasks_[1] = {1};
    records_[0].comm(0, 1, 1, "init").mmap2({.pid = 1, .start = kPage, .size = 8 * kPage, .path = "/init"});
  }

  // One thing happens, seen by one of two rings.
  void step(std::string& all, std::vector<stream::TestSample>& samples) {
    ++time_;
    const auto process = std::next(tasks_.begin(), pick(tasks_.size()));
    const int32_t pid = process->first;
    const int32_t tid = *std::next(process->second.begin(), pick(process->second.size()));
    TestRecording record;
    const int what = static_cast<int>(random_() % 100);
    if (what < 8 && tasks_.size() < 12) {
      const int32_t child = unused_id();
      record.fork(time_, child, pid, child, tid);
      tasks_[child] = {child};
    } else if (what < 16 && process->second.size() < 5) {
      const int32_t child = unused_id();
      record.fork(time_, pid, pid, child, tid);
      process->second.insert(child);
    } else if (what < 30 && pid != 1) {
      record.exit(time_, pid, tid);
      process->second.erase(tid);
      if (process->second.empty()) tasks_.erase(process);
    } else if (what < 40) {
      record.comm(time_, pid, tid, "name" + std::to_string(time_));
    } else if (what < 45 && tid == pid) {
      for (const int32_t other : process->second) {
        if (other != tid) record.exit(time_, pid, other);
      }
      process->second = {tid};
      record.comm(time_, pid, tid, "exec" + std::to_string(time_), true);
    } else if (what < 65) {
      const auto path = "/file" + std::to_string(time_);
      record.mmap2({.time = time_,
                    .pid = pid,
                    .start = (1 + random_() % 8) * kPage,
                    .size = (1 + random_() % 3) * kPage,
                    .path = path});
    } else {
      const uint64_t address = (1 + random_() % 10) * kPage + random_() % kPage;
      samples.push_back({.time = time_, .pid = pid, .tid = tid, .ip = address, .callchain = {address}});
    }
    all += record.data();
    records_[random_() % 2].add(record.data());
  }

  // Gives both rings to the keeper, in some order.
  void drain(SideBandKeeper& keeper) {
    const size_t first = random_() % 2;
    for (const size_t index : {first, 1 - first}) {
      keeper.take(base::as_bytes(records_[index].data()));
      records_[index].data().clear();
    }
    keeper.end_round();
  }

  const std::string& start() const { return records_[0].data(); }
  uint64_t time() const { return time_; }

 private:
  size_t pick(size_t count) { return random_() % count; }
  int32_t unused_id() {
    for (;;) {
      const auto id = static_cast<int32_t>(2 + random_() % 100);
      bool used = false;
      for (const auto& [pid, tids] : tasks_) used = used || pid == id || tids.contains(id);
      if (!used) return id;
    }
  }

  std::mt19937 random_;
  std::map<int32_t, std::set<int32_t>> tasks_;
  TestRecording records_[2];
  uint64_t time_ = 0;
};

TEST(SideBandKeeper, ASnapshotNamesSamplesAsTheWholeHistoryDoes) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomMachine machine(seed);
    SideBandKeeper keeper(no_ranges);
    std::string all = machine.start();
    std::vector<stream::TestSample> samples;
    for (int i = 1; i <= 3000; ++i) {
      machine.step(all, samples);
      if (i % 37 == 0) machine.drain(keeper);
      if (i % 101 == 0 && machine.time() > 300) {
        const uint64_t horizon = machine.time() - 300;
        std::erase_if(samples, [horizon](const auto& sample) { return sample.time < horizon; });
        keeper.forget_before(horizon);
      }
      if (i % 1000 != 0) continue;
      machine.drain(keeper);
      ASSERT_GT(samples.size(), 50u);
      const std::string snapshot = written(keeper);
      ASSERT_EQ(rows(snapshot, samples), rows(all, samples)) << "seed " << seed << " step " << i;
      EXPECT_LT(snapshot.size(), all.size());
    }
  }
}

}  // namespace
}  // namespace tephra::collect
