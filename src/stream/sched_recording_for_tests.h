#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stream/recording_for_tests.h"

namespace tephra::stream {

inline constexpr std::string_view kTestCommonFields =
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

// A recording of the scheduler, written event by event. Times are in nanoseconds.
class TestSched {
 public:
  enum Event : uint64_t {
    kSwitch = 301,
    kWaking,
    kWakeup,
    kNew,
    kMigrate,
    kRuntime,
    kFork,
    kSoftEntry,
    kSoftExit,
    kIrqEntry,
    kIrqExit,
    kTimerEntry,
    kTimerExit
  };
  static constexpr uint64_t kRunnable = 0;
  static constexpr uint64_t kSleeping = 1;
  static constexpr uint64_t kDead = 0x10;
  static constexpr uint64_t kPreempted = 0x100;

  TestSched() : test_(kType) {
    test_.layout().type = PERF_TYPE_SOFTWARE;
    const std::string task = text_field("comm", 8) + number_field("pid", 24, 4) + number_field("prio", 28, 4);
    describe("sched", kSwitch, "sched_switch",
             text_field("prev_comm", 8) + number_field("prev_pid", 24, 4) + number_field("prev_prio", 28, 4) +
                 number_field("prev_state", 32, 8) + text_field("next_comm", 40) + number_field("next_pid", 56, 4) +
                 number_field("next_prio", 60, 4),
             kStates);
    describe("sched", kWaking, "sched_waking", task + number_field("target_cpu", 32, 4));
    describe("sched", kWakeup, "sched_wakeup", task + number_field("target_cpu", 32, 4));
    describe("sched", kNew, "sched_wakeup_new", task + number_field("target_cpu", 32, 4));
    describe("sched", kMigrate, "sched_migrate_task",
             task + number_field("orig_cpu", 32, 4) + number_field("dest_cpu", 36, 4));
    describe("sched", kRuntime, "sched_stat_runtime",
             text_field("comm", 8) + number_field("pid", 24, 4) + number_field("runtime", 32, 8));
    describe("sched", kFork, "sched_process_fork",
             text_field("parent_comm", 8) + number_field("parent_pid", 24, 4) + text_field("child_comm", 28) +
                 number_field("child_pid", 44, 4));
    describe("irq", kSoftEntry, "softirq_entry", number_field("vec", 8, 4));
    describe("irq", kSoftExit, "softirq_exit", number_field("vec", 8, 4));
    describe("irq", kIrqEntry, "irq_handler_entry",
             number_field("irq", 8, 4) + "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n");
    describe("irq", kIrqExit, "irq_handler_exit", number_field("irq", 8, 4) + number_field("ret", 12, 4));
    describe("irq_vectors", kTimerEntry, "local_timer_entry", number_field("vector", 8, 4));
    describe("irq_vectors", kTimerExit, "local_timer_exit", number_field("vector", 8, 4));
  }

  // Thread numbers are also process numbers. Names are "tN".
  TestSched& switched(uint64_t time, uint32_t cpu, int32_t previous, uint64_t state, int32_t next) {
    TestBytes raw;
    raw.raw(comm(previous)).put(previous).put(120).put(state).raw(comm(next)).put(next).put(120);
    return add(kSwitch, time, cpu, previous, raw);
  }
  TestSched& woken(Event event, uint64_t time, uint32_t cpu, int32_t waker, int32_t task, int32_t target) {
    return add(event, time, cpu, waker, TestBytes().raw(comm(task)).put(task).put(120).put(target));
  }
  TestSched& migrated(uint64_t time, uint32_t cpu, int32_t mover, int32_t task, int32_t from, int32_t to) {
    return add(kMigrate, time, cpu, mover, TestBytes().raw(comm(task)).put(task).put(120).put(from).put(to));
  }
  TestSched& accounted(uint64_t time, uint32_t cpu, int32_t task, uint64_t run) {
    return add(kRuntime, time, cpu, task, TestBytes().raw(comm(task)).put(task).put(0).put(run));
  }
  TestSched& forked(uint64_t time, uint32_t cpu, int32_t parent, int32_t child) {
    return add(kFork, time, cpu, parent, TestBytes().raw(comm(parent)).put(parent).raw(comm(child)).put(child));
  }
  TestSched& interrupt(Event event, uint64_t time, uint32_t cpu, int32_t task, int32_t number) {
    TestBytes raw;
    raw.put(number);
    if (event == kIrqEntry) raw.put(uint32_t{5u << 16 | 16}).raw(std::string_view("eth0\0", 5));
    if (event == kIrqExit) raw.put(1);
    return add(event, time, cpu, task, raw);
  }
  TestSched& lost(uint64_t time, uint32_t cpu, uint64_t count) {
    test_.other(PERF_RECORD_LOST, 0, TestBytes().put(uint64_t{100}).put(count), {time, 1, 1, cpu});
    return *this;
  }
  TestRecording& records() { return test_; }

