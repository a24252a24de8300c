#include "formats/perf_data_folder.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "formats/input_file.h"
#include "formats/perf_data.h"
#include "formats/perf_data_for_tests.h"
#include "stream/profile_builder.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;
using stream::TestRecording;

TestRecording with_samples(uint64_t from, uint64_t count) {
  TestRecording test;
  for (uint64_t i = from; i < from + count; ++i) test.sample({.time = 10 + i, .ip = 0x5000 + i});
  return test;
}

// A stream that is flushed and never ended, as each thread of perf writes one.
std::string compressed_record(const std::string& content) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string packed(ZSTD_compressBound(content.size()) + 64, '\0');
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush), 0u);
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return stream::test_record(stream::kRecordCompressed, 0, packed);
}

model::Profile read(const std::string& file) {
  const auto recording = kPerfData.open(base::as_bytes(file));
  EXPECT_TRUE(recording.ok()) << recording.error().message();
  return recording.ok() ? stream::build_profile(*recording, {}) : model::Profile{};
}

TEST(PerfDataFolder, RecordsOfAllThreadsAreOneRecording) {
  TestRecording main = with_samples(0, 3);
  main.comm(1, 1, 1, "prog");
  const std::map<uint32_t, std::string> features{{stream::kFeatureHostname, test_text("host")},
                                                 {stream::kFeatureArch, test_text("x86_64")}};
  const std::string file = test_file(main, {.features = features});
  const std::string first = with_samples(3, 4).data();
  const std::string second = with_samples(7, 5).data();
  const std::vector<base::Bytes> parts{base::as_bytes(first), base::as_bytes(second)};
  const auto joined = join_perf_data(base::as_bytes(file), parts);
  ASSERT_TRUE(joined.ok());
  const auto profile = read(*joined);
  EXPECT_EQ(model::totals(profile).count, 12u);
  EXPECT_EQ(profile.facts.host, "host");
  EXPECT_EQ(profile.facts.arch, "x86_64");
  EXPECT_EQ(profile.quality, model::Quality{});
}

TEST(PerfDataFolder, EachThreadHasItsOwnCompression) {
  TestRecording main = with_samples(0, 1);
  const std::map<uint32_t, std::string> features{{stream::kFeatureCompressed, std::string(20, '\0')}};
  const std::string file = test_file(main, {.features = features});
  const std::string first = compressed_record(with_samples(1, 4).data());
  const std::string second = compressed_record(with_samples(5, 5).data());
  const std::vector<base::Bytes> parts{base::as_bytes(first), base::as_bytes(second)};
  const auto joined = join_perf_data(base::as_bytes(file), parts);
  ASSERT_TRUE(joined.ok());
  const auto profile = read(*joined);
  EXPECT_EQ(model::totals(profile).count, 10u);
  EXPECT_EQ(profile.quality, model::Quality{});
}

TEST(PerfDataFolder, DamagedHeadersAreRefused) {
  const std::string file = test_file(with_samples(0, 1));
  for (const size_t size : {size_t{0}, size_t{50}, size_t{104}, file.size() - 8}) {
    EXPECT_FALSE(join_perf_data(base::as_bytes(file.substr(0, size)), {}).ok()) << size;
  }
  EXPECT_TRUE(join_perf_data(base::as_bytes(file), {}).ok());
}

TEST(PerfDataFolder, IsOpenedByItsName) {
  const fs::path folder = fs::path(testing::TempDir()) / "perf_data_folder";
  fs::remove_all(folder);
  fs::create_directory(folder);
  EXPECT_FALSE(is_perf_data_folder(folder));
  EXPECT_FALSE(InputFile::open(folder).ok());
  std::ofstream(folder / "data") << test_file(with_samples(0, 1));
  // By number, not by name; and nothing else.
  for (int i = 0; i < 12; ++i) std::ofstream(folder / ("data." + std::to_string(i))) << with_samples(1, 2).data();
  std::ofstream(folder / "data.old") << "something else";
  const auto content = InputFile::open(folder);
  ASSERT_TRUE(content.ok()) << content.error().message();
  const auto recording = kPerfData.open(content->bytes());
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(model::totals(stream::build_profile(*recording, {})).count, 25u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tephra::formats
