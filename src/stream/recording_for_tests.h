#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stream/recording.h"
#include "stream/records.h"

namespace tephra::stream {

// Puts values side by side, as the kernel does in records.
class TestBytes {
 public:
  template <class T>
  TestBytes& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  TestBytes& words(const std::vector<uint64_t>& values) {
    for (const uint64_t value : values) put(value);
    return *this;
  }
  TestBytes& raw(std::string_view bytes) {
    text_.append(bytes);
    return *this;
  }
  // Text with its NUL, filled up to whole words.
  TestBytes& name(std::string_view text) {
    text_.append(text).append(8 - text.size() % 8, '\0');
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline std::string test_record(uint32_t type, uint16_t misc, std::string_view body) {
  const auto size = static_cast<uint16_t>(kRecordHeaderSize + body.size());
  return TestBytes().put(type).put(misc).put(size).raw(body).text();
}

inline constexpr uint64_t kTestUserMarker = static_cast<uint64_t>(PERF_CONTEXT_USER);
inline constexpr uint64_t kTestKernelMarker = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);

// All that a sample may hold; the event's layout decides what is written.
struct TestSample {
  uint64_t time = 0;
  int32_t pid = 1;
  int32_t tid = 1;
  uint64_t ip = 0;
  std::vector<uint64_t> callchain{};
  uint64_t period = 1;
  uint32_t cpu = 0;
  uint16_t misc = PERF_RECORD_MISC_USER;
  size_t event = 0;
  uint64_t address = 0;
  std::vector<uint64_t> read{};      // the words of READ
  std::string raw{};                 // 4 bytes short of whole words
  std::vector<uint64_t> branches{};  // three words each
  uint64_t hardware_index = 0;
  uint64_t registers_abi = PERF_SAMPLE_REGS_ABI_64;
  std::vector<uint64_t> registers{};
  std::string stack{};
  uint64_t stack_filled = 0;
  std::vector<uint64_t> rest{};  // words behind the stack
};

// Who and when of the other records, for the trailer.
struct TestOrigin {
  uint64_t time = 0;
  int32_t pid = 1;
  int32_t tid = 1;
  uint32_t cpu = 0;
  size_t event = 0;
};

struct TestMmap {
  uint64_t time = 0;
  int32_t pid = 1;
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  std::string_view path;
  uint16_t misc = PERF_RECORD_MISC_USER;
  uint32_t protection = 5;
  uint64_t inode = 7;
  std::string_view build_id{};  // bytes
};

// Writes the records of a recording for tests. What recording() returns points into this object.
class TestRecording {
 public:
  static constexpr uint64_t kUsual = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;

  explicit TestRecording(uint64_t sample_type = kUsual) { event("cpu-clock", sample_type); }

  // Adds an event, with one id: 100 and its number.
  EventLayout& event(std::string_view name, uint64_t sample_type) {
    RecordedEvent event;
    event.name = std::string(name);
    event.layout.type = PERF_TYPE_SOFTWARE;
    event.layout.sample_type = sample_type;
    event.layout.sample_id_all = true;
    event.layout.build_ids = true;
    event.layout.sample_period_or_frequency = 1;
    event.ids = {100 + events_.size()};
    events_.push_back(std::move(event));
    return events_.back().layout;
  }
  EventLayout& layout(size_t event = 0) { return events_[event].layout; }
  std::vector<RecordedEvent>& events() { return events_; }
  const std::vector<RecordedEvent>& events() const { return events_; }

  TestRecording& sample(const TestSample& s) {
    ++samples_;
    value_ += s.period;
    return add(sample_record(s));
  }

  std::string sample_record(const TestSample& s) const {
    const EventLayout& layout = events_[s.event].layout;
    const uint64_t type = layout.sample_type;
    const uint64_t id = events_[s.event].ids.empty() ? 0 : events_[s.event].ids[0];
    TestBytes body;
    if (type & PERF_SAMPLE_IDENTIFIER) body.put(id);
    if (type & PERF_SAMPLE_IP) body.put(s.ip);
    if (type & PERF_SAMPLE_TID) body.put(s.pid).put(s.tid);
    if (type & PERF_SAMPLE_TIME) body.put(s.time);
    if (type & PERF_SAMPLE_ADDR) body.put(s.address);
    if (type & PERF_SAMPLE_ID) body.put(id);
    if (type & PERF_SAMPLE_STREAM_ID) body.put(id);
    if (type & PERF_SAMPLE_CPU) body.put(s.cpu).put(uint32_t{0});
    if (type & PERF_SAMPLE_PERIOD) body.put(s.period);
    if (type & PERF_SAMPLE_READ) body.words(s.read);
    if (type & PERF_SAMPLE_CALLCHAIN) body.put(uint64_t{s.callchain.size()}).words(s.callchain);
    if (type & PERF_SAMPLE_RAW) body.put(static_cast<uint32_t>(s.raw.size())).raw(s.raw);
    if (type & PERF_SAMPLE_BRANCH_STACK) {
      body.put(uint64_t{s.branches.size() / 3});
      if (layout.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) body.put(s.hardware_index);
      body.words(s.branches);
    }
    if (type & PERF_SAMPLE_REGS_USER) {
      body.put(s.registers_abi);
      if (s.registers_abi != PERF_SAMPLE_REGS_ABI_NONE) body.words(s.registers);
    }
    if (type & PERF_SAMPLE_STACK_USER) {
      body.put(uint64_t{s.stack.size()}).raw(s.stack);
      if (!s.stack.empty()) body.put(s.stack_filled);
    }
    body.words(s.rest);
    return test_record(PERF_RECORD_SAMPLE, s.misc, body.text());
  }

