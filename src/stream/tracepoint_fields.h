#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "stream/tracepoint_field.h"

namespace tephra::stream {

// Where numbers are in the samples of tracepoints, by the descriptions that a recording carries. What it reads of them
// are the lines of fields alone, so that files need not be trusted with more (see TracepointFormats for their text).
class TracepointFields {
 public:
  // Points into the data. What cannot be read describes no event.
  explicit TracepointFields(base::Bytes tracing_data);

  // `id` is the tracepoint's (EventLayout::config). Nothing where it has no such field, or one that is no number.
  std::optional<TracepointField> number(uint64_t id, std::string_view field) const;
  // Where the first letter of a text is that is part of the sample itself ("char rwbs[8]").
  std::optional<TracepointField> first_letter(uint64_t id, std::string_view field) const;
  // The names of all numbers of an event, but those that every event has ("common_pid").
  std::vector<std::string> numbers(uint64_t id) const;

 private:
  template <class Read>
  std::optional<TracepointField> find(uint64_t id, std::string_view name, Read read) const;

  std::unordered_map<uint64_t, std::string_view> descriptions_;
};

}  // namespace tephra::stream
