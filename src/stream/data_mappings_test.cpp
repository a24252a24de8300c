#include "stream/data_mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

constexpr uint16_t kData = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA;

TestRecording& map(TestRecording& test, uint64_t time, uint64_t start, std::string_view path, uint32_t protection,
                   uint32_t flags = MAP_PRIVATE, int32_t pid = 1) {
  TestBytes body;
  body.put(pid).put(pid).put(start).put(uint64_t{0x1000}).put(uint64_t{0});
  body.put(uint32_t{8}).put(uint32_t{1}).put(uint64_t{7}).put(uint64_t{3}).put(protection).put(flags).name(path);
  return test.other(PERF_RECORD_MMAP2, kData, body, {time, pid, pid});
}

TEST(DataMappings, TellsWhatIsMappedByNameAndRights) {
  TestRecording test;
  constexpr uint32_t kBoth = PROT_READ | PROT_WRITE;
  map(test, 1, 0x1000, "[heap]", kBoth);
  map(test, 1, 0x2000, "[stack]", kBoth);
  map(test, 1, 0x3000, "//anon", kBoth);
  map(test, 1, 0x4000, "/lib/a.so", PROT_READ);
  map(test, 1, 0x5000, "/lib/a.so", kBoth);
  map(test, 1, 0x6000, "/data", kBoth, MAP_SHARED);
  map(test, 1, 0x7000, "/dev/zero (deleted)", kBoth, MAP_SHARED);
  map(test, 1, 0x8000, "[vvar]", PROT_READ);
  const Recording recording = test.recording();
  const DataMappings mappings(recording);
  const DataMapping expected[] = {DataMapping::kNotTold,   DataMapping::kHeap,         DataMapping::kStack,
                                  DataMapping::kAnonymous, DataMapping::kFile,         DataMapping::kPrivateFile,
                                  DataMapping::kFile,      DataMapping::kSharedMemory, DataMapping::kNotTold};
  for (uint64_t page = 0; page < std::size(expected); ++page) {
    EXPECT_EQ(mappings.at(1, 5, page * 0x1000 + 0x10).mapping, expected[page]) << page;
  }
  EXPECT_EQ(mappings.at(2, 5, 0x1000).mapping, DataMapping::kNotTold);
  EXPECT_EQ(mappings.at(1, 0, 0x1000).mapping, DataMapping::kNotTold);
}

TEST(DataMappings, ForkSharesMemoryUntilTheNextProgram) {
  TestRecording test;
  map(test, 1, 0x1000, "[heap]", PROT_READ | PROT_WRITE);
  test.fork(5, 2, 1, 2, 1);
  test.comm(9, 2, 2, "other", true);
  map(test, 10, 0x3000, "//anon", PROT_READ | PROT_WRITE, MAP_PRIVATE, 2);
  const Recording recording = test.recording();
  const DataMappings mappings(recording);
  EXPECT_FALSE(mappings.at(1, 4, 0x1000).forked);
  EXPECT_TRUE(mappings.at(1, 5, 0x1000).forked);
  EXPECT_EQ(mappings.at(1, 5, 0x1000).mapping, DataMapping::kHeap);
  EXPECT_TRUE(mappings.at(2, 8, 0x1000).forked);
  EXPECT_EQ(mappings.at(2, 8, 0x1000).mapping, DataMapping::kHeap);
  EXPECT_EQ(mappings.at(2, 11, 0x1000).mapping, DataMapping::kNotTold);
  EXPECT_EQ(mappings.at(2, 11, 0x3000).mapping, DataMapping::kAnonymous);
  EXPECT_FALSE(mappings.at(2, 11, 0x3000).forked);
}

TEST(DataMappings, DamagedRecordsAreLeftOut) {
  TestRecording test;
  test.add(test_record(PERF_RECORD_MMAP2, kData, std::string(20, '\xff')));
  test.add(test_record(PERF_RECORD_MMAP2, kData, std::string(72, '\xff')));
  const Recording recording = test.recording();
  EXPECT_EQ(DataMappings(recording).at(-1, UINT64_MAX, UINT64_MAX).mapping, DataMapping::kNotTold);
}

}  // namespace
}  // namespace tephra::stream