  // Appends any record; other() adds the trailer.
  TestRecording& add(std::string_view bytes) {
    data_.append(bytes);
    return *this;
  }
  TestRecording& other(uint32_t type, uint16_t misc, const TestBytes& body, const TestOrigin& origin) {
    return add(test_record(type, misc, body.text() + trailer(origin)));
  }

  TestRecording& mmap(const TestMmap& m) {
    TestBytes body;
    body.put(m.pid).put(m.pid).put(m.start).put(m.size).put(m.offset).name(m.path);
    return other(PERF_RECORD_MMAP, m.misc, body, {m.time, m.pid, m.pid});
  }
  TestRecording& mmap2(const TestMmap& m) {
    TestBytes body;
    body.put(m.pid).put(m.pid).put(m.start).put(m.size).put(m.offset);
    uint16_t misc = m.misc;
    if (m.build_id.empty()) {
      body.put(uint32_t{8}).put(uint32_t{1}).put(m.inode).put(uint64_t{3});
    } else {
      misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
      body.put(static_cast<uint8_t>(m.build_id.size())).put(uint8_t{0}).put(uint16_t{0}).raw(m.build_id);
      body.raw(std::string(20 - m.build_id.size(), '\0'));
    }
    body.put(m.protection).put(uint32_t{2}).name(m.path);
    return other(PERF_RECORD_MMAP2, misc, body, {m.time, m.pid, m.pid});
  }
  TestRecording& comm(uint64_t time, int32_t pid, int32_t tid, std::string_view name, bool exec = false) {
    const auto misc = static_cast<uint16_t>(exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
    return other(PERF_RECORD_COMM, misc, TestBytes().put(pid).put(tid).name(name), {time, pid, tid});
  }
  TestRecording& fork(uint64_t time, int32_t pid, int32_t parent_pid, int32_t tid, int32_t parent_tid,
                      uint16_t misc = 0) {
    TestBytes body;
    body.put(pid).put(parent_pid).put(tid).put(parent_tid).put(time);
    return other(PERF_RECORD_FORK, misc, body, {time, parent_pid, parent_tid});
  }
  TestRecording& exit(uint64_t time, int32_t pid, int32_t tid) {
    TestBytes body;
    body.put(pid).put(pid).put(tid).put(tid).put(time);
    return other(PERF_RECORD_EXIT, 0, body, {time, pid, tid});
  }
  TestRecording& lost(uint64_t time, uint64_t count) {
    return other(PERF_RECORD_LOST, 0, TestBytes().put(uint64_t{100}).put(count), {time});
  }
  TestRecording& lost_samples(uint64_t time, uint64_t count) {
    return other(PERF_RECORD_LOST_SAMPLES, 0, TestBytes().put(count), {time});
  }
  TestRecording& throttle(uint64_t time, bool on) {
    TestBytes body;
    body.put(time).put(uint64_t{100}).put(uint64_t{100});
    return other(on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0, body, {time});
  }
  TestRecording& ksymbol(uint64_t time, uint64_t address, uint32_t size, bool removed, std::string_view name) {
    TestBytes body;
    body.put(address).put(size).put(uint16_t{PERF_RECORD_KSYMBOL_TYPE_BPF}).put(static_cast<uint16_t>(removed));
    return other(PERF_RECORD_KSYMBOL, 0, body.name(name), {time});
  }
  TestRecording& finished_round() { return add(test_record(kRecordFinishedRound, 0, {})); }

  const std::string& data() const { return data_; }
  std::string& data() { return data_; }
  uint64_t samples() const { return samples_; }
  uint64_t value() const { return value_; }

  // One part holds all records.
  Recording recording() const {
    Recording recording;
    recording.events = events_;
    recording.records = {base::as_bytes(data_)};
    return recording;
  }

 private:
  std::string trailer(const TestOrigin& origin) const {
    const EventLayout& layout = events_[origin.event].layout;
    const uint64_t type = layout.sample_type;
    const uint64_t id = events_[origin.event].ids.empty() ? 0 : events_[origin.event].ids[0];
    if (!layout.sample_id_all) return {};
    TestBytes bytes;
    if (type & PERF_SAMPLE_TID) bytes.put(origin.pid).put(origin.tid);
    if (type & PERF_SAMPLE_TIME) bytes.put(origin.time);
    if (type & PERF_SAMPLE_ID) bytes.put(id);
    if (type & PERF_SAMPLE_STREAM_ID) bytes.put(id);
    if (type & PERF_SAMPLE_CPU) bytes.put(origin.cpu).put(uint32_t{0});
    if (type & PERF_SAMPLE_IDENTIFIER) bytes.put(id);
    return bytes.text();
  }

  std::vector<RecordedEvent> events_;
  std::string data_;
  uint64_t samples_ = 0;
  uint64_t value_ = 0;
};

}  // namespace tephra::stream
