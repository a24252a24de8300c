#include "stream/fault_reading.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>

#include "abi/fault_record.h"
#include "base/bytes.h"
#include "stream/data_mappings.h"
#include "stream/recording.h"
#include "stream/sample_reading.h"

namespace tephra::stream {
namespace {

constexpr std::array<std::string_view, kFaultClasses> kNames{
    "heap", "anonymous", "stack", "file", "shared", "copy-on-write", "swap-in", "zero-page", "permission", "unknown"};

bool tells_pages(const EventLayout& layout) {
  constexpr uint64_t kNeeded = PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE;
  const bool faults = layout.type == PERF_TYPE_SOFTWARE && (layout.config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
                                                            layout.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
  return faults && (layout.sample_type & kNeeded) == kNeeded && !layout.frequency;
}

// By what was mapped, where it is not told whether a page was read or written: what may have been a copy is not known.
FaultClass classify_mapped(DataMappings::Found found, bool major) {
  switch (found.mapping) {
    case DataMapping::kFile:
      return FaultClass::kFile;
    case DataMapping::kSharedMemory:
      return major ? FaultClass::kSwapIn : FaultClass::kShared;
    case DataMapping::kPrivateFile:
    case DataMapping::kNotTold:
      return FaultClass::kUnknown;
    default:
      break;
  }
  if (major) return FaultClass::kSwapIn;
  if (found.forked) return FaultClass::kUnknown;
  if (found.mapping == DataMapping::kHeap) return FaultClass::kHeap;
  return found.mapping == DataMapping::kStack ? FaultClass::kStack : FaultClass::kAnonymous;
}

class FaultReading : public SampleReading {
 public:
  // `shown`: the place of kResidentMemory in the recording's events.
  FaultReading(const Recording& recording, uint32_t shown) : shown_(shown), mappings_(recording) {
    for (const RecordedEvent& event : recording.events) {
      const bool read = tells_pages(event.layout) && kinds_.size() < shown;
      const bool major = event.layout.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ;
      kinds_.push_back(!read ? Kind::kOther : major ? Kind::kMajor : Kind::kMinor);
    }
    label_sets_.resize(1);
    for (size_t number = 0; number < 4 * kFaultClasses; ++number) label_sets_.push_back(labels_of(number));
  }

  bool reads(uint32_t event) const override { return event < kinds_.size() && kinds_[event] != Kind::kOther; }

  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const bool major = kinds_[sample.origin.event] == Kind::kMajor;
    const bool known = sample.data_page_size != 0;
    const uint32_t facts = sample.raw.size() >= sizeof(uint32_t) ? base::load<uint32_t>(sample.raw.data()) : 0;
    FaultClass fault_class = classify_fault(facts, major);
    if (fault_class == FaultClass::kUnknown) {
      fault_class = classify_mapped(mappings_.at(sample.origin.pid, sample.origin.time, sample.address), major);
    }
    const uint64_t bytes = adds_memory(fault_class) ? sample.data_page_size * sample.period : 0;
    const size_t set = static_cast<size_t>(fault_class) * 4 + (major ? 2 : 0) + (known ? 0 : 1);
    parts.push_back({shown_, bytes, sample.count, static_cast<uint32_t>(1 + set)});
  }

  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  enum class Kind : uint8_t { kOther, kMinor, kMajor };

  static Labels labels_of(size_t number) {
    Labels labels{{.key = "class", .text = std::string(kNames[number / 4])},
                  {.key = "fault", .text = number % 4 >= 2 ? "major" : "minor"}};
    if (number % 2 == 1) labels.push_back({.key = "page", .text = "size unknown"});
    return labels;
  }

  uint32_t shown_;
  DataMappings mappings_;
  std::vector<Kind> kinds_;  // by event
  std::vector<Labels> label_sets_;
};

FaultClass classify_file(uint32_t facts, bool major) {
  const bool copies = !(facts & TEPHRA_FAULT_SHARED) && facts & TEPHRA_FAULT_WRITE;
  if (copies) return FaultClass::kCopyOnWrite;
  if (!(facts & TEPHRA_FAULT_MEMORY_FILE)) return FaultClass::kFile;
  return major ? FaultClass::kSwapIn : FaultClass::kShared;
}

}  // namespace

std::string_view name_of(FaultClass fault_class) { return kNames[static_cast<size_t>(fault_class)]; }

FaultClass classify_fault(uint32_t facts, bool major) {
  if (!(facts & TEPHRA_FAULT_MAPPING_KNOWN)) return FaultClass::kUnknown;
  if (facts & TEPHRA_FAULT_PRESENT) {
    const bool copies = facts & TEPHRA_FAULT_WRITE && !(facts & TEPHRA_FAULT_SHARED);
    return copies ? FaultClass::kCopyOnWrite : FaultClass::kPermission;
  }
  if (facts & TEPHRA_FAULT_FILE) return classify_file(facts, major);
  if (major) return FaultClass::kSwapIn;
  const bool only_read = facts & TEPHRA_FAULT_CAUSE_KNOWN && !(facts & TEPHRA_FAULT_WRITE);
  if (only_read && !(facts & TEPHRA_FAULT_HUGETLB)) return FaultClass::kZeroPage;
  if (facts & TEPHRA_FAULT_HEAP) return FaultClass::kHeap;
  return facts & TEPHRA_FAULT_STACK ? FaultClass::kStack : FaultClass::kAnonymous;
}

bool adds_memory(FaultClass fault_class) {
  return fault_class != FaultClass::kZeroPage && fault_class != FaultClass::kPermission;
}

base::Status add_fault_reading(Recording& recording, const ReadingOptions&) {
  const auto& events = recording.events;
  const auto found =
      std::find_if(events.begin(), events.end(), [](const auto& event) { return tells_pages(event.layout); });
  if (found == events.end()) return {};
  const uint32_t place =
      add_shown_event(recording, static_cast<uint32_t>(found - events.begin()), kResidentMemory, "bytes", "");
  recording.readings.push_back(std::make_shared<FaultReading>(recording, place));
  return {};
}

}  // namespace tephra::stream
