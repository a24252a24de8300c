#include "formats/script_lines.h"

#include <gtest/gtest.h>

namespace tephra::formats {
namespace {

void expect_event(std::string_view line, std::string_view comm, std::string_view pid, std::string_view tid,
                  std::string_view period, std::string_view event) {
  const auto parsed = parse_event_line(line);
  ASSERT_TRUE(parsed) << line;
  EXPECT_EQ(parsed->comm, comm) << line;
  EXPECT_EQ(parsed->pid, pid) << line;
  EXPECT_EQ(parsed->tid, tid) << line;
  EXPECT_EQ(parsed->period, period) << line;
  EXPECT_EQ(parsed->event.value_or("(none)"), event) << line;
}

TEST(ScriptLines, EventLinesOfEveryMixOfFields) {
  expect_event("java 25607 4794564.109216: 1 cycles:", "java", "", "25607", "1", "cycles");
  expect_event("java 12688 [002] 6544038.708352: 235 cpu-clock:", "java", "", "12688", "235", "cpu-clock");
  expect_event("V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles:u: ", "V8 WorkerThread", "24636", "25607",
               "100", "cycles:u");
  expect_event("java  3244 cpu-clock: ", "java", "", "3244", "", "(none)");
  expect_event("swapper     0 [000] 1.5: cpu-clock:", "swapper", "", "0", "", "cpu-clock");
  expect_event("comm 7/8 1.5: sched:sched_switch: prev_comm=a", "comm", "7", "8", "", "(none)");
}

// What the expressions of stackcollapse-perf.pl make of odd lines.
TEST(ScriptLines, EventLinesAreTakenApartAsEveryoneDoes) {
  expect_event("a    123 x", "a ", "", "123", "", "(none)");
  expect_event("a 1 2 x", "a 1", "", "2", "", "(none)");
  expect_event("comm 0/0 [000] 0.0: 1 e:", "comm", "", "0", "1", "e");
  expect_event("comm 12/ x", "comm", "", "12", "", "(none)");
  expect_event("comm 12 a:5 e:", "comm", "", "12", "5", "e");
  expect_event("comm 12 a: 5 6 e:", "comm", "", "12", "", "(none)");
  EXPECT_FALSE(parse_event_line("comm 12"));
  EXPECT_FALSE(parse_event_line(" comm 12 x"));
  EXPECT_FALSE(parse_event_line("comm x12 x"));
  EXPECT_FALSE(parse_event_line(""));
}

void expect_frame(std::string_view line, std::string_view address, std::string_view function, std::string_view module) {
  const auto parsed = parse_frame_line(line);
  ASSERT_TRUE(parsed) << line;
  EXPECT_EQ(parsed->address, address) << line;
  EXPECT_EQ(parsed->function, function) << line;
  EXPECT_EQ(parsed->module, module) << line;
}

TEST(ScriptLines, FrameLines) {
  expect_frame("\tffffffff8103ce3b native_safe_halt ([kernel.kallsyms])", "ffffffff8103ce3b", "native_safe_halt",
               "[kernel.kallsyms]");
  expect_frame("   dd777 v8::Call(int, char (*)(int)) (/tmp/perf-1.map)", "dd777", "v8::Call(int, char (*)(int))",
               "/tmp/perf-1.map");
  expect_frame("\t1 f (a) trailing", "1", "f", "a");
  // Without a function, what is before the bracket is taken apart nevertheless.
  expect_frame("\tabc (mod)", "ab", "c", "mod");
  expect_frame("\tabc  (mod)", "abc", " ", "mod");
  EXPECT_FALSE(parse_frame_line("\ta (mod)"));
  EXPECT_FALSE(parse_frame_line("\tabc main"));
  EXPECT_FALSE(parse_frame_line("\t(abc) (mod)"));
  EXPECT_FALSE(parse_frame_line(")"));
}

TEST(ScriptLines, OffsetsAreTakenOff) {
  EXPECT_EQ(without_offset("main+0x1f"), "main");
  EXPECT_EQ(without_offset("main+0x"), "main+0x");
  EXPECT_EQ(without_offset("main+0x1F"), "main+0x1F");
  EXPECT_EQ(without_offset("deadbeef"), "deadbeef");
}

}  // namespace
}  // namespace tephra::formats
