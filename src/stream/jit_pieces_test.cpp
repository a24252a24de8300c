#include "stream/jit_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tephra::stream {
namespace {

bool holds(const JitPiece& piece, uint64_t address, uint64_t moment) {
  return piece.start <= address && address < piece.end && piece.from <= moment && moment < piece.until;
}

// Every point of a small plane is asked about.
TEST(JitPieceIndex, FindsWhatASearchOfAllFinds) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    JitPieceIndex index;
    std::vector<JitPiece> pieces;
    const auto below = [&](uint64_t limit) { return random() % limit; };
    for (uint64_t i = below(30); i > 0; --i) {
      JitPiece piece{.start = below(30), .from = below(30), .function = static_cast<uint32_t>(i)};
      piece.end = piece.start + below(10);
      piece.until = piece.from + below(10);
      pieces.push_back(piece);
      index.add(piece);
    }
    index.seal();
    for (uint64_t address = 0; address < 42; ++address) {
      for (uint64_t moment = 0; moment < 42; ++moment) {
        const JitPiece* found = index.find(address, moment);
        const bool any = std::any_of(pieces.begin(), pieces.end(),
                                     [&](const JitPiece& piece) { return holds(piece, address, moment); });
        ASSERT_EQ(found != nullptr, any) << round << ": " << address << " at " << moment;
        ASSERT_TRUE(found == nullptr || holds(*found, address, moment));
      }
    }
  }
}

// Each function begins a byte behind the one before it and takes the rest of its addresses: the pieces that were cut
// off all hold the last address. Asking costs the same for all of them.
TEST(JitLayer, NestedFunctionsAreFoundEachAtItsTime) {
  constexpr uint64_t kFunctions = 100'000;
  JitLayer layer;
  for (uint64_t i = 0; i < kFunctions; ++i) {
    layer.load(i, 2 * kFunctions, static_cast<uint32_t>(i), i, i, [](uint32_t, uint32_t) { return false; });
  }
  layer.seal();
  for (uint64_t i = 0; i < kFunctions; ++i) {
    const JitPiece* at_end = layer.find(2 * kFunctions - 1, i);
    ASSERT_TRUE(at_end != nullptr && at_end->function == i) << i;
    const JitPiece* own = layer.find(i, kFunctions);
    ASSERT_TRUE(own != nullptr && own->function == i) << i;
  }
  EXPECT_EQ(layer.find(2 * kFunctions, 5), nullptr);
}

}  // namespace
}  // namespace tephra::stream
