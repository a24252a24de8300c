#include "collect/sample_writer.h"

#include <gtest/gtest.h>

#include <vector>

#include "collect/event_attr.h"
#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

std::vector<uint64_t> words_of(const std::string& records) {
  std::vector<uint64_t> words(records.size() / 8);
  for (size_t at = 0; at < words.size(); ++at) {
    words[at] = base::load<uint64_t>(base::as_bytes(records).data() + at * 8);
  }
  return words;
}

perf_event_attr attr_of(CallGraph call_graph) {
  kernel::EventSpec event = kernel::software_event("bpf-output");
  event.collected = true;
  SampleSettings settings;
  settings.call_graph = call_graph;
  return sampling_attr(event, settings, {});
}

// As perf_event_open(2) has it: identifier, ip, ids, time, CPU, period, chain, raw.
TEST(SampleWriter, WritesFieldsInTheOrderOfTheKernel) {
  const SampleWriter writer(attr_of(CallGraph::kFramePointers), 77);
  const std::vector<uint64_t> chain{static_cast<uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000000,
                                    static_cast<uint64_t>(PERF_CONTEXT_USER), 0x401000};
  const uint64_t raw = 0x1122334455667788;
  MadeSample sample{.pid = 5, .tid = 6, .time = 100, .cpu = 3, .period = 42, .walk_end = 0x10, .chain = chain};
  sample.raw = {reinterpret_cast<const std::byte*>(&raw), sizeof raw};
  std::string records;
  ASSERT_TRUE(writer.write(sample, records));
  const auto words = words_of(records);
  ASSERT_EQ(words.size(), 14u);
  EXPECT_EQ(words[0], PERF_RECORD_SAMPLE | uint64_t{PERF_RECORD_MISC_KERNEL | 0x10} << 32 | records.size() << 48);
  EXPECT_EQ(words[1], 77u);
  EXPECT_EQ(words[2], 0xffffffff81000000);
  EXPECT_EQ(words[3], 5 | uint64_t{6} << 32);
  EXPECT_EQ(words[4], 100u);
  EXPECT_EQ(words[5], 3u);
  EXPECT_EQ(words[6], 42u);
  EXPECT_EQ(words[7], 4u);
  EXPECT_EQ(std::vector<uint64_t>(words.begin() + 8, words.begin() + 12), chain);
  // The length with its own four bytes is a multiple of eight.
  EXPECT_EQ(words[12], 12 | (raw & 0xffffffff) << 32);
  EXPECT_EQ(words[13], raw >> 32);
}

TEST(SampleWriter, SaysThatThereIsNoCopy) {
  const SampleWriter writer(attr_of(CallGraph::kBpf), 77);
  std::string records;
  ASSERT_TRUE(writer.write({}, records));
  const auto words = words_of(records);
  ASSERT_EQ(words.size(), 11u);
  EXPECT_EQ(words[7], 0u);  // no chain
  EXPECT_EQ(words[8], 4u);  // no raw data
  EXPECT_EQ(words[9], 0u);
  EXPECT_EQ(words[10], 0u);
}

TEST(SampleWriter, RefusesWhatARecordCannotHold) {
  const SampleWriter writer(attr_of(CallGraph::kFramePointers), 77);
  const std::vector<uint64_t> chain(9000, 0x401000);
  MadeSample sample;
  sample.chain = chain;
  std::string records = "before";
  EXPECT_FALSE(writer.write(sample, records));
  EXPECT_EQ(records, "before");
}

}  // namespace
}  // namespace tephra::collect
