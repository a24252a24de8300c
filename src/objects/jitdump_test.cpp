#include "objects/jitdump.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "base/json_reader.h"

namespace tephra::objects {
namespace {

// Numbers in one of the byte orders.
class Writer {
 public:
  explicit Writer(bool swapped) : swapped_(swapped) {}
  Writer& u32(uint32_t value) { return put(swapped_ ? __builtin_bswap32(value) : value); }
  Writer& u64(uint64_t value) { return put(swapped_ ? __builtin_bswap64(value) : value); }
  Writer& text(std::string_view text) {
    bytes.append(text);
    return *this;
  }
  Writer& record(uint32_t id, uint64_t time, const Writer& body) {
    return u32(id).u32(static_cast<uint32_t>(16 + body.bytes.size())).u64(time).text(body.bytes);
  }
  std::string bytes;

 private:
  template <class T>
  Writer& put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  bool swapped_;
};

std::string made_up(bool swapped) {
  Writer file(swapped);
  file.u32(0x4A695444).u32(1).u32(40).u32(62).u32(0).u32(7).u64(99).u64(0);
  Writer lines(swapped);
  lines.u64(0x1000).u64(2).u64(0x1040).u32(5).u32(0).text({"a.js\0", 5});
  lines.u64(0x1044).u32(6).u32(0).text({"\xff\0", 2});
  file.record(2, 100, lines);
  Writer unwinding(swapped);
  unwinding.u64(8).u64(4).u64(0).text("12345678");
  file.record(4, 100, unwinding);
  Writer load(swapped);
  load.u32(7).u32(8).u64(0x1000).u64(0x1000).u64(4).u64(1).text({"foo bar\0", 8}).text("CODE");
  file.record(0, 101, load);
  Writer move(swapped);
  move.u32(7).u32(8).u64(0).u64(0x1000).u64(0x2000).u64(4).u64(1);
  file.record(1, 102, move);
  file.record(9, 103, Writer(swapped));
  file.record(3, 104, Writer(swapped));
  return file.bytes;
}

std::vector<JitdumpRecord> records_of(std::string_view file, bool swapped) {
  JitdumpReader reader(base::as_bytes(file.substr(40)), swapped);
  std::vector<JitdumpRecord> records;
  for (JitdumpRecord record; reader.next(record);) records.push_back(record);
  return records;
}

TEST(Jitdump, ReadsEveryRecordInBothByteOrders) {
  for (const bool swapped : {false, true}) {
    const std::string file = made_up(swapped);
    const auto header = jitdump_header(base::as_bytes(file));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->swapped, swapped);
    EXPECT_EQ(header->pid, 7);
    const auto records = records_of(file, swapped);
    ASSERT_EQ(records.size(), 6u);
    JitdumpLines lines(records[0].lines, records[0].count, swapped);
    JitdumpLine line;
    ASSERT_TRUE(lines.next(line) && lines.next(line));
    EXPECT_EQ(line.address, 0x1044u);
    EXPECT_EQ(line.line, 6u);
    EXPECT_EQ(line.file, "a.js");
    EXPECT_FALSE(lines.next(line));
    EXPECT_EQ(base::as_text(records[1].unwinding), "12345678");
    EXPECT_EQ(records[2].name, "foo bar");
    EXPECT_EQ(base::as_text(records[2].code), "CODE");
    EXPECT_EQ(records[2].time, 101u);
    EXPECT_EQ(records[3].old_address, 0x1000u);
    EXPECT_EQ(records[3].address, 0x2000u);
    EXPECT_EQ(records[5].kind, JitdumpRecord::Kind::kClose);
  }
}

TEST(Jitdump, ACutFileEndsWithItsLastWholeRecord) {
  const std::string file = made_up(false);
  const size_t whole = records_of(file, false).size();
  size_t before = 0;
  for (size_t size = 40; size <= file.size(); ++size) {
    const size_t count = records_of(std::string_view(file).substr(0, size), false).size();
    EXPECT_GE(count, before);
    before = count;
  }
  EXPECT_EQ(before, whole);
  EXPECT_FALSE(jitdump_header(base::as_bytes(file).first(39)));
}

TEST(Jitdump, ARecordOfNoSizeIsTheEnd) {
  JitdumpReader reader(base::as_bytes(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)), false);
  JitdumpRecord record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.damaged());
}

