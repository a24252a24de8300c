#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/number_hash.h"
#include "base/result.h"

namespace tephra::stream {

// Where the fields of tracepoints stand in their raw bytes, by the descriptions that the recording carries. It reads
// their plain lines alone, and not how events are printed, which is a language of its own: so it takes any bytes.
class TracepointPlaces {
 public:
  // Reads perf's tracing data (Recording::tracing_data). Empty data is no error: no event is known then. Data that ends
  // early keeps what came before the end; what makes no sense in a description is left out.
  static base::Result<TracepointPlaces> parse(base::Bytes tracing_data);

  struct Place {
    uint32_t offset = 0;
    uint32_t size = 0;
    bool is_signed = false;
    bool dynamic = false;   // four bytes there tell where the content is, and how long
    bool relative = false;  // dynamic, counted from behind those four bytes

    // The field's number in a sample; none where it is not within, or no number.
    std::optional<int64_t> number(base::Bytes raw) const;
    // Its text up to the NUL; empty where it is not within.
    std::string_view text(base::Bytes raw) const;
  };

  // None where the event (EventLayout::config) or the field is not described.
  std::optional<Place> place(uint64_t id, std::string_view field) const;
  // "sched:sched_switch"; empty where it is not described.
  std::string_view name(uint64_t id) const;

  // The values that an event prints as flags, with their texts: those of the first field that it prints so.
  using Flags = std::vector<std::pair<uint64_t, std::string>>;
  Flags printed_flags(uint64_t id) const;

 private:
  struct Event {
    std::string name;
    std::vector<std::pair<std::string, Place>> fields;
    std::string_view print;  // points into the tracing data
  };
  void add(std::string_view description, std::string_view system);

  std::unordered_map<uint64_t, Event, base::NumberHash> events_;
};

}  // namespace tephra::stream
