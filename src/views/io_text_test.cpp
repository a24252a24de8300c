#include "views/io_text.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

struct Told {
  std::string_view event;
  std::string_view device;
  std::string_view operation;
  uint64_t count = 1;
  uint64_t value = 0;
  int64_t longest = 0;
  bool failed = false;
};

model::Profile profile_of(const std::vector<Told>& samples) {
  model::ProfileAssembler assembler;
  const auto thread = assembler.thread({1, 1, assembler.string("prog")});
  for (const Told& told : samples) {
    std::vector<model::Label> labels{{assembler.string("device"), assembler.string(told.device), 0, {}},
                                     {assembler.string("operation"), assembler.string(told.operation), 0, {}}};
    if (told.longest != 0) labels.push_back({assembler.string("longest"), {}, told.longest, assembler.string("ns")});
    if (told.failed) labels.push_back({assembler.string("error"), assembler.string("failed"), 0, {}});
    const std::string_view unit = told.event.ends_with("time") ? "ns" : "bytes";
    model::ProfileAssembler::Sample sample{
        .stack = {},
        .event = assembler.event({assembler.string(told.event), assembler.string(unit)}),
        .thread = thread};
    sample.count = told.count;
    sample.value = told.value;
    sample.labels = assembler.labels(std::move(labels));
    assembler.sample(sample);
  }
  return std::move(assembler).finish();
}

TEST(IoText, SumsByDeviceAndOperation) {
  const auto profile = profile_of({{"block-time", "vda", "read", 2, 3'000'000, 2'000'000},
                                   {"block-bytes", "vda", "read", 2, 8192, 2'000'000},
                                   {"block-time", "vda", "read", 1, 5'000'000, 5'000'000},
                                   {"block-bytes", "vda", "read", 1, 4096, 5'000'000},
                                   {"block-time", "vdb", "write", 1, 1'000, 1'000},
                                   {"block-bytes", "vdb", "write", 1, 512, 1'000},
                                   {"file-time", "vda", "sync", 4, 40, 10, true},
                                   {"file-bytes", "vda", "sync", 4, 0, 10, true},
                                   {"cpu-clock", "", "", 9, 99}});
  const auto summary = analysis::io_summary(profile, 10);
  ASSERT_EQ(summary.requests.rows.size(), 2u);
  EXPECT_EQ(summary.requests.rows[0].device, "vda");
  EXPECT_EQ(summary.requests.rows[0].sums.count, 3u);
  EXPECT_EQ(summary.requests.rows[0].sums.bytes, 12288u);
  EXPECT_EQ(summary.requests.rows[0].longest, 5'000'000u);
  EXPECT_EQ(summary.calls.rows[0].failed, 4u);
  const std::string text = io_text(summary, true);
  EXPECT_NE(text.find("requests to devices: 4 requests, 12.5 KiB, 8.00 ms together\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  vda     read"), std::string::npos) << text;
  EXPECT_NE(text.find("2.67 ms  5.00 ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("4 failed"), std::string::npos) << text;
  EXPECT_NE(text.find("[no stack]"), std::string::npos) << text;
}

TEST(IoText, WithoutTimesThereAreNone) {
  const auto profile = profile_of({{"block-bytes", "8:0", "read", 2, 8192}});
  const auto summary = analysis::io_summary(profile, 10);
  EXPECT_FALSE(summary.requests.timed);
  const std::string text = io_text(summary, true);
  EXPECT_EQ(text.find("average"), std::string::npos) << text;
  EXPECT_EQ(text.find("calls on files: none"), std::string::npos) << text;
}

TEST(IoText, NothingAndHostileNames) {
  EXPECT_EQ(io_text(analysis::io_summary({}, 10), true), "");
  const auto profile = profile_of({{"block-bytes", "evil\x1b[2J", "read", 2, 1}});
  const auto summary = analysis::io_summary(profile, 10);
  EXPECT_EQ(io_text(summary, true).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tephra::views
