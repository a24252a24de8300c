#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/number_hash.h"
#include "stream/event.h"
#include "stream/recording.h"
#include "stream/records.h"

namespace tephra::stream {

// Turns record bytes into Events; the only place that knows how records are laid out. Immutable after construction, so
// threads may share one. Never reads outside the record.
class Decoder {
 public:
  // Keeps a reference to the recording's events.
  explicit Decoder(const Recording& recording);

  Event decode(const Record& record) const;

  // The two parts of decode that matter for speed, alone. `record` is a SAMPLE. False: malformed, or of no known event.
  bool decode_sample(const Record& record, Sample& sample) const;
  // The time of any record; 0 where it has none.
  uint64_t time_of(const Record& record) const;

  // Whether a SAMPLE is of an event that the recording describes.
  bool knows_event(const Record& record) const { return event_of_sample(record) >= 0; }

  // The event that the recording lists with this id.
  std::optional<uint32_t> event_with_id(uint64_t id) const;

  // Whether samples carry the time; where not, order in the file is all there is.
  bool has_time() const { return has_time_; }
  // Whether samples carry the CPU.
  bool has_cpu() const { return has_cpu_; }
  // Whether other records tell when they were made.
  bool has_trailer() const { return has_trailer_; }

 private:
  // Index of the event a record belongs to, or -1.
  int event_of_sample(const Record& record) const;
  int event_of_id(uint64_t id) const;
  uint32_t event_of_trailer(const Record& record) const;
  // Reads the trailer that sample_id_all adds to other records.
  Origin trailer(const Record& record) const;

  Mmap read_mapping(base::ByteReader& reader, const Record& record) const;
  Event decode_mmap(const Record& record) const;
  Event decode_mmap2(const Record& record) const;
  Event decode_comm(const Record& record) const;
  Event decode_task(const Record& record) const;
  Event decode_lost(const Record& record) const;
  Event decode_code_object(const Record& record) const;
  // The body without its trailer.
  base::Bytes content(const Record& record) const;

  const std::vector<RecordedEvent>& events_;
  std::unordered_map<uint64_t, uint32_t, base::NumberHash> event_by_id_;
  bool interpreted_code_ = false;
  bool converted_ = false;
  bool one_event_ = false;       // all samples are of the first
  size_t sample_id_offset_ = 0;  // where a sample's id is, 0 when samples have none
  bool has_trailer_ = false;
  bool trailer_has_identifier_ = false;
  bool has_build_ids_ = false;
  bool has_time_ = false;
  bool has_cpu_ = false;
};

}  // namespace tephra::stream
