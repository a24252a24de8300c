#include "model/merge.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::model {
namespace {

// A run of a program that is mapped at `base`, with one sample in it.
Profile run_at(uint64_t base, const char* build_id, uint64_t count = 1, uint64_t size = 0x1000) {
  ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string("/bin/prog"),
                                          .build_id = *BuildId::from_hex(build_id),
                                          .kind = CodeKind::kFile,
                                          .base = base,
                                          .size = size});
  const auto frame = assembler.frame({.mapping = mapping, .address = 0x123});
  assembler.sample({.stack = assembler.stack({}, frame),
                    .event = assembler.event({assembler.string("cpu"), assembler.string("ns"), {}, false}),
                    .thread = assembler.thread({}),
                    .count = count,
                    .value = 10 * count});
  return std::move(assembler).finish();
}

TEST(MergeTest, AFileAtTwoAddressesIsOneFile) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x66660000, "aa11", 2)};
  const Profile both = merge(runs);
  EXPECT_EQ(both.mappings.size(), 2u);
  ASSERT_EQ(both.samples.size(), 1u);
  EXPECT_EQ(totals(both), (Totals{3, 30}));
  EXPECT_EQ(both.mappings[MappingId{1}].base, 0x55550000u);
}

TEST(MergeTest, BuildsStayApart) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x55550000, "bb22")};
  EXPECT_EQ(merge(runs).mappings.size(), 3u);
  EXPECT_EQ(merge(runs).samples.size(), 2u);
}

TEST(MergeTest, PartsOfAFileStayApart) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x66660000, "aa11", 1, 0x5000)};
  EXPECT_EQ(merge(runs).mappings.size(), 3u);
}

TEST(MergeTest, OrderDoesNotChangeSums) {
  const Profile runs[] = {run_at(0x1000, "aa11", 1), run_at(0x2000, "aa11", 2), run_at(0x3000, "cc33", 4)};
  const Profile reversed[] = {run_at(0x3000, "cc33", 4), run_at(0x2000, "aa11", 2), run_at(0x1000, "aa11", 1)};
  EXPECT_EQ(totals(merge(runs)), (Totals{7, 70}));
  EXPECT_EQ(totals(merge(reversed)), (Totals{7, 70}));
  EXPECT_EQ(merge(runs).samples.size(), merge(reversed).samples.size());
}

}  // namespace
}  // namespace tephra::model
