#include "collect/perf_data_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/bytes.h"
#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

namespace fs = std::filesystem;

struct Header {
  uint64_t data_offset, data_size, features;
};

class PerfDataWriterTest : public testing::Test {
 protected:
  PerfDataWriterTest() {
    folder_ = fs::temp_directory_path() / ("perf_data_writer_test-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    event_.attr = sampling_attr(kernel::software_event("cpu-clock"), {}, {});
    event_.name = "cpu-clock";
    event_.ids = {41, 42};
  }
  ~PerfDataWriterTest() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "perf.data"; }
  std::string content(const std::string& name = {}) const {
    auto text = base::read_small_file(name.empty() ? path() : name);
    return text ? *text : "";
  }
  static Header header(const std::string& bytes) {
    base::ByteReader reader(base::as_bytes(bytes));
    reader.skip(40);
    const uint64_t offset = reader.u64();
    const uint64_t size = reader.u64();
    reader.skip(16);
    return {offset, size, reader.u64()};
  }
  static std::string record(uint32_t type, size_t size) {
    perf_event_header head{type, 0, static_cast<uint16_t>(size)};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.resize(size, 'x');
    return bytes;
  }
  PerfDataWriter make() {
    const Feature features[] = {{3, "host"}, {5, "version!"}};
    auto writer = PerfDataWriter::create(path(), std::span(&event_, 1), features);
    EXPECT_TRUE(writer.ok());
    return std::move(*writer);
  }

  fs::path folder_;
  FileEvent event_;
};

TEST_F(PerfDataWriterTest, HasNoNameBeforeItIsPublished) {
  {
    auto writer = make();
    EXPECT_FALSE(fs::exists(path()));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(PerfDataWriterTest, TheTableIsARecordOnceMoreFollows) {
  auto writer = make();
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  ASSERT_TRUE(writer.publish());
  const Header first = header(content());
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 64))));
  EXPECT_EQ(header(content()).data_size, first.data_size);
  ASSERT_TRUE(writer.end_round());
  const std::string bytes = content();
  const Header second = header(bytes);
  EXPECT_EQ(second.features, uint64_t{1 | 1 << 3 | 1 << 5});

  std::vector<uint32_t> types;
  base::ByteReader reader(base::as_bytes(bytes));
  reader.skip(second.data_offset);
  while (reader.position() < second.data_offset + second.data_size) {
    const auto head = reader.read<perf_event_header>();
    ASSERT_GE(head.size, sizeof head);
    types.push_back(head.type);
    reader.skip(head.size - sizeof head);
  }
  // The table before the first round, the round and its table, the second round; its table lies behind the data.
  EXPECT_EQ(types, (std::vector<uint32_t>{65, 9, 68, 65, 9, 68}));
  reader.skip(16);
  const uint64_t offset = reader.u64();
  const uint64_t size = reader.u64();
  EXPECT_EQ(bytes.substr(offset, size), "host");
}

TEST_F(PerfDataWriterTest, DescribesEvents) {
  auto writer = make();
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  ASSERT_TRUE(writer.publish());
  const std::string bytes = content();
  base::ByteReader reader(base::as_bytes(bytes));
  EXPECT_EQ(base::as_text(reader.bytes(8)), "PERFILE2");
  EXPECT_EQ(reader.u64(), 104u);
  EXPECT_EQ(reader.u64(), 128u);
  const uint64_t offset = reader.u64();
  EXPECT_EQ(reader.u64(), 128u);
  base::ByteReader attr(base::as_bytes(bytes).subspan(offset));
  EXPECT_EQ(attr.u32(), uint32_t{PERF_TYPE_SOFTWARE});
  EXPECT_EQ(attr.u32(), 112u);
  attr.skip(104);
  base::ByteReader ids(base::as_bytes(bytes).subspan(attr.u64()));
  EXPECT_EQ(attr.u64(), 16u);
  EXPECT_EQ(ids.u64(), 41u);
  EXPECT_EQ(ids.u64(), 42u);
}

// Ids that the file lists for its only event.
std::vector<uint64_t> listed_ids(const std::string& bytes) {
  base::ByteReader reader(base::as_bytes(bytes));
  reader.skip(24);
  base::ByteReader attr(base::as_bytes(bytes).subspan(reader.u64() + 112));
  const uint64_t offset = attr.u64();
  base::ByteReader ids(base::as_bytes(bytes).subspan(offset, attr.u64()));
  std::vector<uint64_t> found;
  while (ids.remaining() >= 8) found.push_back(ids.u64());
  return found;
}

