#include "model/reading_notes.h"

#include <algorithm>

namespace tephra::model {
namespace {

constexpr std::string_view kOfAll = "samples as read: ";
constexpr std::string_view kOfEvent = "samples as read of ";
constexpr std::string_view kEnd = ": ";

}  // namespace

void add_reading_note(std::string_view event, std::string_view text, RecordingFacts& facts) {
  std::string comment(event.empty() ? kOfAll : kOfEvent);
  if (!event.empty()) comment.append(event).append(kEnd);
  facts.comments.push_back(comment.append(text));
}

std::vector<ReadingNote> reading_notes(const RecordingFacts& facts) {
  std::vector<ReadingNote> notes;
  for (const std::string_view comment : facts.comments) {
    if (comment.starts_with(kOfAll)) {
      notes.push_back({"", std::string(comment.substr(kOfAll.size()))});
    } else if (comment.starts_with(kOfEvent)) {
      // Names of events may hold colons, and nothing else that is followed by a space.
      const std::string_view rest = comment.substr(kOfEvent.size());
      const size_t end = rest.find(kEnd);
      if (end == std::string_view::npos) continue;
      notes.push_back({std::string(rest.substr(0, end)), std::string(rest.substr(end + kEnd.size()))});
    }
  }
  return notes;
}

}  // namespace tephra::model