TEST(Jitdump, CodeCanBeLeftOut) {
  const std::string file = made_up(true);
  std::string stored;
  for (const JitdumpRecord& record : records_of(file, true)) append_without_code(record, true, stored);
  EXPECT_EQ(stored.size(), file.size() - 40 - 4);
  const std::string whole = std::string(40, 'x') + stored;
  const auto records = records_of(whole, true);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[2].name, "foo bar");
  EXPECT_EQ(records[2].size, 4u);
  EXPECT_TRUE(records[2].code.empty());
}

JitdumpRecord unwinding_of(std::string_view bytes, uint64_t header_size) {
  JitdumpRecord record;
  record.kind = JitdumpRecord::Kind::kUnwindingInfo;
  record.unwinding = base::as_bytes(bytes);
  record.header_size = header_size;
  return record;
}

TEST(JitdumpFramesTest, TheHeaderIsAtEitherEnd) {
  const auto behind = JitdumpFrames::of(unwinding_of({"\x14 frames\1\x1b\x03\x3b____", 16}, 8));
  ASSERT_TRUE(behind);
  EXPECT_EQ(base::as_text(behind->eh_frame()), "\x14 frames");
  EXPECT_FALSE(behind->is_placed());
  EXPECT_EQ(behind->address(0x1004, 5), 0x1010u) << "behind the code";
  const auto before = JitdumpFrames::of(unwinding_of({"\1\x1b\x03\x3b____\x14 frames", 16}, 8));
  ASSERT_TRUE(before);
  EXPECT_EQ(base::as_text(before->eh_frame()), "\x14 frames");
  EXPECT_EQ(before->address(0x1004, 4), 0x1010u) << "behind the code and the header";
  const auto without = JitdumpFrames::of(unwinding_of("\x14 frames", 0));
  ASSERT_TRUE(without);
  EXPECT_EQ(without->address(0x1000, 8), 0x1008u);
}

TEST(JitdumpFramesTest, TheHeaderMayTellTheAddress) {
  const auto whole = JitdumpFrames::of(unwinding_of({"\1\x0c\xff\xff\x78\x56\x34\x12\x99\0\0\0\x14 frames", 20}, 12));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->is_placed());
  EXPECT_EQ(whole->address(0x1000, 8), 0x9912345678u);
  const auto half = JitdumpFrames::of(unwinding_of({"\1\x0c\xff\xff\x78\x56\x34\x12\x14 frames", 16}, 8));
  ASSERT_TRUE(half);
  EXPECT_TRUE(half->is_placed());
  EXPECT_EQ(half->address(0x7f0010000000, 8), 0x7f0012345678u);
  EXPECT_EQ(half->address(0x7effffff0000, 8), 0x7f0012345678u) << "the nearest";
}

TEST(JitdumpFramesTest, AHeaderAloneDescribesNothing) {
  EXPECT_FALSE(JitdumpFrames::of(unwinding_of({"\1\x1b\x03\x3b____", 8}, 8)));
  EXPECT_FALSE(JitdumpFrames::of(unwinding_of("", 0)));
  EXPECT_FALSE(JitdumpFrames::of(unwinding_of("abcd", 100)));
}

