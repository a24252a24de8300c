#include "stream/wait_reading.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "abi/wait_record.h"
#include "base/units.h"
#include "model/reading_notes.h"
#include "stream/decoder.h"
#include "stream/record_pass.h"
#include "stream/recording.h"
#include "stream/syscall_names.h"
#include "stream/time_account.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

// The least that says anything: state, flags, system call, how many.
constexpr size_t kLeastSize = offsetof(tephra_wait_record, began);

// What a sample of waiting carries; nothing where it is not that. Fields that an older recorder did not write are 0.
std::optional<tephra_wait_record> wait_record(base::Bytes raw) {
  tephra_wait_record record{};
  if (raw.size() < kLeastSize) return {};
  const auto size = base::load<uint32_t>(raw.data());
  if (size < kLeastSize || size > raw.size()) return {};
  std::memcpy(&record, raw.data(), std::min<size_t>(size, sizeof record));
  if (record.state >= TEPHRA_WAIT_STATES) return {};
  return record;
}

// A number of a sample of `wakers`, and that of who had woken it.
struct WakerRecord {
  uint64_t number = 0;
  uint64_t woken_by = 0;
};

std::optional<WakerRecord> waker_record(base::Bytes raw) {
  if (raw.size() < 2 * sizeof(uint64_t)) return {};
  return WakerRecord{base::load<uint64_t>(raw.data()), base::load<uint64_t>(raw.data() + sizeof(uint64_t))};
}

// What decides about labels.
struct LabelKey {
  uint32_t state = 0;
  uint32_t flags = 0;
  uint32_t syscall = TEPHRA_NO_SYSCALL;
  uint64_t address = 0;
  uint64_t waker = 0;
  uint64_t woken_by = 0;
  bool is_waker = false;
  auto operator<=>(const LabelKey&) const = default;
};

LabelKey key_of(const tephra_wait_record& wait) {
  return {wait.state, wait.flags, wait.syscall, wait.address, wait.waker, 0, false};
}
LabelKey key_of(const WakerRecord& waker) {
  return {.waker = waker.number, .woken_by = waker.woken_by, .is_waker = true};
}

std::string_view open_text(uint32_t flags) {
  const bool begin = flags & TEPHRA_WAIT_OPEN_BEGIN;
  const bool end = flags & TEPHRA_WAIT_OPEN_END;
  if (begin && end) return "begin and end";
  return begin ? "begin" : end ? "end" : "";
}

std::string_view why_no_stack(uint32_t flags) {
  if (flags & TEPHRA_WAIT_NOT_SAMPLED) return kStackNotSampled;
  return flags & TEPHRA_WAIT_STACK_LOST ? kStackLost : kStackNotKept;
}

SampleReading::Labels labels_of(const LabelKey& key, std::string_view arch) {
  SampleReading::Labels labels;
  const auto text = [&](std::string_view label, std::string_view value) {
    if (!value.empty()) labels.push_back({std::string(label), std::string(value), 0, ""});
  };
  const auto number = [&](std::string_view label, uint64_t value) {
    if (value != 0) labels.push_back({std::string(label), "", static_cast<int64_t>(value), ""});
  };
  number(kWakerLabel, key.waker);
  number(kWokenByLabel, key.woken_by);
  if (key.is_waker) return labels;
  text(kStateLabel, wait_state_name(key.state));
  if (key.syscall != TEPHRA_NO_SYSCALL) text(kSyscallLabel, syscall_name(key.syscall, arch));
  if (key.address != 0) {
    text(kLockLabel, fmt::format("{:#x}", key.address));
    labels.back().number = static_cast<int64_t>(key.address);
  }
  if (key.flags & TEPHRA_WAIT_IN_FAULT) {
    text(kCauseLabel, kCauseFault);
  } else if (key.flags & TEPHRA_WAIT_FOR_IO) {
    text(kCauseLabel, kCauseDisk);
  }
  if (key.flags & TEPHRA_WAIT_SINGLE) text(kExtentLabel, kSingleWait);
  if (key.flags & TEPHRA_WAIT_NO_STACK) text(kStackLabel, why_no_stack(key.flags));
  text(kOpenLabel, open_text(key.flags));
  return labels;
}

