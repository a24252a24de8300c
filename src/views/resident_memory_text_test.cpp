#include "views/resident_memory_text.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

struct Fault {
  std::string_view name;
  bool major = false;
  uint64_t count = 1;
  uint64_t bytes = 4096;
};

model::Profile profile_of(const std::vector<Fault>& faults, bool size_unknown = false) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("resident-memory"), assembler.string("bytes")});
  const auto thread = assembler.thread({1, 1, assembler.string("prog")});
  for (const Fault& fault : faults) {
    std::vector<model::Label> labels{
        {assembler.string("class"), assembler.string(fault.name), 0, {}},
        {assembler.string("fault"), assembler.string(fault.major ? "major" : "minor"), 0, {}}};
    if (size_unknown) labels.push_back({assembler.string("page"), assembler.string("size unknown"), 0, {}});
    model::ProfileAssembler::Sample sample{.stack = {}, .event = event, .thread = thread};
    sample.count = fault.count;
    sample.value = fault.bytes;
    sample.labels = fault.name.empty() ? model::LabelSetId{} : assembler.labels(std::move(labels));
    assembler.sample(sample);
  }
  return std::move(assembler).finish();
}

TEST(ResidentMemory, SumsByClassWithTheMostBytesFirst) {
  const auto memory = analysis::resident_memory(profile_of(
      {{"heap", false, 2, 8192}, {"file", true, 3, 12288}, {"heap", false, 4, 16384}, {"zero-page", false, 9, 0}}));
  ASSERT_EQ(memory.rows.size(), 3u);
  EXPECT_EQ(memory.rows[0].name, "heap");
  EXPECT_EQ(memory.rows[0].bytes, 24576u);
  EXPECT_EQ(memory.rows[0].faults, 6u);
  EXPECT_EQ(memory.rows[1].major, 3u);
  EXPECT_EQ(memory.rows[2].name, "zero-page");
  EXPECT_EQ(memory.all.bytes, 36864u);
  EXPECT_EQ(memory.all.faults, 18u);
}

TEST(ResidentMemory, ProfilesOfOtherThingsHaveNone) {
  EXPECT_TRUE(analysis::resident_memory({}).rows.empty());
  EXPECT_TRUE(analysis::resident_memory(profile_of({{""}})).rows.empty());
  EXPECT_EQ(resident_memory_text({}), "");
}

TEST(ResidentMemoryText, SaysWhereAndWhatItCannotSee) {
  const std::string text = resident_memory_text(analysis::resident_memory(
      profile_of({{"heap", false, 3072, 12 << 20}, {"file", true, 1, 4096}, {"evil\x1b[2J", false, 1, 1}})));
  EXPECT_NE(text.find("where memory became resident: 12.0 MiB in 3,074 faults\n"), std::string::npos) << text;
  EXPECT_NE(text.find("12.0 MiB  in 3,072 faults  malloc's, by brk\n"), std::string::npos) << text;
  EXPECT_NE(text.find("4.00 KiB  in     1 fault, 1 of them major"), std::string::npos) << text;
  EXPECT_NE(text.find("tephra heap"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ResidentMemoryText, TellsOfPagesWhoseSizeIsNotKnown) {
  const auto memory = analysis::resident_memory(profile_of({{"heap", false, 2, 0}}, true));
  EXPECT_EQ(memory.size_unknown, 2u);
  EXPECT_NE(resident_memory_text(memory).find("2 faults had no page any more"), std::string::npos);
}

}  // namespace
}  // namespace tephra::views
