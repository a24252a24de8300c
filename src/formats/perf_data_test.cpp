#include "formats/perf_data.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

#include "formats/perf_data_for_tests.h"
#include "stream/profile_builder.h"
#include "stream/profile_for_tests.h"
#include "stream/random_recording_for_tests.h"

namespace tephra::formats {
namespace {

using model::Reason;
using stream::TestBytes;
using stream::TestRecording;

stream::Recording open(const std::string& file) {
  EXPECT_EQ(kPerfData.refusal(base::as_bytes(file)), "");
  auto recording = kPerfData.open(base::as_bytes(file));
  EXPECT_TRUE(recording.ok()) << recording.error().message();
  return recording.ok() ? std::move(recording).value() : stream::Recording{};
}

// What is opened points into the file.
stream::Recording open(std::string&& file) = delete;

std::string refusal(const std::string& file) {
  const auto recording = kPerfData.open(base::as_bytes(file));
  return recording.ok() ? "opened" : recording.error().message();
}

TestRecording small_recording() {
  TestRecording test;
  test.comm(1, 1, 1, "prog").mmap2({.time = 1, .start = 0x5000, .size = 0x1000, .path = "/bin/prog"});
  for (uint64_t i = 0; i < 10; ++i) {
    test.sample({.time = 10 + i, .ip = 0x5000 + i, .callchain = {stream::kTestUserMarker, 0x5000 + i, 0x5100}});
  }
  return test;
}

// The same events, samples and quality, whatever the wrapping.
void expect_same(const stream::Recording& recording, const TestRecording& test) {
  const auto expected = stream::build_profile(test.recording(), {});
  const auto profile = stream::build_profile(recording, {});
  EXPECT_EQ(stream::row_texts(profile), stream::row_texts(expected));
  EXPECT_EQ(model::totals(profile), (model::Totals{test.samples(), test.value()}));
  EXPECT_EQ(profile.quality, expected.quality);
}

TEST(PerfData, FilesAndPipesOfAnyAttributeSize) {
  TestRecording test = small_recording();
  test.events()[0].layout.use_clockid = true;
  test.events()[0].layout.clockid = CLOCK_MONOTONIC;
  for (const uint32_t size : {64u, 72u, 80u, 96u, 104u, 112u, 120u, 128u, 136u, 200u}) {
    SCOPED_TRACE(size);
    for (const auto& bytes : {test_file(test, {.attr_size = size}), test_pipe(test, {.attr_size = size})}) {
      const auto recording = open(bytes);
      ASSERT_EQ(recording.events.size(), 1u);
      EXPECT_EQ(recording.events[0].name, "cpu-clock");
      EXPECT_EQ(recording.events[0].ids, std::vector<uint64_t>{100});
      EXPECT_EQ(recording.facts.format, "perf.data");
      EXPECT_EQ(recording.facts.clock == "CLOCK_MONOTONIC", size >= 96);
      expect_same(recording, test);
    }
  }
}

TEST(PerfData, FeaturesNameTheMachineAndTheEvents) {
  TestRecording test = small_recording();
  test.event("my:tracepoint", TestRecording::kUsual);
  test.events()[0].name = "renamed";
  TestFileOptions options;
  options.features[stream::kFeatureHostname] = test_text("some-host");
  options.features[stream::kFeatureOsRelease] = test_text("6.1.0");
  options.features[stream::kFeatureArch] = test_text("x86_64");
  options.features[stream::kFeatureCommandLine] =
      TestBytes().put(uint32_t{2}).text() + test_text("perf") + test_text("record");
  options.features[stream::kFeatureEventDescription] = test_event_descriptions(test, 112);
  options.features[stream::kFeatureBuildId] = test_build_id_record("0123456789abcdefghij", "/bin/prog", 2) +
                                              test_build_id_record("short", "/bin/other", 2 | 1 << 15) +
                                              test_build_id_record("kernel-kernel-kernel", "[kernel.kallsyms]", 1);
  options.features[stream::kFeatureTephraFacts] = "wakeups=7\n";
  options.features[250] = "not known";
  for (const auto& bytes : {test_file(test, options), test_pipe(test, options)}) {
    const auto recording = open(bytes);
    EXPECT_EQ(recording.facts.host, "some-host");
    EXPECT_EQ(recording.facts.os_release, "6.1.0");
    EXPECT_EQ(recording.facts.arch, "x86_64");
    EXPECT_EQ(recording.facts.command_line, "perf record");
    ASSERT_EQ(recording.events.size(), 2u);
    EXPECT_EQ(recording.events[0].name, "renamed");
    EXPECT_EQ(recording.events[1].name, "my:tracepoint");
    ASSERT_EQ(recording.build_ids.size(), 3u);
    EXPECT_EQ(base::as_text(recording.build_ids[0].build_id.bytes()), "0123456789abcdefghij");
    EXPECT_EQ(recording.build_ids[0].path, "/bin/prog");
    EXPECT_EQ(base::as_text(recording.build_ids[1].build_id.bytes()), "short");
    EXPECT_TRUE(recording.build_ids[2].kernel);
    ASSERT_TRUE(recording.recorder.has_value());
    EXPECT_EQ(recording.recorder->wakeups, 7u);
    EXPECT_EQ(recording.quality, model::Quality{});
  }
}

TEST(PerfData, StreamsNameTheirEventsInRecords) {
  TestRecording test = small_recording();
  const uint64_t id = test.events()[0].ids[0];
  const auto update = [](uint64_t kind, uint64_t event, std::string_view name) {
    return stream::test_record(stream::kRecordEventUpdate, 0, TestBytes().put(kind).put(event).name(name).text());
  };
  std::string bytes = test_pipe(test);
  const size_t at = bytes.size() - test.data().size();
  bytes.insert(at, update(2, id, "the name") + update(2, id + 999, "of nobody") + update(0, id, "its unit") +
                       update(2, id, "") + stream::test_record(stream::kRecordEventUpdate, 0, "short"));
  const auto recording = open(bytes);
  EXPECT_EQ(recording.events[0].name, "the name");
  EXPECT_EQ(recording.quality[model::Reason::malformed_records], 1u);
}

TEST(PerfData, EventNamesGoByIdNotByPlace) {
  TestRecording test = small_recording();
  test.event("second", TestRecording::kUsual);
  TestRecording swapped = test;
  std::swap(swapped.events()[0], swapped.events()[1]);
  TestFileOptions options;
  options.features[stream::kFeatureEventDescription] = test_event_descriptions(swapped, 112);
  const std::string file = test_file(test, options);
  const auto recording = open(file);
  EXPECT_EQ(recording.events[0].name, "cpu-clock");
  EXPECT_EQ(recording.events[1].name, "second");
}

// A broken section is counted; the samples are what they were.
TEST(PerfData, BrokenFeaturesAreCountedAndChangeNothing) {
  TestRecording test = small_recording();
  const std::vector<std::pair<uint32_t, std::string>> broken{
      {stream::kFeatureHostname, TestBytes().put(uint32_t{1000}).text()},
      {stream::kFeatureArch, ""},
      {stream::kFeatureCommandLine, TestBytes().put(UINT32_MAX).text()},
      {stream::kFeatureEventDescription, TestBytes().put(UINT32_MAX).put(uint32_t{112}).text()},
      {stream::kFeatureEventDescription, TestBytes().put(uint32_t{1}).put(uint32_t{112}).text()},
      {stream::kFeatureEventDescription, test_event_descriptions(test, 112).substr(0, 130)},
      {stream::kFeatureBuildId, "too short"},
      {stream::kFeatureBuildId, stream::test_record(stream::kRecordBuildId, 0, "short")},
  };
  for (const auto& [feature, content] : broken) {
    SCOPED_TRACE(feature);
    const TestFileOptions options{.features = {{feature, content}}};
    for (const auto& bytes : {test_file(test, options), test_pipe(test, options)}) {
      const auto recording = open(bytes);
      EXPECT_EQ(recording.quality[Reason::malformed_records], 1u);
      EXPECT_EQ(recording.events[0].name, "cpu-clock");
      EXPECT_EQ(model::totals(stream::build_profile(recording, {})).count, test.samples());
    }
  }
}

TEST(PerfData, AKilledWriterLeavesNoSize) {
  const TestRecording test = small_recording();
  const std::string file = test_file(test, {.without_data_size = true});
  const auto recording = open(file);
  EXPECT_EQ(recording.quality[Reason::file_truncated], 1u);
  EXPECT_EQ(model::totals(stream::build_profile(recording, {})).count, test.samples());
}

TEST(PerfData, SizesBeyondTheFile) {
  const TestRecording test = small_recording();
  const std::string whole = test_file(test, {.features = {{stream::kFeatureHostname, test_text("h")}}});
  for (const uint64_t size : {uint64_t{1} << 20, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 100}) {
    std::string file = whole;
    file.replace(48, 8, TestBytes().put(size).text());
    const auto recording = open(file);
    EXPECT_GE(recording.quality[Reason::file_truncated], 1u);
    EXPECT_LE(model::totals(stream::build_profile(recording, {})).count, test.samples());
    file = whole;
    file.replace(40, 8, TestBytes().put(size).text());  // where the data is
    const auto elsewhere = open(file);
    EXPECT_GE(elsewhere.quality[Reason::file_truncated], 1u);
    EXPECT_EQ(stream::build_profile(elsewhere, {}).samples.size(), 0u);
    file = whole;
    file.replace(32, 8, TestBytes().put(size).text());  // size of the attributes
    EXPECT_NE(refusal(file), "opened");
    file = whole;
    file.replace(16, 8, TestBytes().put(size).text());  // size of one
    EXPECT_NE(refusal(file), "opened");
  }
}

// Attributes may all claim the same ids; memory stays within the size of the file.
TEST(PerfData, OverlappingIdsAreRefused) {
  TestRecording test;
  for (int i = 0; i < 200; ++i) test.event("more", TestRecording::kUsual);
  std::string file = test_file(test);
  const auto attributes_at = base::load<uint64_t>(base::as_bytes(file).data() + 24);
  for (size_t i = 0; i < test.events().size(); ++i) {
    file.replace(attributes_at + i * 128 + 112, 16, TestBytes().put(uint64_t{0}).put(uint64_t{file.size()}).text());
  }
  const auto recording = open(file);
  size_t ids = 0;
  for (const auto& event : recording.events) ids += event.ids.size();
  EXPECT_LE(ids, file.size() / 8);
  EXPECT_EQ(recording.quality[Reason::malformed_records], test.events().size() - 1);
}

TEST(PerfData, WhatIsNotOneIsRefusedWithTheReason) {
  EXPECT_NE(refusal("PERFILE2").find("truncated"), std::string::npos);
  EXPECT_NE(refusal(test_file(small_recording()).substr(0, 100)).find("truncated"), std::string::npos);
  EXPECT_NE(refusal("2ELIFREP" + std::string(200, '\0')).find("damaged"), std::string::npos);
  EXPECT_NE(refusal("PERFILE2" + TestBytes().put(uint64_t{16}).text()).find("no event"), std::string::npos);
  EXPECT_NE(kPerfData.refusal(base::as_bytes("PERFILE1")), "");
  EXPECT_NE(kPerfData.refusal({}), "");
}

// A file cut at any byte opens up to its last whole record, and says that it was cut.
TEST(PerfData, CutAtEveryByte) {
  TestRecording test = small_recording();
  const TestFileOptions options{.features = {{stream::kFeatureHostname, test_text("host")},
                                             {stream::kFeatureEventDescription, test_event_descriptions(test, 112)}}};
  for (const std::string& whole : {test_file(test, options), test_pipe(test, options)}) {
    uint64_t before = 0;
    for (size_t size = 0; size <= whole.size(); ++size) {
      // A copy of the very size, so that a sanitizer sees a read beyond it.
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const auto recording = kPerfData.open(std::as_bytes(std::span(cut)));
      if (!recording.ok()) {
        EXPECT_EQ(before, 0u);
        continue;
      }
      const auto profile = stream::build_profile(*recording, {});
      const uint64_t samples = model::totals(profile).count;
      EXPECT_GE(samples, before);
      EXPECT_LE(samples, test.samples());
      before = samples;
      const bool noticed = profile.quality[Reason::file_truncated] + profile.quality[Reason::malformed_records] > 0;
      // A stream may end after any record.
      const bool at_a_border = [&] {
        if (base::load<uint64_t>(base::as_bytes(whole).data() + 8) != 16) return false;
        stream::RecordWalker walker(std::as_bytes(std::span(cut)).subspan(16));
        stream::Record record;
        while (walker.next(record)) continue;
        return !walker.damaged();
      }();
      EXPECT_EQ(noticed, size < whole.size() && !at_a_border) << size;
    }
    EXPECT_EQ(before, test.samples());
  }
}

// Any byte changed: no crash, and no more samples than there is room for.
TEST(PerfData, DamagedAtEveryByte) {
  TestRecording test = small_recording();
  const TestFileOptions options{.features = {{stream::kFeatureEventDescription, test_event_descriptions(test, 112)}}};
  for (const std::string& whole : {test_file(test, options), test_pipe(test, options)}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const char value : {'\0', '\x7f', '\xff'}) {
        std::string damaged = whole;
        damaged[at] = value;
        const auto recording = kPerfData.open(base::as_bytes(damaged));
        if (!recording.ok()) continue;
        EXPECT_LE(model::totals(stream::build_profile(*recording, {})).count, whole.size() / 8);
      }
    }
  }
}

