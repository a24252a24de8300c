#pragma once

#include <cstdint>
#include <string>

#include "stream/recording_for_tests.h"
#include "stream/tracing_data_for_tests.h"

namespace tephra::stream {

inline constexpr uint64_t kTestSwitchId = 314;
inline constexpr uint64_t kTestWakeId = 315;

// A recording of context switches, as perf makes it.
class TestSwitches {
 public:
  explicit TestSwitches(bool with_wakes = false) : test_(TestRecording::kUsual | PERF_SAMPLE_RAW) {
    test_.events()[0].name = "sched:sched_switch";
    test_.layout().type = PERF_TYPE_TRACEPOINT;
    test_.layout().config = kTestSwitchId;
    if (with_wakes) {
      EventLayout& wake = test_.event("sched:sched_wakeup", TestRecording::kUsual | PERF_SAMPLE_RAW);
      wake.type = PERF_TYPE_TRACEPOINT;
      wake.config = kTestWakeId;
    }
    tracing_data_ = TestTracingData()
                        .event("sched_switch", kTestSwitchId,
                               "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                               "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                               "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                               "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                               "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                               "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
                               "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n")
                        .event("sched_wakeup", kTestWakeId, "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n")
                        .text();
  }

  TestSwitches& from_to(uint64_t time, int32_t tid, uint64_t state, int32_t next, uint64_t caller = 0x1000) {
    TestBytes raw;
    raw.put(uint64_t{kTestSwitchId}).raw(std::string(16, 'c')).put(tid).put(int32_t{120}).put(state);
    raw.raw(std::string(16, 'c')).put(next).put(int32_t{120}).put(uint32_t{0});
    test_.sample({.time = time, .pid = tid, .tid = tid, .callchain = {kTestUserMarker, caller}, .raw = raw.text()});
    return *this;
  }
  TestSwitches& wake(uint64_t time, int32_t tid) {
    const std::string raw = TestBytes().put(uint64_t{kTestWakeId}).put(tid).text();
    test_.sample({.time = time, .pid = 50, .tid = 50, .callchain = {kTestUserMarker, 2}, .event = 1, .raw = raw});
    return *this;
  }
  TestRecording& test() { return test_; }
  const TestRecording& test() const { return test_; }
  const std::string& tracing_data() const { return tracing_data_; }

  Recording recording() const {
    Recording recording = test_.recording();
    recording.tracing_data = base::as_bytes(tracing_data_);
    return recording;
  }

 private:
  TestRecording test_;
  std::string tracing_data_;
};

}  // namespace tephra::stream
