#include "stream/recorded_unwinder.h"

#include <gtest/gtest.h>

#include <array>

namespace tephra::stream {
namespace {

// Walks to the addresses that it was given, whatever the stack.
class FixedUnwinder final : public Unwinder {
 public:
  FixedUnwinder(std::vector<uint64_t> addresses, WalkEnd end) : addresses_(std::move(addresses)), end_(end) {}
  std::unique_ptr<Walker> walker(const AddressSpaces&, const JitCode&, const model::Profile&,
                                 std::string_view) override {
    return std::make_unique<FixedWalker>(*this);
  }

 private:
  class FixedWalker final : public Walker {
   public:
    explicit FixedWalker(const FixedUnwinder& all) : all_(all) {}
    WalkEnd walk(const RawStack&, const ProcessMemory&, std::vector<uint64_t>& addresses) override {
      addresses.insert(addresses.end(), all_.addresses_.begin(), all_.addresses_.end());
      return all_.end_;
    }

   private:
    const FixedUnwinder& all_;
  };
  std::vector<uint64_t> addresses_;
  WalkEnd end_;
};

struct RecordedUnwinderTest : testing::Test {
  std::vector<uint64_t> walk(Unwinder& unwinder, uint64_t position, WalkEnd& end) {
    std::vector<uint64_t> addresses{1, 2};  // the kernel's part
    end = unwinder.walker(spaces_, code_, profile_, "x86_64")->walk({.position = position}, {}, addresses);
    return addresses;
  }
  AddressSpaces spaces_;
  JitCode code_;
  model::Profile profile_;
};

TEST_F(RecordedUnwinderTest, WhatWasKeptIsToldAgain) {
  FixedUnwinder inner({10, 20, 30}, TEPHRA_WALK_OUTERMOST);
  WalkKeeper keeper(inner);
  WalkEnd end;
  EXPECT_EQ(walk(keeper, 64, end), (std::vector<uint64_t>{1, 2, 10, 20, 30}));
  walk(keeper, 128, end);
  const RecordedWalks walks = std::move(keeper).take();
  EXPECT_EQ(walks.chain_count(), 1u);
  RecordedUnwinder recorded(walks, nullptr);
  for (const uint64_t position : {64u, 128u}) {
    EXPECT_EQ(walk(recorded, position, end), (std::vector<uint64_t>{1, 2, 10, 20, 30}));
    EXPECT_EQ(end, TEPHRA_WALK_OUTERMOST);
  }
  EXPECT_EQ(walk(recorded, 72, end), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(end, TEPHRA_WALK_NOT_TOLD);
}

TEST_F(RecordedUnwinderTest, AGuessedCallerIsKeptAsSuch) {
  FixedUnwinder inner({10, 20}, {TEPHRA_WALK_OUTERMOST, true});
  FixedUnwinder sure({10, 20}, TEPHRA_WALK_OUTERMOST);
  RecordedWalks walks;
  WalkEnd end;
  WalkKeeper keeper(inner);
  walk(keeper, 64, end);
  EXPECT_TRUE(end.caller_guessed);
  walks = std::move(keeper).take();
  RecordedUnwinder recorded(walks, &sure);
  walk(recorded, 64, end);
  EXPECT_EQ(end, WalkEnd(TEPHRA_WALK_OUTERMOST, true));
}

TEST_F(RecordedUnwinderTest, WhatWasNotKeptIsWalked) {
  RecordedWalks walks;
  walks.add_walk(8, walks.add_chain(std::array<uint64_t, 1>{5}, TEPHRA_WALK_DEPTH));
  walks.finish();
  FixedUnwinder inner({10}, TEPHRA_WALK_OUTERMOST);
  RecordedUnwinder recorded(walks, &inner);
  WalkEnd end;
  EXPECT_EQ(walk(recorded, 8, end), (std::vector<uint64_t>{1, 2, 5}));
  EXPECT_EQ(end, TEPHRA_WALK_DEPTH);
  EXPECT_EQ(walk(recorded, 16, end), (std::vector<uint64_t>{1, 2, 10}));
}

TEST_F(RecordedUnwinderTest, AFileThatTheRecorderMissedMayBeHere) {
  RecordedWalks walks;
  walks.add_walk(8, walks.add_chain(std::array<uint64_t, 2>{5, 6}, TEPHRA_WALK_NO_FILE));
  walks.finish();
  FixedUnwinder longer({5, 6, 7}, TEPHRA_WALK_OUTERMOST);
  FixedUnwinder shorter({5}, TEPHRA_WALK_NO_FILE);
  WalkEnd end;
  RecordedUnwinder with_longer(walks, &longer);
  EXPECT_EQ(walk(with_longer, 8, end), (std::vector<uint64_t>{1, 2, 5, 6, 7}));
  EXPECT_EQ(end, TEPHRA_WALK_OUTERMOST);
  RecordedUnwinder with_shorter(walks, &shorter);
  EXPECT_EQ(walk(with_shorter, 8, end), (std::vector<uint64_t>{1, 2, 5, 6}));
  EXPECT_EQ(end, TEPHRA_WALK_NO_FILE);
}

}  // namespace
}  // namespace tephra::stream
