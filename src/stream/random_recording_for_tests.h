#pragma once

#include <random>
#include <string>

#include "stream/recording_for_tests.h"

namespace tephra::stream {

struct RandomRecordingOptions {
  uint32_t seed = 1;
  size_t samples = 1000;
  size_t events = 1;
};

// A recording of processes that come, go, map, rename and run, with records out of order as several rings leave them.
// Samples are of pids 0 to 5 with up to three threads each (pid 2 has 11 to 13); events are event0, event1 ...
inline TestRecording random_recording(const RandomRecordingOptions& options) {
  std::mt19937 random(options.seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  TestRecording test;
  test.events()[0].name = "event0";
  while (test.events().size() < options.events) {
    test.event("event" + std::to_string(test.events().size()), TestRecording::kUsual);
  }
  constexpr uint64_t kKernelStart = 0xffffffff81000000;
  test.mmap({.pid = -1,
             .start = kKernelStart,
             .size = 0x100000,
             .path = "[kernel.kallsyms]_text",
             .misc = PERF_RECORD_MISC_KERNEL});
  for (size_t i = 0; i < options.samples; ++i) {
    const uint64_t time = 1 + i + below(50);
    const auto pid = static_cast<int32_t>(below(6));
    const auto tid = pid == 0 ? 0 : pid * 10 + static_cast<int32_t>(below(3)) - 9;
    switch (below(40)) {
      case 0:
        test.mmap2({.time = time,
                    .pid = pid,
                    .start = 0x10000 + uint64_t{below(16)} * 0x1000,
                    .size = 0x1000 + uint64_t{below(8)} * 0x1000,
                    .path = "/lib/" + std::to_string(below(10))});
        break;
      case 1:
        test.comm(time, pid, tid, "name" + std::to_string(below(5)), below(8) == 0);
        break;
      case 2:
        test.fork(time, pid, static_cast<int32_t>(below(6)), tid, static_cast<int32_t>(below(6)));
        break;
      case 3:
        test.finished_round();
        break;
      default:
        break;
    }
    TestSample sample{.time = time, .pid = pid, .tid = tid};
    sample.cpu = below(4);
    sample.period = 1 + below(1000000);
    sample.event = below(static_cast<uint32_t>(options.events));
    const auto chain = [&](uint64_t marker, uint64_t base, uint32_t addresses) {
      sample.callchain.push_back(marker);
      for (uint32_t depth = 0; depth < addresses; ++depth) sample.callchain.push_back(base + below(4) * 0x800);
    };
    if (below(3) == 0) {
      sample.misc = PERF_RECORD_MISC_KERNEL;
      sample.ip = kKernelStart;
      chain(kTestKernelMarker, kKernelStart, 1 + below(4));
    } else {
      sample.ip = 0x10000;
    }
    if (pid != 0 && below(10) != 0) chain(kTestUserMarker, 0x10000, 1 + below(8));
    test.sample(sample);
  }
  return test;
}

}  // namespace tephra::stream