// Counts that other readers gave for files of real runtimes.
TEST(Jitdump, ReadsFilesOfRealRuntimes) {
  const std::string folder = base::fixtures("jitdump/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures at " << folder;
  struct Expected {
    const char* name;
    size_t loads;
    size_t debug_infos;
    size_t unwindings;
  };
  for (const Expected& expected :
       {Expected{"parca-dev-testdata/dotnet.dump", 1106, 0, 0}, Expected{"parca-dev-testdata/julia.dump", 21, 13, 0},
        Expected{"parca-dev-testdata/nodejs.dump", 1740, 16, 1740},
        Expected{"parca-dev-testdata/jitlink.dump", 3, 3, 1},
        Expected{"DataDog-ddprof/jit-simple-julia.dump", 13, 8, 0}}) {
    const auto content = base::FileContent::open(folder + expected.name);
    ASSERT_TRUE(content) << expected.name;
    ASSERT_TRUE(jitdump_header(content->bytes())) << expected.name;
    const auto records = records_of(base::as_text(content->bytes()), false);
    const auto count = [&](JitdumpRecord::Kind kind) {
      return static_cast<size_t>(std::count_if(records.begin(), records.end(),
                                               [&](const JitdumpRecord& record) { return record.kind == kind; }));
    };
    EXPECT_EQ(count(JitdumpRecord::Kind::kLoad), expected.loads) << expected.name;
    EXPECT_EQ(count(JitdumpRecord::Kind::kDebugInfo), expected.debug_infos) << expected.name;
    EXPECT_EQ(count(JitdumpRecord::Kind::kUnwindingInfo), expected.unwindings) << expected.name;
  }
}

// Its bytes were replaced before it was stored: the first record has size 0.
TEST(Jitdump, ADamagedFileGivesNoRecords) {
  const std::string path = base::fixtures("jitdump/DataDog-ddprof/jit-julia-partial.dump");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no fixtures at " << path;
  const auto content = base::FileContent::open(path);
  ASSERT_TRUE(content);
  const auto header = jitdump_header(content->bytes());
  if (!header) return;
  JitdumpReader reader(content->bytes().subspan(header->size), header->swapped);
  JitdumpRecord record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.damaged());
}

// Every record as parca-agent's reader printed it, in the order of each kind.
TEST(Jitdump, RecordsAreThoseOfAnotherReader) {
  const std::string folder = base::fixtures("jitdump/parca-dev-testdata/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures at " << folder;
  for (const char* name : {"dotnet", "julia", "nodejs", "jitlink"}) {
    SCOPED_TRACE(name);
    const auto content = base::FileContent::open(folder + name + ".dump");
    ASSERT_TRUE(content);
    const auto text = base::FileContent::open(folder + name + ".json");
    ASSERT_TRUE(text);
    const auto json = base::parse_json(base::as_text(text->bytes()));
    ASSERT_TRUE(json) << json.error().message();
    std::vector<std::string> loads, lines;
    for (const JitdumpRecord& record : records_of(base::as_text(content->bytes()), false)) {
      if (record.kind == JitdumpRecord::Kind::kLoad) {
        loads.push_back(fmt::format("{}/{} {}+{} #{} {} at {}", record.pid, record.tid, record.address, record.size,
                                    record.index, record.name, record.time));
      } else if (record.kind == JitdumpRecord::Kind::kDebugInfo) {
        lines.push_back(fmt::format("{} {} at {}", record.address, record.count, record.time));
      }
    }
    const auto number = [](const base::JsonValue& value) { return static_cast<uint64_t>(value.number()); };
    std::vector<std::string> their_loads, their_lines;
    for (const base::JsonValue& load : (*json)["CodeLoads"].elements()) {
      their_loads.push_back(fmt::format("{}/{} {}+{} #{} {} at {}", number(load["PID"]), number(load["TID"]),
                                        number(load["CodeAddr"]), number(load["CodeSize"]), number(load["CodeIndex"]),
                                        load["Name"].text(), number(load["Prefix"]["Timestamp"])));
    }
    for (const base::JsonValue& info : (*json)["DebugInfo"].elements()) {
      their_lines.push_back(fmt::format("{} {} at {}", number(info["CodeAddr"]), number(info["NREntry"]),
                                        number(info["Prefix"]["Timestamp"])));
    }
    EXPECT_FALSE(their_loads.empty());
    EXPECT_EQ(loads, their_loads);
    EXPECT_EQ(lines, their_lines);
  }
}

}  // namespace
}  // namespace tephra::objects
