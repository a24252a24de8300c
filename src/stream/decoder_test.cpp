#include "stream/decoder.h"

#include <gtest/gtest.h>

#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

// Decodes the records of a recording one by one.
std::vector<Event> decode_all(const TestRecording& test) {
  const Recording recording = test.recording();
  const Decoder decoder(recording);
  RecordWalker walker(recording.records[0]);
  Record record;
  std::vector<Event> events;
  while (walker.next(record)) events.push_back(decoder.decode(record));
  EXPECT_FALSE(walker.damaged());
  return events;
}

Sample decode_one(const TestRecording& test) {
  const auto events = decode_all(test);
  EXPECT_EQ(events.size(), 1u);
  if (events.empty() || !std::holds_alternative<Sample>(events[0])) {
    ADD_FAILURE() << "not a sample";
    return {};
  }
  return std::get<Sample>(events[0]);
}

constexpr uint64_t kAll = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                          PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
                          PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                          PERF_SAMPLE_STACK_USER;

TestSample full_sample() {
  TestSample sample{.time = 77, .pid = 5, .tid = 6, .ip = 0x1234, .callchain = {kTestUserMarker, 1, 2, 3}};
  sample.period = 9;
  sample.cpu = 3;
  sample.address = 0xabc;
  sample.raw = std::string(12, 'r');
  sample.branches = {1, 2, 3, 4, 5, 6};
  sample.registers = {11, 12};
  sample.stack = std::string(64, 's');
  sample.stack_filled = 24;
  return sample;
}

void expect_full(const Sample& sample) {
  EXPECT_EQ(sample.origin.time, 77u);
  EXPECT_EQ(sample.origin.pid, 5);
  EXPECT_EQ(sample.origin.tid, 6);
  EXPECT_EQ(sample.origin.cpu, 3);
  EXPECT_EQ(sample.ip, 0x1234u);
  EXPECT_EQ(sample.address, 0xabcu);
  EXPECT_EQ(sample.period, 9u);
  ASSERT_EQ(sample.callchain.size(), 4u);
  EXPECT_EQ(sample.callchain[3], 3u);
  EXPECT_EQ(base::as_text(sample.raw), std::string(12, 'r'));
  EXPECT_EQ(sample.user_registers_abi, uint64_t{PERF_SAMPLE_REGS_ABI_64});
  ASSERT_EQ(sample.user_registers.size(), 16u);
  EXPECT_EQ(base::load<uint64_t>(sample.user_registers.data() + 8), 12u);
  EXPECT_EQ(sample.user_stack.size(), 24u);
}

// Every way of laying out what stands before the call chain leaves the rest in place.
TEST(Decoder, FieldsOfSamplesComeInTheKernelsOrder) {
  const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  struct Reading {
    uint64_t format;
    std::vector<uint64_t> words;
  };
  const std::vector<Reading> readings{
      {0, {1}},
      {times, {1, 2, 3}},
      {PERF_FORMAT_ID, {1, 100}},
      {times | PERF_FORMAT_ID | PERF_FORMAT_LOST, {1, 2, 3, 100, 0}},
      {PERF_FORMAT_GROUP, {2, 10, 20}},
      {PERF_FORMAT_GROUP | PERF_FORMAT_ID, {2, 10, 100, 20, 101}},
      {PERF_FORMAT_GROUP | times | PERF_FORMAT_ID | PERF_FORMAT_LOST, {2, 1, 1, 10, 100, 0, 20, 101, 0}},
      {PERF_FORMAT_GROUP, {0}},
  };
  for (const uint64_t identifier : {uint64_t{0}, uint64_t{PERF_SAMPLE_IDENTIFIER}}) {
    for (const uint64_t branches : {uint64_t{0}, uint64_t{PERF_SAMPLE_BRANCH_HW_INDEX}}) {
      for (const Reading& reading : readings) {
        SCOPED_TRACE(testing::Message() << identifier << " " << branches << " " << reading.format);
        TestRecording test(kAll | identifier);
        test.layout().read_format = reading.format;
        test.layout().branch_sample_type = branches;
        test.layout().sample_regs_user = 0x101;
        TestSample sample = full_sample();
        sample.read = reading.words;
        expect_full(decode_one(test.sample(sample)));
      }
    }
  }
}

