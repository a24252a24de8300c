#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::model {

// What to know about samples that were not read as their records say: "12 waits not over at the end". Kept among the
// comments of a profile, so that it stays with it from file to file; it holds no names but that of an event.
struct ReadingNote {
  std::string event;  // whose samples it is about; empty: all
  std::string text;
};

void add_reading_note(std::string_view event, std::string_view text, RecordingFacts& facts);
std::vector<ReadingNote> reading_notes(const RecordingFacts& facts);

}  // namespace tephra::model
