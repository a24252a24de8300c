#include "stream/sample_reading.h"

#include "stream/fault_reading.h"
#include "stream/recording.h"

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

// Each entry looks whether a recording has what it reads, adds the events that it shows to `recording.events`, and
// itself to `recording.readings`.
void add_readings(Recording& recording, const ReadingOptions& options) {
  using Add = void (*)(Recording&, const ReadingOptions&);
  static constexpr Add kAll[] = {add_fault_reading};
  for (const Add add : kAll) add(recording, options);
}

}  // namespace tephra::stream
