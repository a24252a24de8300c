#include "model/reading_notes.h"

#include <gtest/gtest.h>

namespace tephra::model {
namespace {

TEST(ReadingNotesTest, StandAmongOtherComments) {
  RecordingFacts facts;
  facts.comments = {"verdict: good.", "samples as read of nothing"};
  add_reading_note("", "2 samples left out", facts);
  add_reading_note("sched:sched_switch", "3 waits: open", facts);
  const auto notes = reading_notes(facts);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].event, "");
  EXPECT_EQ(notes[0].text, "2 samples left out");
  EXPECT_EQ(notes[1].event, "sched:sched_switch");
  EXPECT_EQ(notes[1].text, "3 waits: open");
}

}  // namespace
}  // namespace tephra::model
