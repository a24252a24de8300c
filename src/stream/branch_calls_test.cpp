#include "stream/branch_calls.h"

#include <gtest/gtest.h>

namespace tephra::stream {
namespace {

using Addresses = std::vector<uint64_t>;

// A branch stack of call sites; each goes to where the next inner one is, 0x100 before it.
class Calls {
 public:
  explicit Calls(const Addresses& sites, int64_t hardware_index = -1, int32_t tid = 1) {
    for (const uint64_t site : sites) words_.insert(words_.end(), {site, site & ~uint64_t{0xff}, 0});
    sample_.branches.words = base::Words(reinterpret_cast<const std::byte*>(words_.data()), words_.size());
    sample_.branches.hardware_index = hardware_index;
    sample_.origin.tid = tid;
  }
  Calls(const Calls&) = delete;
  const Sample& sample() const { return sample_; }

 private:
  std::vector<uint64_t> words_;
  Sample sample_;
};

// n call sites from `first` on, the newest first.
Addresses sites(uint64_t first, size_t n) {
  Addresses all;
  for (size_t i = 0; i < n; ++i) all.push_back(first + 0x1000 * i);
  return all;
}

struct Result {
  uint32_t calls;
  Addresses addresses;
};
Result append(BranchCalls& calls, const Calls& branches, const Addresses& chain) {
  Result result;
  result.calls = calls.append(branches.sample(), chain, result.addresses);
  return result;
}

TEST(BranchCalls, LeafIsWhereTheSampleWasAndCallersAreCallSites) {
  BranchCalls calls(false);
  const auto result = append(calls, Calls({0x5010, 0x6010}), {0x4444});
  EXPECT_EQ(result.calls, 2u);
  EXPECT_EQ(result.addresses, (Addresses{0x4444, 0x5010, 0x6010}));
  // Without a chain, where the innermost function begins is all that is known.
  EXPECT_EQ(append(calls, Calls({0x5010}), {}).addresses, (Addresses{0x5000, 0x5010}));
}

TEST(BranchCalls, WithoutBranchesTheChainIsAllThereIs) {
  BranchCalls calls(false);
  const auto result = append(calls, Calls({}), {0x4444, 0x5015});
  EXPECT_EQ(result.calls, 0u);
  EXPECT_EQ(result.addresses, (Addresses{0x4444, 0x5015}));
  // A record ends at its first empty entry.
  EXPECT_EQ(append(calls, Calls({0x5010, 0, 0x7010}), {0x4444}).addresses, (Addresses{0x4444, 0x5010}));
}

TEST(BranchCalls, FramePointersGoOnWhereTheRecordEnds) {
  BranchCalls calls(false);
  EXPECT_EQ(append(calls, Calls({0x5010, 0x6010}), {0x4444, 0x5015, 0x6015, 0x7015}).addresses,
            (Addresses{0x4444, 0x5010, 0x6010, 0x7015}));
  // Also when frame pointers skipped one.
  EXPECT_EQ(append(calls, Calls({0x5010, 0x6010}), {0x4444, 0x6012, 0x7015}).addresses,
            (Addresses{0x4444, 0x5010, 0x6010, 0x7015}));
  // Where the last call is not among them, they tell nothing.
  EXPECT_EQ(append(calls, Calls({0x5010, 0x6010}), {0x4444, 0x8015, 0x7015}).addresses,
            (Addresses{0x4444, 0x5010, 0x6010}));
  // Nor where it is there twice and neither place is the expected one.
  EXPECT_EQ(append(calls, Calls({0x5010, 0x6010}), {0x4444, 0x6015, 0x9999, 0x6015, 0x7015}).addresses,
            (Addresses{0x4444, 0x5010, 0x6010}));
}

TEST(BranchCalls, StitchesWhatWasOverwritten) {
  BranchCalls calls(true);
  // 8 registers, all in use; the newest is in register 7, then in register 3: four calls deeper.
  append(calls, Calls(sites(0x10010, 8), 7), {0x4444});
  Addresses deeper = {0x1010, 0x2010, 0x3010, 0x4010, 0x10010, 0x11010, 0x12010, 0x13010};
  auto result = append(calls, Calls(deeper, 3), {0x4444});
  Addresses expected = {0x4444};
  expected.insert(expected.end(), deeper.begin(), deeper.end());
  for (const uint64_t site : {0x14010, 0x15010, 0x16010, 0x17010}) expected.push_back(site);
  EXPECT_EQ(result.addresses, expected);
  EXPECT_EQ(result.calls, 12u);
  // And what was stitched goes on to the next one.
  result = append(calls, Calls(deeper, 3), {0x4444});
  EXPECT_EQ(result.calls, 12u);
}

TEST(BranchCalls, DoesNotStitchWhatDiffers) {
  const Addresses first = sites(0x10010, 8);
  Addresses deeper = {0x1010, 0x2010, 0x3010, 0x4010, 0x10010, 0x11010, 0x12010, 0x13010};
  const auto calls_after = [&](const Calls& before, const Calls& now, bool stitch = true) {
    BranchCalls calls(stitch);
    append(calls, before, {0x4444});
    return append(calls, now, {0x4444}).calls;
  };
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 3)), 12u);
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 3), false), 8u);
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 3, 2)), 8u);  // another thread
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 2)), 8u);     // other registers
  EXPECT_EQ(calls_after(Calls(first), Calls(deeper)), 8u);           // registers not told
  EXPECT_EQ(calls_after(Calls(first, 1000), Calls(deeper, -77)), 8u);
  deeper[6] = 0x99010;
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 3)), 8u);
  deeper.pop_back();
  EXPECT_EQ(calls_after(Calls(first, 7), Calls(deeper, 3)), 7u);  // not all registers in use
}

}  // namespace
}  // namespace tephra::stream
