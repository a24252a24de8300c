#include "stream/jit_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "stream/jit_log.h"
#include "stream/jit_reader.h"

namespace tephra::stream {
namespace {

JitBatch map_batch(std::string_view text, uint64_t earliest, uint64_t latest) {
  JitBatch batch{.kind = JitBatch::Kind::kPerfMap, .pid = 1, .earliest = earliest, .latest = latest};
  batch.content = base::as_bytes(text);
  return batch;
}

void load_all(JitCode& code, const std::vector<JitBatch>& batches) {
  model::Quality quality;
  for (const JitChange& change : read_jit_batches(batches, true, code, quality)) change.apply(code);
}

std::string name_at(const JitCode& code, int32_t pid, uint64_t moment, uint64_t address) {
  const auto found = code.find(code.view(pid, moment).value, address);
  if (found.doubtful) return "?";
  return found.function == nullptr ? "" : std::string(found.function->name);
}

TEST(JitCode, AnAddressUsedAgainHasTheNameOfItsMoment) {
  JitCode code;
  load_all(code, {map_batch("100 10 a\n", 0, 5), map_batch("108 10 b\n", 20, 30)});
  code.seal();
  EXPECT_EQ(name_at(code, 1, 0, 0x100), "a");
  EXPECT_EQ(name_at(code, 1, 19, 0x10f), "a");
  EXPECT_EQ(name_at(code, 1, 20, 0x10f), "?") << "written between 20 and 30";
  EXPECT_EQ(name_at(code, 1, 20, 0x110), "b") << "nothing else was there";
  EXPECT_EQ(name_at(code, 1, 30, 0x10f), "b");
  EXPECT_EQ(name_at(code, 1, 40, 0x107), "a") << "what was not overwritten stays";
  EXPECT_EQ(name_at(code, 1, 40, 0x118), "");
  EXPECT_EQ(name_at(code, 2, 40, 0x100), "");
}

TEST(JitCode, LaterLinesOfOneBatchWin) {
  JitCode code;
  load_all(code, {map_batch("100 10 a\n100 10 b\n100 10 b\n", 7, 7)});
  code.seal();
  EXPECT_EQ(name_at(code, 1, 7, 0x100), "b");
  EXPECT_EQ(name_at(code, 1, 6, 0x100), "");
}

TEST(JitCode, TheSameAgainIsNoChange) {
  JitCode code;
  load_all(code, {map_batch("100 10 a\n", 0, 5), map_batch("100 10 a\n", 5, 10)});
  code.seal();
  EXPECT_EQ(name_at(code, 1, 7, 0x100), "a");
  EXPECT_EQ(code.view(1, 6).value, code.view(1, 100).value);
}

TEST(JitCode, ChildrenHaveWhatTheirParentHadAndNewProgramsNothing) {
  JitCode code;
  load_all(code, {map_batch("100 10 a\n", 0, 0)});
  code.fork(2, 1, 10);
  load_all(code, {map_batch("100 10 b\n", 20, 20)});
  code.fork(3, 2, 25);
  code.exec(2, 30);
  JitBatch own = map_batch("200 10 c\n", 40, 40);
  own.pid = 3;
  load_all(code, {own});
  code.seal();
  EXPECT_EQ(name_at(code, 2, 9, 0x100), "");
  EXPECT_EQ(name_at(code, 2, 29, 0x100), "a");
  EXPECT_EQ(name_at(code, 2, 30, 0x100), "");
  EXPECT_EQ(name_at(code, 1, 30, 0x100), "b");
  EXPECT_EQ(name_at(code, 3, 30, 0x100), "a");
  EXPECT_EQ(name_at(code, 3, 41, 0x100), "a");
  EXPECT_EQ(name_at(code, 3, 41, 0x200), "c");
}

// A jitdump record of a load or, with `index` alone, a move.
std::string load_record(uint64_t time, uint64_t address, uint64_t index, std::string_view name) {
  std::string out;
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(uint32_t{0});
  put(static_cast<uint32_t>(16 + 8 + 32 + name.size() + 1));
  put(time);
  put(uint64_t{0});
  for (const uint64_t value : {address, address, uint64_t{0x10}, index}) put(value);
  out += name;
  out += '\0';
  return out;
}
std::string move_record(uint64_t time, uint64_t from, uint64_t to, uint64_t index) {
  std::string out;
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(uint32_t{1});
  put(uint32_t{16 + 8 + 40});
  for (const uint64_t value : {time, uint64_t{0}, uint64_t{0}, from, to, uint64_t{0x10}, index}) put(value);
  return out;
}

TEST(JitCode, JitdumpsKnowTheirMomentsAndMoves) {
  JitCode code;
  const std::string records =
      load_record(30, 0x100, 2, "b") + load_record(10, 0x100, 1, "a") + move_record(25, 0x100, 0x300, 1);
  JitBatch batch{.kind = JitBatch::Kind::kJitdump, .pid = 1};
  batch.content = base::as_bytes(records);
  load_all(code, {batch, map_batch("100 10 of_the_map\n400 10 m\n", 0, 50)});
  code.seal();
  EXPECT_EQ(name_at(code, 1, 5, 0x100), "of_the_map");
  EXPECT_EQ(name_at(code, 1, 10, 0x100), "a");
  EXPECT_EQ(name_at(code, 1, 26, 0x300), "a");
  EXPECT_EQ(name_at(code, 1, 24, 0x300), "");
  EXPECT_EQ(name_at(code, 1, 30, 0x100), "b");
  EXPECT_EQ(name_at(code, 1, 30, 0x400), "m");
}

// A record of one line at the start of the code at 0x100.
std::string line_record(std::string_view file) {
  std::string out;
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(uint32_t{2});
  put(static_cast<uint32_t>(16 + 16 + 16 + file.size() + 1));
  for (const uint64_t value : {uint64_t{1}, uint64_t{0x100}, uint64_t{1}, uint64_t{0x140}, uint64_t{5}}) put(value);
  out += file;
  out += '\0';
  return out;
}

std::string line_at_start(const std::string& records) {
  JitCode code;
  JitBatch batch{.kind = JitBatch::Kind::kJitdump, .pid = 1};
  batch.content = base::as_bytes(records);
  load_all(code, {batch});
  code.seal();
  const auto found = code.find(code.view(1, 100).value, 0x104);
  const JitLine* line = found.function == nullptr ? nullptr : code.line_at(*found.function, 4);
  return line == nullptr ? "none" : std::string(line->file) + ":" + std::to_string(line->line);
}

TEST(JitCode, LinesAreBelievedWhereNothingSpeaksAgainstThem) {
  EXPECT_EQ(line_at_start(line_record("a.src") + load_record(10, 0x100, 1, "f")), "a.src:5");
  EXPECT_EQ(line_at_start(line_record("/a b.js") + load_record(10, 0x100, 1, "JS:~f /a.js:5:1")), ":0");
  EXPECT_EQ(line_at_start(line_record("/a.js") + load_record(10, 0x100, 1, "JS:^f /a.js:5:1")), "/a.js:5");
  EXPECT_EQ(line_at_start(line_record("/a.js") + load_record(10, 0x100, 1, "JS:*f /a.js:5:1")), "none");
  EXPECT_EQ(line_at_start(line_record("\xff\x82\x03") + load_record(10, 0x100, 1, "f")), "none");
  EXPECT_EQ(line_at_start(line_record("a.src") + load_record(10, 0x200, 1, "f")), "none");
}

// Unwinding information that has its header behind it, or, with an address, before it.
std::string unwinding_record(const std::string& eh_frame, uint64_t address = 0) {
  std::string header(address == 0 ? "\1\x1b\x03\x3b" : "\1\x0c\xff\xff");
  const uint64_t pointer = address == 0 ? 0 : address;
  header.append(reinterpret_cast<const char*>(&pointer), sizeof pointer);
  std::string out;
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  const uint64_t size = eh_frame.size() + header.size();
  put(uint32_t{4});
  put(static_cast<uint32_t>(16 + 24 + size));
  for (const uint64_t value : {uint64_t{1}, size, uint64_t{header.size()}, uint64_t{0}}) put(value);
  return out + (address == 0 ? eh_frame + header : header + eh_frame);
}

// "eh_frame at its address, of a function at its", or nothing.
std::string unwinding_at(const JitCode& code, uint64_t moment, uint64_t address) {
  const auto found = code.find(code.view(1, moment).value, address);
  const auto* description = found.function == nullptr ? nullptr : code.description_of(*found.function);
  if (description == nullptr) return "";
  const JitUnwinding& unwinding = code.unwinding(description->unwinding);
  return fmt::format("{} at {:x}, of {:x}", base::as_text(unwinding.eh_frame), unwinding.address, description->address);
}

JitCode code_of(const std::string& records, model::Quality& quality, uint64_t most_rows = UINT64_MAX) {
  JitCode code;
  JitBatch batch{.kind = JitBatch::Kind::kJitdump, .pid = 1};
  batch.content = base::as_bytes(records);
  for (const JitChange& change : read_jit_batches(std::span(&batch, 1), true, code, quality, most_rows)) {
    change.apply(code);
  }
  code.seal();
  return code;
}

TEST(JitUnwinding, BelongsToTheNextFunctionAndMovesWithIt) {
  model::Quality quality;
  const std::string records = unwinding_record("frames a") + load_record(10, 0x104, 1, "a") +
                              load_record(10, 0x204, 2, "b") + move_record(20, 0x104, 0x304, 1);
  const JitCode code = code_of(records, quality);
  EXPECT_EQ(unwinding_at(code, 15, 0x104), "frames a at 118, of 104") << "behind the code, at a multiple of 8";
  EXPECT_EQ(unwinding_at(code, 15, 0x204), "");
  EXPECT_EQ(unwinding_at(code, 25, 0x304), "frames a at 118, of 104");
  EXPECT_EQ(quality[model::Reason::malformed_records], 0u);
}

TEST(JitUnwinding, WithAnAddressItIsOfAllThatFollow) {
  model::Quality quality;
  const std::string records = unwinding_record("frames ab", 0x5000) + load_record(10, 0x100, 1, "a") +
                              load_record(10, 0x200, 2, "b") + unwinding_record("frames c") +
                              load_record(10, 0x300, 3, "c") + load_record(10, 0x400, 4, "d");
  const JitCode code = code_of(records, quality);
  EXPECT_EQ(unwinding_at(code, 15, 0x100), "frames ab at 5000, of 100");
  EXPECT_EQ(unwinding_at(code, 15, 0x200), "frames ab at 5000, of 200");
  EXPECT_EQ(unwinding_at(code, 15, 0x300), "frames c at 310, of 300");
  EXPECT_EQ(unwinding_at(code, 15, 0x400), "");
}

// The same name again at the same place is another function if its frames are others.
TEST(JitUnwinding, IsThatOfTheMoment) {
  model::Quality quality;
  const std::string load_first = load_record(10, 0x100, 1, "f");
  const std::string records = unwinding_record("one") + load_first + unwinding_record("two") +
                              load_record(20, 0x100, 2, "f") + unwinding_record("two") + load_record(30, 0x100, 3, "f");
  const JitCode code = code_of(records, quality);
  EXPECT_EQ(unwinding_at(code, 15, 0x104), "one at 110, of 100");
  EXPECT_EQ(unwinding_at(code, 20, 0x104), "two at 110, of 100");
  EXPECT_EQ(code.view(1, 20).value, code.view(1, 40).value) << "the same again is no change";
}

TEST(JitUnwinding, TooMuchIsLeftOutAndCountedAndNamesAreNot) {
  model::Quality quality;
  const std::string records = unwinding_record(std::string((1 << 20) + 1, 'x')) + load_record(10, 0x100, 1, "a") +
                              unwinding_record("b") + load_record(10, 0x200, 2, "b") +
                              unwinding_record(std::string(640, 'x')) + load_record(10, 0x300, 3, "c");
  const JitCode code = code_of(records, quality, 10);
  EXPECT_EQ(unwinding_at(code, 15, 0x100), "");
  EXPECT_EQ(unwinding_at(code, 15, 0x200), "b at 210, of 200");
  EXPECT_EQ(unwinding_at(code, 15, 0x300), "") << "of 20 rows";
  EXPECT_EQ(name_at(code, 1, 15, 0x100), "a");
  EXPECT_EQ(name_at(code, 1, 15, 0x300), "c");
  EXPECT_EQ(quality[model::Reason::malformed_records], 2u);
}

TEST(JitCode, TimesOfAnotherClockLeaveDoubtAboutWhatWasUsedTwice) {
  JitCode code;
  model::Quality quality;
  const std::string records =
      load_record(10, 0x100, 1, "a") + load_record(30, 0x100, 2, "b") + load_record(30, 0x200, 3, "c");
  JitBatch batch{.kind = JitBatch::Kind::kJitdump, .pid = 1};
  batch.content = base::as_bytes(records);
  for (const JitChange& change : read_jit_batches(std::span(&batch, 1), false, code, quality)) change.apply(code);
  code.seal();
  EXPECT_EQ(name_at(code, 1, 1000, 0x100), "?");
  EXPECT_EQ(name_at(code, 1, 1000, 0x200), "c");
}

TEST(JitCode, FindsEveryPieceOfManyAtOneAddress) {
  JitCode code;
  std::vector<std::string> texts;
  std::vector<JitBatch> batches;
  for (uint64_t i = 0; i < 2000; ++i) texts.push_back("100 10 f" + std::to_string(i) + "\n");
  for (uint64_t i = 0; i < texts.size(); ++i) batches.push_back(map_batch(texts[i], i * 10, i * 10));
  load_all(code, batches);
  code.seal();
  for (uint64_t i = 0; i < texts.size(); ++i) EXPECT_EQ(name_at(code, 1, i * 10 + 5, 0x10f), "f" + std::to_string(i));
}

TEST(JitLog, WhatWasLeftOutIsCounted) {
  JitLogWriter writer;
  ASSERT_TRUE(writer.add(map_batch("100 10 a\n", 3, 4)));
  ASSERT_TRUE(writer.add({.kind = JitBatch::Kind::kLeftOut, .pid = 1}));
  ASSERT_TRUE(writer.add({.kind = JitBatch::Kind::kNotWatched, .pid = 2}));
  ASSERT_TRUE(writer.add({.kind = JitBatch::Kind::kNotWatched, .pid = 3}));
  const auto section = writer.section();
  ASSERT_TRUE(section);
  const JitLog log = read_jit_log(base::as_bytes(*section));
  JitCode code;
  model::Quality quality;
  EXPECT_EQ(read_jit_batches(log.batches, true, code, quality).size(), 1u);
  EXPECT_EQ(quality[model::Reason::jit_names_left_out], 1u);
  EXPECT_EQ(quality[model::Reason::jit_processes_left_out], 2u);
}

std::vector<JitChange> changes_of(const std::vector<JitBatch>& batches, model::Quality& quality, uint64_t most_rows) {
  JitCode code;
  return read_jit_batches(batches, true, code, quality, most_rows);
}

TEST(JitReader, CountsWhatItCannotRead) {
  model::Quality quality;
  EXPECT_EQ(changes_of({map_batch("100 10 a\nno line\n\n110 10 b\n", 0, 5)}, quality, UINT64_MAX).size(), 2u);
  EXPECT_EQ(quality[model::Reason::malformed_records], 1u);
}

TEST(JitReader, TheSameMapAgainChangesNothing) {
  model::Quality quality;
  const std::string map = "100 10 a\n110 10 b\n";
  const std::string same = map;
  EXPECT_EQ(changes_of({map_batch(map, 0, 5), map_batch(same, 5, 9)}, quality, UINT64_MAX).size(), 2u);
  EXPECT_EQ(
      changes_of({map_batch(map, 0, 5), map_batch("100 10 c\n", 5, 6), map_batch(same, 6, 9)}, quality, UINT64_MAX)
          .size(),
      5u);
}

TEST(JitReader, StopsBehindMoreRowsThanArePlausible) {
  model::Quality quality;
  const std::string many = "100 10 a\n100 10 b\n100 10 c\n100 10 d\n";
  EXPECT_EQ(changes_of({map_batch(many, 0, 5), map_batch("200 10 e\n", 5, 6)}, quality, 3).size(), 3u);
  EXPECT_EQ(quality[model::Reason::malformed_records], 2u);
}

TEST(JitLog, LeavesOutWhatIsDamaged) {
  JitLogWriter writer;
  const std::string first = "100 10 first_function\n";
  const std::string second = "200 10 second_function\n";
  ASSERT_TRUE(writer.add(map_batch(first, 3, 4)));
  ASSERT_TRUE(writer.add(map_batch(second, 4, 5)));
  const auto section = writer.section();
  ASSERT_TRUE(section);
  for (size_t at = 0; at < section->size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = *section;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      const JitLog log = read_jit_log(base::as_bytes(changed));
      EXPECT_TRUE(log.damaged || log.batches.size() == 2) << at << " " << bit;
      for (size_t i = 0; i < log.batches.size(); ++i) {
        EXPECT_EQ(base::as_text(log.batches[i].content), i == 0 ? first : second) << at << " " << bit;
      }
    }
  }
}

// Lines that repeat themselves pack almost to nothing.
TEST(JitLog, ASmallSectionMayNotHoldManyRows) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "100 10 a\n100 10 b\n";
  JitLogWriter writer;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(writer.add(map_batch(std::string_view(text).substr(i), 3, 4)));
  const JitLog log = read_jit_log(base::as_bytes(*writer.section()));
  EXPECT_LT(log.most_rows, 300'000u);
  EXPECT_LT(log.content.size(), 8u << 20);
}

TEST(JitLog, ReadsWhatWasWritten) {
  JitLogWriter writer;
  ASSERT_TRUE(writer.add(map_batch("100 10 a\n", 3, 4)));
  JitBatch dump{.kind = JitBatch::Kind::kJitdump, .pid = -5, .source = 9, .unproven = true, .swapped = true};
  dump.other_clock = true;
  ASSERT_TRUE(writer.add(dump));
  const auto section = writer.section();
  ASSERT_TRUE(section);
  const JitLog log = read_jit_log(base::as_bytes(*section));
  EXPECT_FALSE(log.damaged);
  ASSERT_EQ(log.batches.size(), 2u);
  EXPECT_EQ(base::as_text(log.batches[0].content), "100 10 a\n");
  EXPECT_EQ(log.batches[0].earliest, 3u);
  EXPECT_EQ(log.batches[0].latest, 4u);
  EXPECT_TRUE(log.batches[1].unproven && log.batches[1].swapped && log.batches[1].other_clock);
  EXPECT_EQ(log.batches[1].source, 9u);
  for (size_t size = 1; size < section->size(); ++size) {
    (void)read_jit_log(base::as_bytes(*section).first(size));
  }
  EXPECT_TRUE(read_jit_log(base::as_bytes("nothing of ours")).damaged);
}

}  // namespace
}  // namespace tephra::stream
