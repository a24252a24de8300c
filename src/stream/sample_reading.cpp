#include "stream/sample_reading.h"

#include <array>

#include "stream/fault_reading.h"
#include "stream/io_reading.h"
#include "stream/recording.h"
#include "stream/switch_reading.h"
#include "stream/syscall_reading.h"
#include "stream/tcp_reading.h"
#include "stream/wait_reading.h"
#include "stream/weight_reading.h"

namespace tephra::stream {

ReadingIndex::ReadingIndex(const Recording& recording) {
  static const SampleReading::Labels kNone;
  label_sets_.push_back(&kNone);
  if (recording.readings.empty()) return;
  places_.resize(recording.events.size());
  for (const auto& reading : recording.readings) {
    const auto first = static_cast<uint32_t>(label_sets_.size() - 1);
    for (const SampleReading::Labels& labels : reading->label_sets().subspan(1)) label_sets_.push_back(&labels);
    for (uint32_t event = 0; event < places_.size(); ++event) {
      if (places_[event].reading == nullptr && reading->reads(event)) places_[event] = {reading.get(), first};
    }
  }
}

uint32_t add_shown_event(Recording& recording, uint32_t like, std::string_view name, std::string_view unit,
                         std::string_view counted) {
  RecordedEvent event;
  event.name = std::string(name);
  event.layout = recording.events[like].layout;
  event.unit = std::string(unit);
  event.counted = std::string(counted);
  event.added = true;
  recording.events.push_back(std::move(event));
  return static_cast<uint32_t>(recording.events.size() - 1);
}

// Each entry looks whether a recording has what it reads, adds the events that it shows to `recording.events`, and
// itself to `recording.readings`.
base::Status add_readings(Recording& recording, const ReadingOptions& options) {
  // What was written from a profile was read already.
  if (recording.converted) return {};
  using Add = base::Status (*)(Recording&, const ReadingOptions&);
  static constexpr std::array kAll{
      Add{add_weight_reading},  Add{add_wait_reading}, Add{add_switch_reading}, Add{add_fault_reading},
      Add{add_syscall_reading}, Add{add_io_reading},   Add{add_tcp_reading},
  };
  for (const Add add : kAll) TEPHRA_CHECK_OK(add(recording, options));
  return {};
}

}  // namespace tephra::stream