// One zstd stream over all records, cut into pieces that fit a record.
std::string compressed(std::string_view data, uint32_t type, size_t piece) {
  ZSTD_CStream* stream = ZSTD_createCStream();
  std::string out;
  for (size_t at = 0; at < data.size(); at += piece) {
    const auto part = data.substr(at, piece);
    std::string packed(ZSTD_compressBound(part.size()) + 64, '\0');
    ZSTD_inBuffer input{part.data(), part.size(), 0};
    ZSTD_outBuffer output{packed.data(), packed.size(), 0};
    ZSTD_compressStream(stream, &output, &input);
    ZSTD_flushStream(stream, &output);
    packed.resize(output.pos);
    if (type == stream::kRecordCompressed2) {
      packed = TestBytes().put(uint64_t{packed.size()}).text() + packed + std::string((8 - packed.size() % 8) % 8, 'p');
    }
    out += stream::test_record(type, 0, packed);
  }
  ZSTD_freeCStream(stream);
  return out;
}

TEST(PerfData, CompressedRecordsMaySplitRecords) {
  const TestRecording test = stream::random_recording({.seed = 8, .samples = 400, .events = 2});
  for (const uint32_t type : {stream::kRecordCompressed, stream::kRecordCompressed2}) {
    for (const size_t piece : {size_t{13}, size_t{1000}, size_t{30000}}) {
      SCOPED_TRACE(testing::Message() << type << " " << piece);
      TestRecording packed = test;
      packed.data() = compressed(test.data(), type, piece);
      for (const auto& bytes : {test_file(packed), test_pipe(packed)}) {
        const auto recording = open(bytes);
        EXPECT_NE(recording.unpacked, nullptr);
        const auto profile = stream::build_profile(recording, {});
        EXPECT_EQ(model::totals(profile), (model::Totals{test.samples(), test.value()}));
        EXPECT_EQ(profile.quality[Reason::file_truncated], 0u);
      }
    }
  }
}

TEST(PerfData, DamagedCompressionKeepsWhatCameBefore) {
  const TestRecording test = stream::random_recording({.seed = 8, .samples = 400, .events = 1});
  TestRecording packed = test;
  packed.data() = compressed(test.data(), stream::kRecordCompressed, 1000);
  std::string file = test_file(packed);
  for (size_t at = file.size() / 2; at < file.size() / 2 + 40; ++at) file[at] = '\x55';
  const auto recording = open(file);
  EXPECT_GE(recording.quality[Reason::file_truncated], 1u);
  const auto samples = model::totals(stream::build_profile(recording, {})).count;
  EXPECT_GT(samples, 0u);
  EXPECT_LT(samples, test.samples());
}

TEST(PerfData, PlainRecordsBetweenCompressedOnesAreKept) {
  const TestRecording test = small_recording();
  TestRecording packed = test;
  packed.data() = test.data() + compressed(test.data(), stream::kRecordCompressed2, 100) + test.data();
  const std::string file = test_file(packed);
  const auto profile = stream::build_profile(open(file), {});
  EXPECT_EQ(model::totals(profile).count, test.samples() * 3);
}

}  // namespace
}  // namespace tephra::formats
