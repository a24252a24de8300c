#include "stream/profile_builder.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "base/parallel.h"
#include "stream/decoder.h"
#include "stream/profile_for_tests.h"
#include "stream/random_recording_for_tests.h"
#include "stream/recording_for_tests.h"
#include "stream/side_band.h"

namespace tephra::stream {
namespace {

using model::Reason;

// Keeps this thread, and the threads it starts, on one CPU while it lives, so that work is not shared out.
class OneCpu {
 public:
  OneCpu() {
    CPU_ZERO(&before_);
    ::sched_getaffinity(0, sizeof before_, &before_);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before_)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

// Rows with all that they say.
std::vector<std::string> whole_rows(const model::Profile& profile) {
  std::vector<std::string> rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const auto& thread = profile.threads[profile.samples.thread[i]];
    rows.push_back(fmt::format("{} {} {} {} {} {}", row_text(profile, i), thread.pid, thread.tid,
                               profile.text(profile.events[profile.samples.event[i]].name), profile.samples.count[i],
                               profile.samples.value[i]));
  }
  return rows;
}

TEST(ProfileBuilder, TheResultDoesNotDependOnThreads) {
  const TestRecording test = random_recording({.seed = 3, .samples = 40000, .events = 2});
  const Recording recording = test.recording();
  const Decoder decoder(recording);
  model::ProfileAssembler assembler;
  ASSERT_GT(read_side_band(recording, decoder, assembler).chunks.size(), 3u);
  const auto many = build_profile(recording, {});
  const OneCpu one_cpu;
  ASSERT_EQ(base::worker_count(), 1u);
  const auto one = build_profile(recording, {});
  EXPECT_EQ(whole_rows(one), whole_rows(many));
  EXPECT_EQ(one.quality, many.quality);
  EXPECT_EQ(one.facts.first_time, many.facts.first_time);
  EXPECT_EQ(one.facts.last_time, many.facts.last_time);
  EXPECT_EQ(model::totals(one), (model::Totals{test.samples(), test.value()}));
}

TEST(ProfileBuilder, PartsOfARecordingAreReadAsOne) {
  const TestRecording test = random_recording({.seed = 4, .samples = 3000, .events = 1});
  Recording parts = test.recording();
  const base::Bytes whole = parts.records[0];
  RecordWalker walker(whole);
  Record record;
  while (walker.position() < whole.size() / 2 && walker.next(record)) continue;
  parts.records = {whole.first(walker.position()), {}, whole.subspan(walker.position())};
  EXPECT_EQ(whole_rows(build_profile(parts, {})), whole_rows(build_profile(test.recording(), {})));
}

TEST(ProfileBuilder, EverySampleIsARowInTheOrderOfVisits) {
  const TestRecording test = random_recording({.seed = 5, .samples = 5000, .events = 3});
  const auto profile = build_profile(test.recording(), {.keep_every_sample = true});
  ASSERT_EQ(profile.samples.size(), test.samples());
  ASSERT_EQ(profile.samples.time.size(), test.samples());
  ASSERT_EQ(profile.samples.cpu.size(), test.samples());
  size_t row = 0;
  for_each_sample(test.recording(), {}, [&](const Sample& sample) {
    ASSERT_LT(row, profile.samples.size());
    EXPECT_EQ(profile.samples.time[row], sample.origin.time);
    EXPECT_EQ(profile.samples.cpu[row], sample.origin.cpu);
    EXPECT_EQ(profile.samples.value[row], sample.period);
    EXPECT_EQ(profile.samples.count[row], 1u);
    EXPECT_EQ(profile.threads[profile.samples.thread[row]].tid, sample.origin.tid);
    EXPECT_EQ(profile.text(profile.events[profile.samples.event[row]].name), test.events()[sample.origin.event].name);
    ++row;
  });
  EXPECT_EQ(row, profile.samples.size());
  EXPECT_TRUE(std::is_sorted(profile.samples.time.begin(), profile.samples.time.end()));
  EXPECT_EQ(profile.facts.first_time, profile.samples.time.front());
  EXPECT_EQ(profile.facts.last_time, profile.samples.time.back());
}

// What goes in comes out, however rows are kept.
TEST(ProfileBuilder, SumsAreThoseOfTheSamples) {
  for (uint32_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    const TestRecording test = random_recording({.seed = seed, .samples = 300, .events = 1 + seed % 4});
    const model::Totals expected{test.samples(), test.value()};
    const auto counted = build_profile(test.recording(), {});
    const auto by_cpu = build_profile(test.recording(), {.keep_cpu = true});
    const auto every = build_profile(test.recording(), {.keep_every_sample = true});
    const auto in_steps = build_profile(test.recording(), {.time_step = 1000});
    EXPECT_EQ(model::totals(in_steps), expected);
    EXPECT_EQ(in_steps.samples.time.size(), in_steps.samples.size());
    for (const uint64_t time : in_steps.samples.time) EXPECT_EQ(time % 1000, 0u);
    EXPECT_EQ(model::totals(counted), expected);
    EXPECT_EQ(model::totals(by_cpu), expected);
    EXPECT_EQ(model::totals(every), expected);
    EXPECT_EQ(counted.quality, every.quality);
    EXPECT_EQ(counted.quality, by_cpu.quality);
    // The same stacks, each with the same sums.
    std::map<std::string, model::Totals> stacks;
    for (const auto* profile : {&counted, &by_cpu, &every, &in_steps}) {
      std::map<std::string, model::Totals> own;
      for (size_t i = 0; i < profile->samples.size(); ++i) {
        auto& sum = own[row_text(*profile, i)];
        sum.count += profile->samples.count[i];
        sum.value += profile->samples.value[i];
      }
      if (stacks.empty()) stacks = own;
      EXPECT_EQ(own, stacks);
    }
    model::Totals over_events;
    for_each_id(counted.events, [&](model::EventId event) {
      over_events.count += model::totals(counted, event).count;
      over_events.value += model::totals(counted, event).value;
    });
    EXPECT_EQ(over_events, expected);
  }
}

TEST(ProfileBuilder, FiltersTakeWhatTheySay) {
  const TestRecording test = random_recording({.seed = 9, .samples = 4000, .events = 2});
  struct Case {
    std::string name;
    SampleFilter filter;
    std::function<bool(const Sample&)> takes;
  };
  const std::vector<Case> cases{
      {"pid", {.pids = {2, 3}}, [](const Sample& s) { return s.origin.pid == 2 || s.origin.pid == 3; }},
      {"tid", {.tids = {11}}, [](const Sample& s) { return s.origin.tid == 11; }},
      {"cpu", {.cpus = {1}}, [](const Sample& s) { return s.origin.cpu == 1; }},
      {"event", {.events = {"event1"}}, [](const Sample& s) { return s.origin.event == 1; }},
      {"no event", {.events = {"other"}}, [](const Sample&) { return false; }},
      {"time",
       {.begin_time = 1000, .end_time = 2000},
       [](const Sample& s) { return s.origin.time >= 1000 && s.origin.time <= 2000; }},
      {"two", {.pids = {2}, .cpus = {0}}, [](const Sample& s) { return s.origin.pid == 2 && s.origin.cpu == 0; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    model::Totals expected;
    for_each_sample(test.recording(), {}, [&](const Sample& sample) {
      if (!one.takes(sample)) return;
      ++expected.count;
      expected.value += sample.period;
    });
    EXPECT_EQ(model::totals(build_profile(test.recording(), {.filter = one.filter})), expected);
    EXPECT_EQ(model::totals(build_profile(test.recording(), {.filter = one.filter, .keep_every_sample = true})),
              expected);
    uint64_t visited = 0;
    for_each_sample(test.recording(), one.filter, [&](const Sample&) { ++visited; });
    EXPECT_EQ(visited, expected.count);
    EXPECT_TRUE(one.name == "no event" ? visited == 0 : visited > 0 && visited < test.samples());
  }
}

TEST(ProfileBuilder, NamesAreFilteredByWhatTheyWereThen) {
  TestRecording test;
  test.comm(1, 1, 1, "before").comm(10, 1, 1, "after");
  test.sample({.time = 5, .ip = 1}).sample({.time = 15, .ip = 1}).sample({.time = 16, .ip = 1});
  EXPECT_EQ(model::totals(build_profile(test.recording(), {.filter = {.comms = {"after"}}})).count, 2u);
  EXPECT_EQ(model::totals(build_profile(test.recording(), {.filter = {.comms = {"before"}}})).count, 1u);
  EXPECT_EQ(model::totals(build_profile(test.recording(), {.filter = {.comms = {"never"}}})).count, 0u);
}

TEST(ProfileBuilder, IdleSamplesAreCountedWhenLeftOut) {
  TestRecording test;
  test.sample({.time = 1, .pid = 0, .tid = 0, .ip = 1}).sample({.time = 2, .pid = 0, .tid = 0, .ip = 1});
  test.sample({.time = 3, .ip = 1});
  for (const bool every : {false, true}) {
    const auto without = build_profile(test.recording(), {.filter = {.keep_idle = false}, .keep_every_sample = every});
    EXPECT_EQ(model::totals(without).count, 1u);
    EXPECT_EQ(without.quality.idle, 2u);
    const auto with = build_profile(test.recording(), {.keep_every_sample = every});
    EXPECT_EQ(model::totals(with).count, 3u);
    EXPECT_EQ(with.quality.idle, 0u);
    EXPECT_TRUE(row_text(with, 0).starts_with("swapper "));
  }
}

Recording recorded_by(const TestRecording& test, int32_t pid) {
  Recording recording = test.recording();
  recording.recorder.emplace().recorder_pid = pid;
  return recording;
}

TEST(ProfileBuilder, SamplesOfTheRecorderAreCountedWhenLeftOut) {
  TestRecording test;
  test.sample({.time = 1, .pid = 9, .tid = 9, .ip = 1}).sample({.time = 2, .pid = 9, .tid = 10, .ip = 1});
  test.sample({.time = 3, .ip = 1});
  const Recording recording = recorded_by(test, 9);
  for (const bool every : {false, true}) {
    const auto without = build_profile(recording, {.filter = {.keep_own = false}, .keep_every_sample = every});
    EXPECT_EQ(model::totals(without).count, 1u);
    EXPECT_EQ(without.quality.own, 2u);
    const auto with = build_profile(recording, {.keep_every_sample = every});
    EXPECT_EQ(model::totals(with).count, 3u);
    EXPECT_EQ(with.quality.own, 0u);
  }
  EXPECT_EQ(build_profile(test.recording(), {.filter = {.keep_own = false}}).quality.own, 0u) << "of another recorder";
}

TEST(ProfileBuilder, SamplesOfTheRecorderAreKeptWhereTheyWereAskedFor) {
  TestRecording test;
  test.sample({.time = 1, .pid = 9, .tid = 10, .ip = 1}).sample({.time = 3, .ip = 1});
  Recording recording = recorded_by(test, 9);
  const auto count = [&](SampleFilter filter) {
    filter.keep_own = false;
    return model::totals(build_profile(recording, {.filter = filter})).count;
  };
  EXPECT_EQ(count({.pids = {9}}), 1u);
  EXPECT_EQ(count({.tids = {10}}), 1u);
  EXPECT_EQ(count({.cpus = {0}}), 1u);
  EXPECT_EQ(count({.asked_for = {9}}), 2u);
  EXPECT_EQ(count({.asked_for = {1}}), 1u);
  recording.facts.command_line = "tephra record -p 9";
  EXPECT_EQ(count({}), 2u);
}

TEST(SampleFilter, KnowsWhatACommandLineRecords) {
  for (const char* line : {"tephra record -p 9", "tephra record -p9 -g", "x --pid 7,9", "x --pid=9", "x -t 9 -- y"}) {
    EXPECT_TRUE(records_process(line, 9)) << line;
  }
  for (const char* line : {"", "tephra record -a", "x -p 99", "x -p", "x -- kill -p 9", "x --period 9", "x -c 9",
                           "x -p 8 9", "x --pids 9"}) {
    EXPECT_FALSE(records_process(line, 9)) << line;
  }
}

TEST(ProfileBuilder, FactsOfTheRecorderBecomeShares) {
  TestRecording test;
  Recording recording = recorded_by(test.sample({.time = 1, .ip = 1}), 9);
  EXPECT_FALSE(build_profile(recording, {}).facts.steal_share.has_value());
  recording.recorder->steal_seconds = 0.5;
  recording.recorder->cpu_seconds_total = 20;
  recording.recorder->recorder_cpu_seconds = 0.25;
  EXPECT_DOUBLE_EQ(build_profile(recording, {}).facts.steal_share.value(), 0.025);
  EXPECT_DOUBLE_EQ(build_profile(recording, {}).facts.recorder_cpu_seconds.value(), 0.25);
  recording.recorder->cpu_seconds_total = 0;
  EXPECT_FALSE(build_profile(recording, {}).facts.steal_share.has_value());
}

TEST(ProfileBuilder, LossesAreCountedOnce) {
  // perf 6.1 and later tell them twice, and ask for them in the read format.
  for (const bool twice : {false, true}) {
    TestRecording test;
    if (twice) test.layout().read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
    test.lost(1, 3).lost(2, 4).lost_samples(3, 7).sample({.time = 4, .ip = 1});
    EXPECT_EQ(build_profile(test.recording(), {}).quality.lost, twice ? 7u : 14u);
  }
}

TEST(ProfileBuilder, WhatIsWrongIsCounted) {
  TestRecording test;
  test.event("second", TestRecording::kUsual);
  test.throttle(1, true).throttle(2, false).throttle(3, true);
  test.add(test_record(40000, 0, "12345678")).add(test_record(PERF_RECORD_MMAP2, 0, "12345678"));
  test.add(test_record(PERF_RECORD_SAMPLE, 0, TestBytes().put(uint64_t{100}).text()));
  test.add(test_record(PERF_RECORD_SAMPLE, 0, TestBytes().put(uint64_t{999}).put(uint64_t{1}).text()));
  test.sample({.time = 4, .ip = 1});
  test.add(TestBytes().put(uint32_t{9}).put(uint16_t{0}).put(uint16_t{0}).text());
  for (const bool every : {false, true}) {
    const auto quality = build_profile(test.recording(), {.keep_every_sample = every}).quality;
    EXPECT_EQ(quality.throttled, 2u);
    EXPECT_EQ(quality[Reason::unknown_records], 1u);
    EXPECT_EQ(quality[Reason::malformed_records], 2u);
    EXPECT_EQ(quality[Reason::unknown_event], 1u);
    EXPECT_EQ(quality[Reason::file_truncated], 1u);
  }
}

TEST(ProfileBuilder, PartsThatWereReadAreToldAfterEachPass) {
  const TestRecording test = random_recording({.seed = 6, .samples = 20000, .events = 1});
  std::mutex mutex;
  size_t bytes = 0;
  BuildOptions options;
  options.done_with = [&](base::Bytes part) {
    const std::lock_guard lock(mutex);
    bytes += part.size();
  };
  build_profile(test.recording(), options);
  EXPECT_GT(bytes, size_t{1} << 20);
  // One pass finds out who was mapped where, one reads the samples.
  EXPECT_LE(bytes, 2 * test.data().size());
}

TEST(ProfileBuilder, NothingInNothingOut) {
  TestRecording test;
  const auto profile = build_profile(test.recording(), {});
  EXPECT_EQ(profile.samples.size(), 0u);
  EXPECT_EQ(profile.facts.first_time, 0u);
  Recording bare;
  EXPECT_EQ(build_profile(bare, {}).samples.size(), 0u);
  bare.records = {base::as_bytes("not records at all, but long enough")};
  EXPECT_EQ(build_profile(bare, {}).quality[Reason::file_truncated], 1u);
}

}  // namespace
}  // namespace tephra::stream