TEST(Decoder, EachFieldMayBeAbsent) {
  for (int bit = 0; bit < 14; ++bit) {
    const uint64_t left_out = uint64_t{1} << bit;
    if (!(kAll & left_out)) continue;
    SCOPED_TRACE(bit);
    TestRecording test(kAll & ~left_out);
    test.layout().sample_regs_user = 0x101;
    TestSample sample = full_sample();
    sample.read = {1};
    const Sample decoded = decode_one(test.sample(sample));
    EXPECT_EQ(decoded.user_stack.size(), left_out == PERF_SAMPLE_STACK_USER ? 0u : 24u);
    EXPECT_EQ(decoded.has_callchain, left_out != PERF_SAMPLE_CALLCHAIN);
    EXPECT_EQ(decoded.origin.time, left_out == PERF_SAMPLE_TIME ? 0u : 77u);
    EXPECT_EQ(decoded.origin.pid, left_out == PERF_SAMPLE_TID ? -1 : 5);
    EXPECT_EQ(decoded.origin.cpu, left_out == PERF_SAMPLE_CPU ? -1 : 3);
  }
}

TEST(Decoder, RegistersAndStackOfAKernelThreadAreAbsent) {
  TestRecording test(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
  test.layout().sample_regs_user = 0xff;
  const Sample sample = decode_one(test.sample({.ip = 1, .registers_abi = PERF_SAMPLE_REGS_ABI_NONE}));
  EXPECT_TRUE(sample.user_registers.empty());
  EXPECT_TRUE(sample.user_stack.empty());
}

TEST(Decoder, MoreStackThanWasCopiedIsNotRead) {
  TestRecording test(PERF_SAMPLE_STACK_USER);
  EXPECT_EQ(decode_one(test.sample({.stack = std::string(16, 's'), .stack_filled = UINT64_MAX})).user_stack.size(),
            16u);
}

TEST(Decoder, PeriodIsTheEventsWhereSamplesHaveNone) {
  TestRecording fixed(PERF_SAMPLE_IP);
  fixed.layout().sample_period_or_frequency = 5000;
  EXPECT_EQ(decode_one(fixed.sample({})).period, 5000u);
  TestRecording frequent(PERF_SAMPLE_IP);
  frequent.layout().sample_period_or_frequency = 4000;
  frequent.layout().frequency = true;
  EXPECT_EQ(decode_one(frequent.sample({})).period, 1u);
}

TEST(Decoder, PageSizesStandBehindAllThatMayComeBefore) {
  TestRecording alone(PERF_SAMPLE_IP | PERF_SAMPLE_DATA_PAGE_SIZE);
  EXPECT_EQ(decode_one(alone.sample({.rest = {4096}})).data_page_size, 4096u);
  TestRecording all(PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
                    PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
                    PERF_SAMPLE_CODE_PAGE_SIZE);
  all.layout().sample_regs_intr = 3;
  const uint64_t abi = PERF_SAMPLE_REGS_ABI_64;
  EXPECT_EQ(decode_one(all.sample({.rest = {1, 2, 3, abi, 4, 5, 6, 7, 2 << 20, 8}})).data_page_size, 2u << 20);
  TestRecording none(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_DATA_PAGE_SIZE);
  none.layout().sample_regs_intr = 3;
  EXPECT_EQ(decode_one(none.sample({.rest = {PERF_SAMPLE_REGS_ABI_NONE, 4096}})).data_page_size, 4096u);
}

TEST(Decoder, SamplesFindTheirEventByIdentifierOrId) {
  for (const uint64_t id : {uint64_t{PERF_SAMPLE_IDENTIFIER}, uint64_t{PERF_SAMPLE_ID}}) {
    // With IDENTIFIER the events may be laid out differently.
    const uint64_t more = id == PERF_SAMPLE_IDENTIFIER ? uint64_t{PERF_SAMPLE_ADDR} : 0;
    TestRecording test(id | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
    test.event("second", id | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | more);
    test.sample({.time = 1, .event = 1, .address = 5}).sample({.time = 2, .event = 0});
    const auto events = decode_all(test);
    EXPECT_EQ(std::get<Sample>(events[0]).origin.event, 1u);
    EXPECT_EQ(std::get<Sample>(events[0]).address, more != 0 ? 5u : 0u);
    EXPECT_EQ(std::get<Sample>(events[1]).origin.event, 0u);
  }
}

TEST(Decoder, WithoutIdsEverySampleIsOfTheFirstEvent) {
  TestRecording test(PERF_SAMPLE_IP);
  test.event("second", PERF_SAMPLE_IP);
  EXPECT_EQ(decode_one(test.sample({.ip = 3, .event = 1})).origin.event, 0u);
}

TEST(Decoder, ASampleOfAnEventThatIsNotDescribedIsNotGuessed) {
  TestRecording test(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
  test.event("second", PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
  test.add(test_record(PERF_RECORD_SAMPLE, 0, TestBytes().put(uint64_t{999}).put(uint64_t{1}).text()));
  const Recording recording = test.recording();
  const Decoder decoder(recording);
  RecordWalker walker(recording.records[0]);
  Record record;
  ASSERT_TRUE(walker.next(record));
  EXPECT_FALSE(decoder.knows_event(record));
  EXPECT_TRUE(std::holds_alternative<Malformed>(decoder.decode(record)));
}

TEST(Decoder, ASampleCutAnywhereIsMalformedAndNeverReadBeyond) {
  TestRecording test(kAll);
  test.layout().sample_regs_user = 0x101;
  TestSample sample = full_sample();
  sample.read = {1};
  const std::string whole = test.sample_record(sample);
  const Recording recording = test.recording();
  const Decoder decoder(recording);
  for (size_t size = kRecordHeaderSize; size < whole.size(); ++size) {
    // A copy of the very size, so that a sanitizer sees a read beyond it.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const Record record{PERF_RECORD_SAMPLE, 0, std::as_bytes(std::span(cut))};
    EXPECT_TRUE(std::holds_alternative<Malformed>(decoder.decode(record))) << size;
    decoder.time_of(record);
  }
}

TEST(Decoder, CountsInSamplesThatAreTooLargeAreRefused) {
  for (const uint64_t count : {uint64_t{2}, uint64_t{1} << 61, UINT64_MAX}) {
    for (const uint64_t type : {uint64_t{PERF_SAMPLE_CALLCHAIN}, uint64_t{PERF_SAMPLE_BRANCH_STACK},
                                uint64_t{PERF_SAMPLE_STACK_USER}, uint64_t{PERF_SAMPLE_READ}}) {
      TestRecording test(type);
      test.layout().read_format = PERF_FORMAT_GROUP;
      test.add(test_record(PERF_RECORD_SAMPLE, 0, TestBytes().put(count).put(uint64_t{1}).text()));
      const bool fits = type == PERF_SAMPLE_STACK_USER && count == 2;
      EXPECT_TRUE(fits || std::holds_alternative<Malformed>(decode_all(test)[0])) << type << " " << count;
    }
  }
}

TEST(Decoder, MappingsWithAndWithoutBuildId) {
  TestRecording test;
  test.mmap({.time = 4, .pid = 7, .start = 0x1000, .size = 0x2000, .offset = 0x30, .path = "/bin/a"});
  test.mmap2({.time = 5, .pid = 7, .start = 0x1000, .size = 0x2000, .offset = 0x30, .path = "/bin/b", .inode = 99});
  test.mmap2({.time = 6, .pid = 7, .path = "/bin/c", .build_id = "0123456789abcdef"});
  test.mmap2({.time = 6, .pid = 7, .path = "/bin/d", .protection = 1});
  test.mmap({.pid = -1, .path = "[kernel.kallsyms]_text", .misc = PERF_RECORD_MISC_KERNEL});
  const auto events = decode_all(test);
  const auto& plain = std::get<Mmap>(events[0]);
  EXPECT_EQ(plain.origin.time, 4u);
  EXPECT_EQ(plain.pid, 7);
  EXPECT_EQ(plain.start, 0x1000u);
  EXPECT_EQ(plain.size, 0x2000u);
  EXPECT_EQ(plain.file_offset, 0x30u);
  EXPECT_EQ(plain.path, "/bin/a");
  EXPECT_TRUE(plain.executable);
  const auto& with_file = std::get<Mmap>(events[1]);
  EXPECT_EQ(with_file.file.inode, 99u);
  EXPECT_EQ(with_file.file.device, uint64_t{8} << 32 | 1);
  EXPECT_TRUE(with_file.build_id.empty());
  const auto& with_id = std::get<Mmap>(events[2]);
  EXPECT_EQ(base::as_text(with_id.build_id.bytes()), "0123456789abcdef");
  EXPECT_EQ(with_id.file, model::FileIdentity{});
  EXPECT_EQ(with_id.path, "/bin/c");
  EXPECT_FALSE(std::get<Mmap>(events[3]).executable);
  EXPECT_TRUE(std::get<Mmap>(events[4]).kernel);
}

// The kernel marks the records of every recorder when one of them asked for build ids.
TEST(Decoder, AStrayMarkOfABuildIdIsNotOne) {
  TestRecording test;
  test.mmap2({.pid = 7, .path = "/bin/b", .misc = PERF_RECORD_MISC_MMAP_BUILD_ID, .inode = 99});
  Recording recording = test.recording();
  for (RecordedEvent& event : recording.events) event.layout.build_ids = false;
  const Decoder decoder(recording);
  RecordWalker walker(recording.records.at(0));
  Record record;
  ASSERT_TRUE(walker.next(record));
  const Event event = decoder.decode(record);
  EXPECT_TRUE(std::get<Mmap>(event).build_id.empty());
  EXPECT_EQ(std::get<Mmap>(event).file.inode, 99u);
}

TEST(Decoder, TheOtherRecords) {
  TestRecording test;
  test.comm(1, 7, 8, "worker").comm(2, 7, 7, "new", true).fork(3, 9, 7, 9, 8).exit(4, 9, 9);
  test.lost(5, 10).lost_samples(6, 20).throttle(7, true).throttle(8, false);
  test.ksymbol(9, 0xffffffffc0000000, 64, false, "bpf_prog_1").ksymbol(10, 0xffffffffc0000000, 64, true, "bpf_prog_1");
  test.finished_round().other(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, {}, {11});
  const auto events = decode_all(test);
  EXPECT_EQ(std::get<Comm>(events[0]).name, "worker");
  EXPECT_EQ(std::get<Comm>(events[0]).tid, 8);
  EXPECT_FALSE(std::get<Comm>(events[0]).exec);
  EXPECT_TRUE(std::get<Comm>(events[1]).exec);
  const auto& fork = std::get<Fork>(events[2]);
  EXPECT_EQ(fork.origin.time, 3u);
  EXPECT_EQ(fork.pid, 9);
  EXPECT_EQ(fork.parent_pid, 7);
  EXPECT_EQ(fork.tid, 9);
  EXPECT_EQ(fork.parent_tid, 8);
  EXPECT_EQ(std::get<Exit>(events[3]).tid, 9);
  EXPECT_EQ(std::get<Lost>(events[4]).count, 10u);
  EXPECT_FALSE(std::get<Lost>(events[4]).samples_record);
  EXPECT_EQ(std::get<Lost>(events[5]).count, 20u);
  EXPECT_TRUE(std::get<Lost>(events[5]).samples_record);
  EXPECT_TRUE(std::get<Throttle>(events[6]).on);
  EXPECT_FALSE(std::get<Throttle>(events[7]).on);
  EXPECT_EQ(std::get<CodeObject>(events[8]).name, "bpf_prog_1");
  EXPECT_EQ(std::get<CodeObject>(events[8]).size, 64u);
  EXPECT_FALSE(std::get<CodeObject>(events[8]).removed);
  EXPECT_TRUE(std::get<CodeObject>(events[9]).removed);
  EXPECT_TRUE(std::holds_alternative<FinishedRound>(events[10]));
  EXPECT_TRUE(std::get<Switch>(events[11]).out);
  EXPECT_EQ(std::get<Switch>(events[11]).origin.time, 11u);
}

TEST(Decoder, RecordsTooShortForTheirTypeAreMalformed) {
  for (const uint32_t type : {PERF_RECORD_MMAP, PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT,
                              PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES, PERF_RECORD_KSYMBOL}) {
    TestRecording test;
    EXPECT_TRUE(std::holds_alternative<Malformed>(decode_all(test.add(test_record(type, 0, {})))[0])) << type;
  }
}

TEST(Decoder, TypesAreKnownIgnoredOrUnknown) {
  TestRecording test;
  for (const uint32_t type : {0u, uint32_t{PERF_RECORD_BPF_EVENT}, uint32_t{kRecordIdIndex}, 500u, 40000u}) {
    test.add(test_record(type, 0, std::string(16, 'x')));
  }
  const auto events = decode_all(test);
  EXPECT_TRUE(std::holds_alternative<Unknown>(events[0]));
  EXPECT_TRUE(std::holds_alternative<Ignored>(events[1]));
  EXPECT_TRUE(std::holds_alternative<Ignored>(events[2]));
  EXPECT_EQ(std::get<Unknown>(events[3]).type, 500u);
  EXPECT_EQ(std::get<Unknown>(events[4]).type, 40000u);
}

// The trailer is that of the record's own event, which may have more fields than the first.
TEST(Decoder, TrailersFollowTheirEvent) {
  TestRecording test(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
  test.event("second", PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
  for (const size_t event : {size_t{0}, size_t{1}}) {
    test.other(PERF_RECORD_COMM, 0, TestBytes().put(int32_t{3}).put(int32_t{4}).name("some name"),
               {55, 3, 4, 6, event});
  }
  const auto events = decode_all(test);
  for (size_t i = 0; i < 2; ++i) {
    const auto& comm = std::get<Comm>(events[i]);
    EXPECT_EQ(comm.name, "some name");
    EXPECT_EQ(comm.origin.time, 55u);
    EXPECT_EQ(comm.origin.tid, 4);
    EXPECT_EQ(comm.origin.event, i);
    EXPECT_EQ(comm.origin.cpu, i == 1 ? 6 : -1);
  }
}

TEST(Decoder, WithoutSampleIdAllThereIsNoTrailer) {
  TestRecording test;
  test.layout().sample_id_all = false;
  test.comm(1, 7, 8, "worker");
  const auto comm = std::get<Comm>(decode_all(test)[0]);
  EXPECT_EQ(comm.name, "worker");
  EXPECT_EQ(comm.origin.time, 0u);
}

TEST(RecordWalker, StopsAtSizesThatCannotBe) {
  const std::string good = test_record(PERF_RECORD_COMM, 0, "12345678");
  for (const uint16_t size : {uint16_t{0}, uint16_t{7}, uint16_t{200}}) {
    const std::string bad = TestBytes().put(uint32_t{9}).put(uint16_t{0}).put(size).put(uint64_t{0}).text();
    const std::string text = good + bad + good;
    RecordWalker walker(base::as_bytes(text));
    Record record;
    EXPECT_TRUE(walker.next(record));
    EXPECT_EQ(record.body().size(), 8u);
    EXPECT_FALSE(walker.next(record));
    EXPECT_FALSE(walker.next(record));
    EXPECT_TRUE(walker.damaged());
    EXPECT_EQ(walker.position(), good.size());
  }
}

TEST(RecordWalker, StepsOverWhatFollowsARecord) {
  const std::string trace =
      test_record(kRecordAuxtrace, 0, TestBytes().put(uint64_t{24}).text()) + std::string(24, 'a');
  const std::string formats = test_record(kRecordTracingData, 0, TestBytes().put(uint32_t{13}).text());
  const std::string text = trace + formats + std::string(16, 'f') + test_record(PERF_RECORD_COMM, 0, {});
  RecordWalker walker(base::as_bytes(text));
  Record record;
  std::vector<uint32_t> types;
  while (walker.next(record)) types.push_back(record.type);
  EXPECT_EQ(types, (std::vector<uint32_t>{kRecordAuxtrace, kRecordTracingData, PERF_RECORD_COMM}));
  EXPECT_FALSE(walker.damaged());

  const std::string inside =
      test_record(kRecordTracingData, 0, TestBytes().put(uint32_t{13}).raw("thirteen text").text());
  RecordWalker of_simpleperf(base::as_bytes(inside));
  EXPECT_TRUE(of_simpleperf.next(record));
  EXPECT_EQ(of_simpleperf.position(), inside.size());

  RecordWalker cut(base::as_bytes(text).first(trace.size() - 1));
  EXPECT_FALSE(cut.next(record));
  EXPECT_TRUE(cut.damaged());
  EXPECT_EQ(cut.position(), 0u);
}

}  // namespace
}  // namespace tephra::stream