class WaitReading : public SampleReading {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Events that are not there are kNone.
  WaitReading(uint32_t waits, uint32_t wakers, std::string arch)
      : waits_(waits), wakers_(wakers), arch_(std::move(arch)), label_sets_(1) {}

  // Makes the labels of a sample known. Returns whether it could be read.
  bool note(const Sample& sample) {
    const auto key = key_of_sample(sample);
    if (!key) return false;
    const auto [at, is_new] = numbers_.try_emplace(*key, static_cast<uint32_t>(label_sets_.size()));
    if (is_new) label_sets_.push_back(labels_of(*key, arch_));
    return true;
  }

  bool reads(uint32_t event) const override { return event == waits_ || event == wakers_; }

  // What it carries may be damaged; its time is the sample's own.
  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const auto key = key_of_sample(sample);
    const auto known = key ? numbers_.find(*key) : numbers_.end();
    const auto wait = sample.origin.event == waits_ ? wait_record(sample.raw) : std::nullopt;
    parts.push_back({.event = sample.origin.event,
                     .value = sample.period,
                     .count = wait ? std::max<uint64_t>(wait->count, 1) : 1,
                     .labels = known == numbers_.end() ? 0 : known->second});
  }

  uint64_t time_of(const Sample& sample) const override {
    const auto wait = sample.origin.event == waits_ ? wait_record(sample.raw) : std::nullopt;
    const bool single = wait && wait->flags & TEPHRA_WAIT_SINGLE && wait->began != 0;
    return single ? wait->began : sample.origin.time;
  }

  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  std::optional<LabelKey> key_of_sample(const Sample& sample) const {
    if (sample.origin.event == waits_) {
      const auto wait = wait_record(sample.raw);
      return wait ? std::optional(key_of(*wait)) : std::nullopt;
    }
    const auto waker = waker_record(sample.raw);
    return waker ? std::optional(key_of(*waker)) : std::nullopt;
  }

  uint32_t waits_;
  uint32_t wakers_;
  std::string arch_;
  std::map<LabelKey, uint32_t> numbers_;
  std::vector<Labels> label_sets_;
};

uint32_t find_event(const Recording& recording, std::string_view name) {
  const auto found = std::ranges::find(recording.events, name, &RecordedEvent::name);
  return found == recording.events.end() ? WaitReading::kNone : static_cast<uint32_t>(found - recording.events.begin());
}

bool is_of_tasks(const Record& record) {
  return record.type == PERF_RECORD_FORK || record.type == PERF_RECORD_EXIT || record.type == PERF_RECORD_COMM;
}

}  // namespace

base::Status add_wait_reading(Recording& recording, const ReadingOptions& options) {
  const uint32_t waits = find_event(recording, kWaitEvent);
  if (waits == WaitReading::kNone) return {};
  // perf measures waits in the same unit, and says nothing else of them.
  recording.events[waits].unit = "ns";
  recording.events[waits].counted = kWaitsCounted;
  if (!recording.recorder || !(recording.events[waits].layout.sample_type & PERF_SAMPLE_RAW)) return {};
  const uint32_t wakers = find_event(recording, kWakersEvent);
  auto reading = std::make_shared<WaitReading>(waits, wakers, recording.facts.arch);
  const uint32_t run_time = find_event(recording, kRunTimeEvent);
  const Decoder decoder(recording);
  Sample sample;
  TimeAccount account;
  uint64_t unread = 0;
  for_each_record(recording, options.done_with, [&](const Record& record, uint64_t) {
    if (record.type == PERF_RECORD_SAMPLE) {
      if (!decoder.decode_sample(record, sample)) return;
      const uint32_t event = sample.origin.event;
      if (reading->reads(event)) unread += !reading->note(sample);
      if (event == run_time || (event == waits && sample.period > 0)) account.add_time(sample);
    } else if (run_time != WaitReading::kNone && is_of_tasks(record)) {
      account.add_event(decoder.decode(record));
    }
  });
  if (run_time != WaitReading::kNone) recording.facts.time_account = account.finish();
  if (unread > 0) {
    model::add_reading_note(kWaitEvent,
                            fmt::format("{} without what the recorder tells of waits", base::counted(unread, "sample")),
                            recording.facts);
  }
  recording.readings.push_back(std::move(reading));
  return {};
}

}  // namespace tephra::stream