  // Points into this object.
  Recording recording() {
    tracing_ = tracing_data();
    Recording recording = test_.recording();
    recording.tracing_data = base::as_bytes(tracing_);
    return recording;
  }
  std::string tracing_data() const {
    std::string data("\x17\x08\x44tracing0.6\0\0\x08", 16);
    const auto sized = [](std::string_view text) { return TestBytes().put(uint64_t{text.size()}).raw(text).text(); };
    data += TestBytes().put(uint32_t{4096}).text();
    data += std::string("header_page\0", 12) + sized("") + std::string("header_event\0", 13) + sized("");
    data += TestBytes().put(uint32_t{0}).put(uint32_t{systems_}).raw(descriptions_).text();
    return data + TestBytes().put(uint32_t{0}).put(uint32_t{0}).text();
  }

 private:
  static constexpr uint64_t kType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                    PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
  static constexpr std::string_view kStates =
      "print fmt: \"prev_state=%s\", REC->prev_state & 0xff ? __print_flags(REC->prev_state & 0xff, \"|\", "
      "{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, "
      "{ 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\"\n";

  static std::string number_field(std::string_view name, size_t offset, size_t size) {
    return std::string("\tfield:") + (size == 8 ? "long " : "int ") + std::string(name) +
           ";\toffset:" + std::to_string(offset) + ";\tsize:" + std::to_string(size) + ";\tsigned:1;\n";
  }
  static std::string text_field(std::string_view name, size_t offset) {
    return "\tfield:char " + std::string(name) + "[16];\toffset:" + std::to_string(offset) + ";\tsize:16;\tsigned:0;\n";
  }
  static std::string comm(int32_t task) {
    std::string name = task == 0 ? "swapper" : "t" + std::to_string(task);
    name.resize(16, '\0');
    return name;
  }

  void describe(std::string_view system, uint64_t id, std::string_view name, const std::string& fields,
                std::string_view print = "print fmt: \"\"\n") {
    std::string text = "name: " + std::string(name) + "\nID: " + std::to_string(id) + "\nformat:\n";
    text.append(kTestCommonFields).append(fields).append("\n").append(print);
    ++systems_;
    descriptions_ += std::string(system) + '\0';
    descriptions_ += TestBytes().put(uint32_t{1}).put(uint64_t{text.size()}).raw(text).text();
    EventLayout& layout = test_.event(std::string(system) + ":" + std::string(name), kType);
    layout.type = PERF_TYPE_TRACEPOINT;
    layout.config = id;
  }

  TestSched& add(Event event, uint64_t time, uint32_t cpu, int32_t task, const TestBytes& fields) {
    TestSample sample;
    sample.time = time;
    sample.cpu = cpu;
    sample.pid = sample.tid = task;
    sample.event = 1 + (event - kSwitch);
    sample.raw = TestBytes().put(static_cast<uint16_t>(event)).put(uint16_t{0}).put(task).raw(fields.text()).text();
    while (sample.raw.size() % 8 != 4) sample.raw += '\0';
    test_.sample(sample);
    return *this;
  }

  TestRecording test_;
  uint32_t systems_ = 0;
  std::string descriptions_;
  std::string tracing_;
};

}  // namespace tephra::stream
