#include "formats/script_blocks.h"

#include <gtest/gtest.h>

#include <string>

namespace tephra::formats {
namespace {

// The pieces one behind the other, each of whole blocks.
std::string joined(std::string_view text, size_t piece_size) {
  std::string joined;
  const ScriptPieces pieces(text, piece_size);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    if (!piece.empty() && !joined.empty()) {
      const auto begin = static_cast<size_t>(piece.data() - text.data());
      EXPECT_TRUE(text.substr(begin).starts_with("\n\n")) << piece_size;
    }
    joined += piece;
  }
  return joined;
}

TEST(ScriptPieces, HoldAllOfTheTextOnce) {
  const std::string text =
      "a\n1\n2\n\nb\n\n\nc\n" + std::string(70, 'x') + "\n\n\n\nd\n1\n\n" + std::string(33, '\n') + "e\nf";
  for (size_t size = 1; size < text.size() + 2; ++size) EXPECT_EQ(joined(text, size), text) << size;
}

// Not each piece looks for an end that is far away.
TEST(ScriptPieces, TextWithoutEmptyLinesIsOnePiece) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += "a\n";
  const ScriptPieces pieces(text, 16);
  size_t pieces_with_text = 0;
  for (size_t i = 0; i < pieces.size(); ++i) pieces_with_text += !pieces[i].empty();
  EXPECT_EQ(pieces_with_text, 1u);
  EXPECT_EQ(pieces[0].size(), text.size());
}

}  // namespace
}  // namespace tephra::formats