TEST_F(PerfDataWriterTest, EventsThatComeLaterAreKnownAtTheEndOfTheRound) {
  auto writer = make();
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  ASSERT_TRUE(writer.publish());
  event_.ids.push_back(43);
  ASSERT_TRUE(writer.describe_events(std::span(&event_, 1)));
  EXPECT_EQ(listed_ids(content()), (std::vector<uint64_t>{41, 42})) << "the round has not ended";
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  EXPECT_EQ(listed_ids(content()), (std::vector<uint64_t>{41, 42, 43}));
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  EXPECT_EQ(listed_ids(content()), (std::vector<uint64_t>{41, 42, 43})) << "and stay known";
  // They stand in a record, so that readers find those behind it.
  const Header header = PerfDataWriterTest::header(content());
  const std::string bytes = content();
  std::vector<uint32_t> types;
  for (uint64_t at = header.data_offset; at < header.data_offset + header.data_size;) {
    const auto head = base::load<perf_event_header>(base::as_bytes(bytes).data() + at);
    ASSERT_GE(head.size, sizeof head);
    types.push_back(head.type);
    at += head.size;
  }
  EXPECT_EQ(std::count(types.begin(), types.end(), 9u), 3);
}

TEST_F(PerfDataWriterTest, MoreEventsThanARecordHoldsAreLeftToTheEnd) {
  auto writer = make();
  event_.ids.assign(10'000, 44);
  ASSERT_TRUE(writer.describe_events(std::span(&event_, 1)));
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  ASSERT_TRUE(writer.publish());
  EXPECT_EQ(listed_ids(content()), (std::vector<uint64_t>{41, 42}));
  writer.replace_events({event_});
  ASSERT_TRUE(writer.finish({}));
  EXPECT_EQ(listed_ids(content()).size(), 10'000u);
}

TEST_F(PerfDataWriterTest, FinishAddsAndReplacesSections) {
  auto writer = make();
  ASSERT_TRUE(writer.append(base::as_bytes(record(9, 48))));
  ASSERT_TRUE(writer.end_round());
  ASSERT_TRUE(writer.publish());
  const Feature features[] = {{3, "other host"}, {21, "times"}};
  ASSERT_TRUE(writer.finish(features));
  const std::string bytes = content();
  const Header head = header(bytes);
  EXPECT_EQ(head.features, uint64_t{1 | 1 << 3 | 1 << 5 | 1 << 21});
  base::ByteReader table(base::as_bytes(bytes).subspan(head.data_offset + head.data_size + 16));
  for (const std::string expected : {"other host", "version!", "times"}) {
    const uint64_t offset = table.u64();
    const uint64_t size = table.u64();
    EXPECT_EQ(bytes.substr(offset, size), expected);
  }
}

TEST_F(PerfDataWriterTest, KeepsTheEarlierFileAsOld) {
  ASSERT_TRUE(base::write_file(path(), "earlier"));
  auto writer = make();
  ASSERT_TRUE(writer.publish());
  EXPECT_EQ(content(path() + ".old"), "earlier");
  EXPECT_TRUE(content().starts_with("PERFILE2"));
}

TEST_F(PerfDataWriterTest, DiscardingGivesTheEarlierFileItsNameBack) {
  ASSERT_TRUE(base::write_file(path(), "earlier"));
  auto writer = make();
  ASSERT_TRUE(writer.publish());
  writer.discard();
  EXPECT_EQ(content(), "earlier");
  EXPECT_FALSE(fs::exists(path() + ".old"));
}

TEST_F(PerfDataWriterTest, DiscardingLeavesAnOlderOldFileAlone) {
  ASSERT_TRUE(base::write_file(path() + ".old", "older"));
  auto writer = make();
  ASSERT_TRUE(writer.publish());
  writer.discard();
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_EQ(content(path() + ".old"), "older");
}

TEST_F(PerfDataWriterTest, RenamesOnlyToAFreeName) {
  ASSERT_TRUE(base::write_file(path() + ".1", "other"));
  auto writer = make();
  ASSERT_TRUE(writer.publish());
  const auto taken = writer.rename_to(path() + ".1");
  ASSERT_TRUE(taken.ok());
  EXPECT_FALSE(*taken);
  const auto renamed = writer.rename_to(path() + ".2");
  ASSERT_TRUE(renamed.ok());
  EXPECT_TRUE(*renamed);
  EXPECT_EQ(content(path() + ".1"), "other");
  EXPECT_TRUE(content(path() + ".2").starts_with("PERFILE2"));
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(PerfDataWriterTest, RefusesFoldersAndPipes) {
  EXPECT_FALSE(PerfDataWriter::create(folder_, {}, {}).ok());
  EXPECT_FALSE(PerfDataWriter::create(folder_ / "none" / "perf.data", {}, {}).ok());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(PerfDataWriter::create(path(), {}, {}).ok());
}

TEST_F(PerfDataWriterTest, AFullDeviceIsAnError) {
  const auto writer = PerfDataWriter::create("/dev/full", {}, {});
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().message().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace tephra::collect
