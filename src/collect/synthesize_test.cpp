#include "collect/synthesize.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

struct Record {
  perf_event_header header{};
  std::string body;
  SampleIdTrailer trailer;
};

// Runs `add` and takes apart what it wrote.
template <class Add>
std::vector<Record> records_of(bool data_maps, Add&& add) {
  std::string bytes;
  Synthesizer synthesizer({77, data_maps}, [&](base::Bytes block) {
    bytes += base::as_text(block);
    return base::Status();
  });
  add(synthesizer);
  EXPECT_TRUE(synthesizer.flush().ok());
  std::vector<Record> records;
  base::ByteReader reader(base::as_bytes(bytes));
  while (reader.ok() && !reader.at_end()) {
    Record record;
    record.header = reader.read<perf_event_header>();
    const size_t fixed = sizeof record.header + sizeof record.trailer;
    EXPECT_GE(record.header.size, fixed);
    EXPECT_EQ(record.header.size % 8, 0);
    if (record.header.size < fixed) break;
    record.body = base::as_text(reader.bytes(record.header.size - fixed));
    record.trailer = reader.read<SampleIdTrailer>();
    records.push_back(std::move(record));
  }
  EXPECT_TRUE(reader.ok());
  return records;
}

TEST(Synthesize, TellsOfThisProcess) {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  const char hostile[] = "a\nb\x1b[31m'\"";
  ::prctl(PR_SET_NAME, hostile);
  const auto records = records_of(false, [](Synthesizer& s) { EXPECT_TRUE(s.add_process(::getpid()).ok()); });
  ::prctl(PR_SET_NAME, name);
  std::map<uint32_t, int> types;
  for (const Record& record : records) {
    ++types[record.header.type];
    EXPECT_EQ(record.trailer.identifier, 77u);
    EXPECT_EQ(record.trailer.time, 0u);
    EXPECT_EQ(record.trailer.pid, static_cast<uint32_t>(::getpid()));
    if (record.header.type == PERF_RECORD_COMM && record.trailer.tid == static_cast<uint32_t>(::getpid())) {
      EXPECT_STREQ(record.body.c_str() + 8, hostile);
    }
    if (record.header.type == PERF_RECORD_MMAP2) {
      EXPECT_FALSE(record.header.misc & PERF_RECORD_MISC_MMAP_DATA);
    }
  }
  EXPECT_EQ(types[PERF_RECORD_FORK], types[PERF_RECORD_COMM]);
  EXPECT_GE(types[PERF_RECORD_COMM], 1);
  EXPECT_GE(types[PERF_RECORD_MMAP2], 3);
}

TEST(Synthesize, DataMappingsAreMarked) {
  const auto records = records_of(true, [](Synthesizer& s) { EXPECT_TRUE(s.add_process(::getpid()).ok()); });
  int data = 0;
  for (const Record& record : records) data += (record.header.misc & PERF_RECORD_MISC_MMAP_DATA) != 0;
  EXPECT_GE(data, 3);
}

TEST(Synthesize, AProcessThatIsGoneIsNothing) {
  EXPECT_TRUE(records_of(false, [](Synthesizer& s) {
                EXPECT_TRUE(s.add_process(0x7ffffff0).ok());
                EXPECT_TRUE(s.add_thread(0x7ffffff0).ok());
              }).empty());
}

TEST(Synthesize, LossesAndPrograms) {
  const auto records = records_of(false, [](Synthesizer& s) {
    s.add_program(10, 9, std::string(1000, 'n'));
    s.add_lost(5, 1234);
  });
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].header.type, uint32_t{PERF_RECORD_FORK});
  EXPECT_EQ(records[1].header.type, uint32_t{PERF_RECORD_COMM});
  EXPECT_EQ(records[1].body.substr(8).c_str(), std::string(15, 'n'));
  EXPECT_EQ(records[2].header.type, uint32_t{PERF_RECORD_LOST});
  EXPECT_EQ(records[2].trailer.time, 1234u);
}

}  // namespace
}  // namespace tephra::collect
