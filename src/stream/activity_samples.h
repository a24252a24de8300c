#pragma once

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "abi/activity_record.h"
#include "base/bytes.h"
#include "base/units.h"
#include "model/reading_notes.h"
#include "stream/decoder.h"
#include "stream/record_pass.h"
#include "stream/recording.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// What a sample of activity carries, of kinds from `first` to `last`; nothing where it is not that. Fields that an
// older recorder did not write are 0, behind the `least_size` that says anything.
inline std::optional<tephra_activity_record> activity_record(base::Bytes raw, uint32_t first, uint32_t last,
                                                             size_t least_size = offsetof(tephra_activity_record,
                                                                                          longest_ns)) {
  tephra_activity_record record{};
  if (raw.size() < least_size) return {};
  const auto size = base::load<uint32_t>(raw.data());
  if (size < least_size || size > raw.size()) return {};
  std::memcpy(&record, raw.data(), std::min<size_t>(size, sizeof record));
  if (record.kind < first || record.kind > last) return {};
  return record;
}

// The event that our recorder writes such samples of; nothing where there is none.
inline std::optional<uint32_t> activity_event(const Recording& recording, std::string_view name) {
  const auto found = std::ranges::find(recording.events, name, &RecordedEvent::name);
  if (found == recording.events.end() || !recording.recorder) return {};
  if (!(found->layout.sample_type & PERF_SAMPLE_RAW)) return {};
  return static_cast<uint32_t>(found - recording.events.begin());
}

// Lets a reading note (`bool note(const Sample&)`) all samples of the event, and tells how many it could not read:
// "3 samples without what the recorder tells of `what`".
template <class Reading>
void note_samples(Recording& recording, const ReadingOptions& options, uint32_t event, std::string_view what,
                  Reading& reading) {
  const Decoder decoder(recording);
  Sample sample;
  uint64_t unread = 0;
  for_each_record(recording, options.done_with, [&](const Record& record, uint64_t) {
    if (record.type != PERF_RECORD_SAMPLE || !decoder.decode_sample(record, sample)) return;
    if (sample.origin.event == event) unread += !reading.note(sample);
  });
  if (unread == 0) return;
  model::add_reading_note(
      recording.events[event].name,
      fmt::format("{} without what the recorder tells of {}", base::counted(unread, "sample"), what), recording.facts);
}

}  // namespace tephra::stream
