#include "collect/ring_scan.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>

namespace tephra::collect {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string record(uint32_t type, uint16_t misc, const std::string& body) {
  std::string out;
  put(out, perf_event_header{type, misc, static_cast<uint16_t>(8 + body.size())});
  return out + body;
}

std::string sample(uint64_t time) {
  std::string body(24, 'x');
  put(body, time);
  return record(PERF_RECORD_SAMPLE, 2, body);
}

std::string mapping(const std::string& path) {
  std::string body(32, 'x');
  put(body, uint32_t{20});
  body += std::string(20, 'i');
  put(body, uint64_t{5});
  body += path;
  body.append(8 - path.size() % 8, '\0');
  return record(PERF_RECORD_MMAP2, 1 << 14 | 2, body);
}

// The bytes cut in two at every multiple of eight, as a ring wraps.
void expect_counts_at_every_wrap(const std::string& bytes, const RecordCounts& expected) {
  for (size_t cut = 0; cut <= bytes.size(); cut += 8) {
    const auto all = base::as_bytes(bytes);
    RecordCounts counts;
    BuildIds files;
    scan_records({{all.first(cut), all.subspan(cut)}, bytes.size()}, counts, files);
    EXPECT_EQ(counts.samples, expected.samples) << cut;
    EXPECT_EQ(counts.lost, expected.lost) << cut;
    EXPECT_EQ(counts.throttled, expected.throttled) << cut;
    EXPECT_EQ(counts.first_time, expected.first_time) << cut;
    EXPECT_EQ(counts.last_time, expected.last_time) << cut;
    ASSERT_EQ(files.size(), 1u) << cut;
    EXPECT_EQ(files.begin()->first, "/bin/program") << cut;
    EXPECT_EQ(files.begin()->second.bytes().size(), 20u) << cut;
  }
}

TEST(RingScan, CountsAcrossTheWrap) {
  std::string lost;
  put(lost, uint64_t{1});
  put(lost, uint64_t{17});
  const std::string bytes = sample(100) + mapping("/bin/program") + record(PERF_RECORD_LOST, 0, lost) + sample(200) +
                            record(PERF_RECORD_THROTTLE, 0, std::string(24, 0)) + sample(300);
  expect_counts_at_every_wrap(bytes, {3, 17, 1, 100, 300});
}

TEST(RingScan, StopsAtARecordThatCannotBe) {
  const std::string bytes = sample(100) + std::string(16, '\0');
  RecordCounts counts;
  BuildIds files;
  scan_records({{base::as_bytes(bytes), {}}, bytes.size()}, counts, files);
  EXPECT_EQ(counts.samples, 1u);
}

}  // namespace
}  // namespace tephra::collect
