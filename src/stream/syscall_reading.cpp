#include "stream/syscall_reading.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "stream/activity_samples.h"
#include "stream/syscall_names.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

constexpr std::string_view kRecorded = "syscalls";

std::optional<tephra_activity_record> call_record(base::Bytes raw) {
  return activity_record(raw, TEPHRA_SYSCALL, TEPHRA_SYSCALL);
}

// What decides about labels: the number, and flags.
using LabelKey = std::pair<uint32_t, uint32_t>;

LabelKey key_of(const tephra_activity_record& record) {
  return {record.detail, record.flags & (TEPHRA_ACTIVITY_NO_STACK | TEPHRA_ACTIVITY_OPEN)};
}

SampleReading::Labels labels_of(const LabelKey& key, std::string_view arch) {
  SampleReading::Labels labels;
  const auto text = [&](std::string_view label, std::string_view value) {
    labels.push_back({std::string(label), std::string(value), 0, ""});
  };
  // Sums without a stack are of all calls together.
  if (!(key.second & TEPHRA_ACTIVITY_NO_STACK)) text(kCallLabel, syscall_name(key.first, arch));
  if (key.second & TEPHRA_ACTIVITY_NO_STACK) text(kStackLabel, kStackNotKept);
  if (key.second & TEPHRA_ACTIVITY_OPEN) text(kOpenLabel, "end");
  return labels;
}

class SyscallReading : public SampleReading {
 public:
  struct Events {
    uint32_t recorded = 0;
    uint32_t counts = 0;
    uint32_t times = 0;
  };
  SyscallReading(const Events& events, std::string arch) : events_(events), arch_(std::move(arch)), label_sets_(1) {}

  // Makes the labels of a sample known. Returns whether it could be read.
  bool note(const Sample& sample) {
    const auto record = call_record(sample.raw);
    if (!record) return false;
    const auto [at, is_new] = numbers_.try_emplace(key_of(*record), static_cast<uint32_t>(label_sets_.size()));
    if (is_new) label_sets_.push_back(labels_of(at->first, arch_));
    return true;
  }

  bool reads(uint32_t event) const override { return event == events_.recorded; }

  // A sum may be of calls that were counted before, and have ended since: then it is of time alone.
  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const auto record = call_record(sample.raw);
    const auto known = record ? numbers_.find(key_of(*record)) : numbers_.end();
    if (known == numbers_.end()) return;
    if (record->count > 0) parts.push_back({events_.counts, record->count, record->count, known->second});
    if (record->ns > 0)
      parts.push_back({events_.times, record->ns, std::max<uint64_t>(record->count, 1), known->second});
  }

  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  Events events_;
  std::string arch_;
  std::map<LabelKey, uint32_t> numbers_;
  std::vector<Labels> label_sets_;
};

}  // namespace

base::Status add_syscall_reading(Recording& recording, const ReadingOptions& options) {
  const auto recorded = activity_event(recording, kRecorded);
  if (!recorded) return {};
  SyscallReading::Events events{.recorded = *recorded};
  events.counts = add_shown_event(recording, events.recorded, kSyscallCounts, "count", "");
  events.times = add_shown_event(recording, events.recorded, kSyscallTimes, "ns", "calls");
  auto reading = std::make_shared<SyscallReading>(events, recording.facts.arch);
  note_samples(recording, options, events.recorded, "calls", *reading);
  recording.readings.push_back(std::move(reading));
  return {};
}

}  // namespace tephra::stream
