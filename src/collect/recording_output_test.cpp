#include "collect/recording_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "collect/event_attr.h"
#include "formats/perf_data.h"
#include "stream/perf_file.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

namespace fs = std::filesystem;

// A record whose content does not shrink when packed, or does.
std::string record(size_t size, bool noise = true) {
  static std::mt19937 random(1);
  perf_event_header head{PERF_RECORD_SAMPLE, 0, static_cast<uint16_t>(size)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  while (bytes.size() < size) bytes += noise ? static_cast<char>(random()) : 'x';
  return bytes;
}

class RecordingOutputTest : public testing::Test {
 protected:
  RecordingOutputTest() {
    folder_ = fs::temp_directory_path() / ("recording_output_test-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    settings_.path = folder_ / "perf.data";
    event_.attr = sampling_attr(kernel::software_event("cpu-clock"), {}, {});
    event_.name = "cpu-clock";
    event_.ids = {41};
  }
  ~RecordingOutputTest() override { fs::remove_all(folder_); }

  RecordingOutput make() {
    auto output = RecordingOutput::create(settings_, std::span(&event_, 1), start_);
    EXPECT_TRUE(output.ok()) << output.error().message();
    EXPECT_TRUE(output->publish());
    return std::move(*output);
  }
  static uint64_t add(RecordingOutput& output, std::string bytes) {
    iovec parts[] = {{bytes.data(), bytes.size() / 16 * 8},
                     {bytes.data() + bytes.size() / 16 * 8, bytes.size() - bytes.size() / 16 * 8}};
    const auto taken = output.append_rings(parts);
    EXPECT_TRUE(taken.ok());
    EXPECT_TRUE(output.end_round());
    return taken.ok() ? *taken : 0;
  }
  base::Status rotate(RecordingOutput& output) {
    TEPHRA_CHECK_OK(output.finish(end_));
    TEPHRA_CHECK_OK(output.begin_next(std::span(&event_, 1), start_));
    return output.publish();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // The SAMPLE records that a reader finds, in order.
  static std::string samples_in(const std::string& path) {
    const auto file = base::FileContent::open(path);
    if (!file) return "no file";
    const auto recording = formats::kPerfData.open(file->bytes());
    if (!recording) return recording.error().message();
    EXPECT_EQ(recording->quality[model::Reason::file_truncated], 0u);
    EXPECT_EQ(recording->quality[model::Reason::malformed_records], 0u);
    std::string samples;
    for (const base::Bytes part : recording->records) {
      stream::RecordWalker walker(part);
      for (stream::Record each; walker.next(each);) {
        if (each.type == PERF_RECORD_SAMPLE) samples += base::as_text(each.bytes);
      }
    }
    return samples;
  }

  fs::path folder_;
  OutputSettings settings_;
  FileEvent event_;
  std::vector<Feature> start_{{stream::kFeatureHostname, std::string("\x08\0\0\0machine\0", 12)}};
  std::vector<Feature> end_{{stream::kFeatureSampleTime, std::string(16, '\0')}};
};

TEST_F(RecordingOutputTest, WhatGoesInComesOutPackedOrNot) {
  for (const std::optional<int> level : {std::optional<int>(), std::optional(0), std::optional(1), std::optional(22)}) {
    settings_.compression_level = level;
    auto output = make();
    std::string expected;
    for (size_t round = 1; round < 10; ++round) {
      std::string bytes;
      for (size_t i = 0; i < round * 30; ++i) bytes += record(i % 7 * 64 + 8, i % 2 == 0);
      EXPECT_EQ(add(output, bytes), bytes.size());
      expected += bytes;
      // Readable after every round, whatever happens later.
      ASSERT_EQ(samples_in(settings_.path), expected);
    }
    ASSERT_TRUE(output.finish(end_));
    EXPECT_EQ(samples_in(settings_.path), expected);
    const auto totals = output.totals();
    EXPECT_EQ(totals.ring_bytes, expected.size());
    EXPECT_EQ(totals.bytes_kept, fs::file_size(settings_.path));
    EXPECT_EQ(totals.files_kept, 1u);
    EXPECT_EQ(totals.packed_bytes < totals.ring_bytes, level.value_or(0) > 0);
  }
}

TEST_F(RecordingOutputTest, RefusesLevelsThatAreNone) {
  for (const int level : {23, -1}) {
    settings_.compression_level = level;
    EXPECT_FALSE(RecordingOutput::create(settings_, std::span(&event_, 1), start_).ok());
  }
}

TEST_F(RecordingOutputTest, StopsBeforeTheSizeLimit) {
  for (const std::optional<int> level : {std::optional<int>(), std::optional(1)}) {
    for (const bool noise : {true, false}) {
      settings_.compression_level = level;
      settings_.max_bytes = 200'000;
      auto output = make();
      std::string taken;
      for (int round = 0; round < 20'000 && !output.full(); ++round) {
        std::string bytes;
        for (size_t i = 0; i < 100; ++i) bytes += record(i % 50 * 8 + 8, noise);
        taken += bytes.substr(0, add(output, bytes));
      }
      EXPECT_TRUE(output.full());
      ASSERT_TRUE(output.finish(end_));
      EXPECT_LE(fs::file_size(settings_.path), *settings_.max_bytes);
      EXPECT_GT(fs::file_size(settings_.path), *settings_.max_bytes * 9 / 10) << noise;
      EXPECT_EQ(samples_in(settings_.path), taken);
    }
  }
}

TEST_F(RecordingOutputTest, OneRoundMayBeLargerThanTheLimit) {
  settings_.max_bytes = 50'000;
  for (const std::optional<int> level : {std::optional<int>(), std::optional(1)}) {
    settings_.compression_level = level;
    auto output = make();
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += record(400);
    const uint64_t taken = add(output, bytes);
    EXPECT_GT(taken, 30'000u);
    EXPECT_TRUE(output.full());
    ASSERT_TRUE(output.finish(end_));
    EXPECT_LE(fs::file_size(settings_.path), 50'000u);
    EXPECT_EQ(samples_in(settings_.path), bytes.substr(0, taken));
  }
}

TEST_F(RecordingOutputTest, RefusesALimitThatLeavesNoRoom) {
  settings_.max_bytes = 3000;
  const auto output = RecordingOutput::create(settings_, std::span(&event_, 1), start_);
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().kind, base::Error::Kind::kUsage);
  EXPECT_TRUE(names().empty());
}

TEST_F(RecordingOutputTest, TheTailIsLeftRoomFor) {
  settings_.max_bytes = 100'000;
  end_[0].content.assign(60'000, 'x');
  auto output = make();
  output.reserve_tail(60'000);
  while (!output.full()) add(output, record(4000));
  ASSERT_TRUE(output.finish(end_));
  EXPECT_LE(fs::file_size(settings_.path), 100'000u);
  EXPECT_GT(fs::file_size(settings_.path), 85'000u);
}

TEST_F(RecordingOutputTest, FinishedFilesAreNamedByTheirTimeAndTheOldestGo) {
  settings_.rotation = *parse_rotation("10K");
  settings_.max_files = 2;
  settings_.compression_level = 1;
  auto output = make();
  std::vector<std::string> contents(1);
  std::vector<std::string> paths;
  while (paths.size() < 5) {
    const std::string bytes = record(2000);
    contents.back() += bytes;
    add(output, bytes);
    if (!output.reached_size()) continue;
    ASSERT_TRUE(rotate(output));
    paths.push_back(output.last_path());
    contents.emplace_back();
    EXPECT_TRUE(fs::exists(settings_.path));
  }
  EXPECT_EQ(output.finished_paths(), (std::vector<std::string>{paths[3], paths[4]}));
  ASSERT_TRUE(output.finish(end_));
  paths.push_back(output.last_path());
  EXPECT_FALSE(fs::exists(settings_.path));
  EXPECT_EQ(names(), (std::vector<std::string>{fs::path(paths[4]).filename(), fs::path(paths[5]).filename()}));
  EXPECT_EQ(samples_in(paths[4]), contents[4]);
  EXPECT_EQ(samples_in(paths[5]), "");
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  // perf.data.YYYYMMDDhhmmsscc
  EXPECT_EQ(fs::path(paths[4]).filename().string().size(), std::string("perf.data.").size() + 16);
  EXPECT_EQ(output.totals().files_kept, 2u);
  EXPECT_EQ(output.totals().files_deleted, 4u);
  EXPECT_EQ(output.totals().bytes_kept, fs::file_size(paths[4]) + fs::file_size(paths[5]));
}

TEST_F(RecordingOutputTest, RotatesByTime) {
  settings_.rotation = *parse_rotation("2h");
  auto output = make();
  const auto now = RecordingOutput::Clock::now();
  ASSERT_TRUE(output.rotation_time());
  EXPECT_GT(*output.rotation_time(), now + std::chrono::minutes(119));
  EXPECT_LT(*output.rotation_time(), now + std::chrono::minutes(121));
}

TEST_F(RecordingOutputTest, ATimestampAlonePutsItIntoTheName) {
  settings_.timestamp_names = true;
  auto output = make();
  add(output, record(64));
  ASSERT_TRUE(output.finish(end_));
  ASSERT_EQ(names().size(), 1u);
  EXPECT_EQ(folder_ / names()[0], output.last_path());
  EXPECT_TRUE(names()[0].starts_with("perf.data.20"));
}

TEST_F(RecordingOutputTest, ParsesWhenToRotate) {
  EXPECT_TRUE(parse_rotation("")->on_signal);
  EXPECT_TRUE(parse_rotation("signal")->on_signal);
  EXPECT_EQ(parse_rotation("2M")->bytes, uint64_t{2 << 20});
  EXPECT_EQ(parse_rotation("2m")->seconds, 120.0);
  for (const char* wrong : {"2", "0B", "0s", "sig", "m"}) EXPECT_FALSE(parse_rotation(wrong).ok()) << wrong;
}

TEST_F(RecordingOutputTest, AFailedRecordingWithoutSamplesLeavesTheEarlierFile) {
  ASSERT_TRUE(base::write_file(settings_.path, "earlier"));
  auto output = make();
  ASSERT_TRUE(output.append(base::as_bytes(record(64))));
  ASSERT_TRUE(output.end_round());
  EXPECT_FALSE(output.salvage(end_));
  EXPECT_EQ(names(), std::vector<std::string>{"perf.data"});
  EXPECT_EQ(*base::read_small_file(settings_.path), "earlier");
}

// A limit on file sizes stands for a full disk: the write fails in its middle.
class Limited {
 public:
  explicit Limited(uint64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Limited() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(RecordingOutputTest, AFullDiskKeepsWholeRounds) {
  for (const std::optional<int> level : {std::optional<int>(), std::optional(1)}) {
    for (const bool rotating : {false, true}) {
      fs::remove_all(folder_);
      fs::create_directories(folder_);
      settings_.compression_level = level;
      settings_.rotation.reset();
      if (rotating) settings_.rotation = Rotation{};
      auto output = make();
      const std::string first = record(3000) + record(4000);
      ASSERT_EQ(add(output, first), first.size());
      if (rotating) {
        ASSERT_TRUE(rotate(output));
        ASSERT_EQ(add(output, first), first.size());
      }
      {
        const Limited limited(output.bytes() + 5000);
        std::string more = record(20000);
        iovec part{more.data(), more.size()};
        const auto taken = output.append_rings(std::span(&part, 1));
        ASSERT_FALSE(taken.ok());
        EXPECT_NE(taken.error().message().find("File too large"), std::string::npos) << taken.error().message();
        // Nothing more goes in, so that the file cannot be torn later.
        EXPECT_FALSE(output.append(base::as_bytes(more)));
        EXPECT_TRUE(output.salvage(end_));
      }
      EXPECT_EQ(output.totals().files_kept, rotating ? 2u : 1u);
      EXPECT_EQ(names().size(), rotating ? 2u : 1u);
      for (const std::string& path : output.finished_paths()) EXPECT_EQ(samples_in(path), first);
    }
  }
}

TEST_F(RecordingOutputTest, DevicesCannotBeRotated) {
  settings_.path = "/dev/null";
  EXPECT_TRUE(RecordingOutput::create(settings_, std::span(&event_, 1), start_).ok());
  settings_.rotation = Rotation{};
  EXPECT_FALSE(RecordingOutput::create(settings_, std::span(&event_, 1), start_).ok());
}

TEST_F(RecordingOutputTest, PutsSignalsBackAsTheyWere) {
  struct sigaction before {
  }, during{}, after{};
  ::sigaction(SIGXFSZ, nullptr, &before);
  {
    auto output = make();
    auto moved = std::move(output);
    ::sigaction(SIGXFSZ, nullptr, &during);
  }
  ::sigaction(SIGXFSZ, nullptr, &after);
  EXPECT_EQ(during.sa_handler, SIG_IGN);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace tephra::collect
