#include "ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tephra::fake {
namespace {

std::string record(size_t bytes, char fill) {
  perf_event_header header{};
  header.type = PERF_RECORD_SAMPLE;
  header.size = static_cast<uint16_t>(bytes);
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  return text.append(bytes - sizeof header, fill);
}

std::string lost_record(uint64_t lost) { return record(16, static_cast<char>(lost)); }

struct Reader {
  explicit Reader(Ring& r, bool writable = true) : ring(r), memory(static_cast<char*>(r.map(writable))) {}
  ~Reader() { ring.unmap(memory); }
  perf_event_mmap_page& control() const { return *reinterpret_cast<perf_event_mmap_page*>(memory); }
  std::string bytes(uint64_t from, uint64_t to) const {
    std::string text;
    for (uint64_t at = from; at != to; ++at) {
      text += memory[control().data_offset + (at & (control().data_size - 1))];
    }
    return text;
  }
  Ring& ring;
  char* memory;
};

TEST(FakeRing, KeepsAByteFreeAndReportsLossesWithTheNextRecordThatFits) {
  const auto ring = Ring::create({4096});
  Reader reader(*ring);
  EXPECT_EQ(reader.control().data_size, 4096u);
  EXPECT_EQ(reader.control().data_offset, static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ring->write(record(1024, 'a'), lost_record));
  EXPECT_FALSE(ring->write(record(1024, 'b'), lost_record)) << "a full ring would look empty";
  EXPECT_FALSE(ring->write(record(1024, 'b'), lost_record));
  EXPECT_EQ(reader.control().data_head, 3072u);
  reader.control().data_tail = 1024;
  EXPECT_TRUE(ring->write(record(1024, 'c'), lost_record));
  EXPECT_EQ(reader.bytes(3072, reader.control().data_head), lost_record(2) + record(1024, 'c'));
  reader.control().data_tail = reader.control().data_head;
  EXPECT_TRUE(ring->write(record(1024, 'd'), lost_record)) << "told once";
  EXPECT_EQ(reader.control().data_head - reader.control().data_tail, 1024u);
}

TEST(FakeRing, RecordsWrapAround) {
  const auto ring = Ring::create({4096});
  Reader reader(*ring);
  for (int i = 0; i < 50; ++i) {
    const uint64_t from = reader.control().data_head;
    const std::string text = record(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(ring->write(text, lost_record));
    EXPECT_EQ(reader.bytes(from, reader.control().data_head), text);
    reader.control().data_tail = reader.control().data_head;
  }
}

TEST(FakeRing, ABackwardRingKeepsTheNewestFirst) {
  const auto ring = Ring::create({4096, true, true});
  Reader reader(*ring, false);
  for (int i = 0; i < 26; ++i) ASSERT_TRUE(ring->write(record(512, static_cast<char>('a' + i)), lost_record));
  const uint64_t head = reader.control().data_head;
  EXPECT_EQ(head, uint64_t{0} - 26 * 512);
  for (int i = 0; i < 8; ++i) {
    const std::string expected = record(512, static_cast<char>('z' - i));
    EXPECT_EQ(reader.bytes(head + 512 * i, head + 512 * (i + 1)), expected);
  }
}

TEST(FakeRing, APausedRingKeepsNothing) {
  const auto ring = Ring::create({4096, true, true});
  Reader reader(*ring, false);
  ring->pause(true);
  EXPECT_FALSE(ring->write(record(64, 'a'), lost_record));
  EXPECT_EQ(reader.control().data_head, 0u);
  ring->pause(false);
  EXPECT_TRUE(ring->write(record(64, 'b'), lost_record));
  EXPECT_EQ(uint64_t{0} - reader.control().data_head, 64u + lost_record(1).size());
}

TEST(FakeRing, WakesByBytesOrByRecords) {
  const auto by_bytes = Ring::create({4096});
  for (int i = 0; i < 4; ++i) by_bytes->write(record(512, 'a'), lost_record);
  EXPECT_FALSE(by_bytes->take_wakeup());
  by_bytes->write(record(512, 'a'), lost_record);
  EXPECT_TRUE(by_bytes->take_wakeup()) << "more than half is full";
  EXPECT_FALSE(by_bytes->take_wakeup());
  const auto by_records = Ring::create({4096, false, false, 0, 2});
  by_records->write(record(16, 'a'), lost_record);
  EXPECT_FALSE(by_records->take_wakeup());
  by_records->write(record(16, 'a'), lost_record);
  EXPECT_TRUE(by_records->take_wakeup());
}

}  // namespace
}  // namespace tephra::fake
