#include "collect/snapshot.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "stream/recording_for_tests.h"

namespace tephra::collect {
namespace {

// A ring's bytes cut in two, as they wrap.
kernel::Pending wrapped(const std::string& bytes, size_t cut) {
  const auto all = base::as_bytes(bytes);
  return {{all.first(cut), all.subspan(cut)}, 0};
}

std::string sample(uint64_t time, size_t depth) {
  return stream::TestRecording().sample_record(
      {.time = time, .ip = time, .callchain = std::vector<uint64_t>(depth, time)});
}

std::string lost(uint64_t time) { return stream::TestRecording().lost(time, 3).data(); }

std::string joined(std::span<const kernel::Pending> rings, uint64_t not_before = 0) {
  std::string out;
  EXPECT_TRUE(write_oldest_first(rings, not_before, [&out](base::Bytes block) -> base::Status {
                out += base::as_text(block);
                return {};
              }).ok());
  return out;
}

TEST(Snapshot, RecordsOfAllRingsComeInOrderOfTime) {
  std::mt19937 random(5);
  std::vector<std::string> rings(3);
  std::string expected;
  for (uint64_t time = 1; time < 20'000; ++time) {
    const std::string record = random() % 10 == 0 ? lost(time) : sample(time, random() % 20);
    std::string& ring = rings[random() % 3];
    ring.insert(0, record);
    expected += record;
    if (expected.size() > 1'500'000) break;
  }
  for (const size_t cut : {0, 8, 1000, 5000}) {
    std::vector<kernel::Pending> pending;
    for (const std::string& ring : rings) pending.push_back(wrapped(ring, cut));
    EXPECT_EQ(joined(pending), expected);
    EXPECT_EQ(oldest_sample_time(pending[0]).value_or(0) < 10, true);
  }
}

TEST(Snapshot, NoRingsAndEmptyRingsGiveNothing) {
  EXPECT_EQ(joined({}), "");
  const std::vector<kernel::Pending> empty(2);
  EXPECT_EQ(joined(empty), "");
  EXPECT_FALSE(oldest_sample_time(empty[0]));
}

TEST(Snapshot, OlderRecordsAreLeftOut) {
  const std::string first = sample(5, 1) + lost(3) + sample(1, 1);
  const std::string second = sample(4, 2) + sample(2, 2);
  const std::vector<kernel::Pending> rings{wrapped(first, 8), wrapped(second, 8)};
  EXPECT_EQ(joined(rings, 3), lost(3) + sample(4, 2) + sample(5, 1));
  EXPECT_EQ(joined(rings, 6), "");
}

TEST(Snapshot, AWriteThatFailsEndsIt) {
  const std::string bytes = sample(2, 3) + sample(1, 3);
  const std::vector<kernel::Pending> rings{wrapped(bytes, 8)};
  EXPECT_FALSE(write_oldest_first(rings, 0, [](base::Bytes) -> base::Status { return base::failed("full"); }).ok());
}

TEST(Snapshot, BytesThatAreBeingWrittenDoNoHarm) {
  std::mt19937 random(6);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes(4096, '\0');
    for (char& byte : bytes) byte = random() % 3 == 0 ? static_cast<char>(random()) : '\0';
    bytes.insert(0, sample(1000, 2));
    EXPECT_LE(oldest_sample_time(wrapped(bytes, 64)).value_or(UINT64_MAX), 1000u);
  }
}

}  // namespace
}  // namespace tephra::collect
