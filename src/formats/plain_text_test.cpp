#include "formats/plain_text.h"

#include <gtest/gtest.h>

namespace tephra::formats {
namespace {

std::string plain(std::string_view text) { return std::string(PlainText(base::as_bytes(text)).text()); }

TEST(PlainText, LeavesPlainTextWhereItIs) {
  const std::string_view text = "a;b 1\nc 2\n";
  const PlainText same(base::as_bytes(text));
  EXPECT_EQ(same.text().data(), text.data());
  EXPECT_EQ(same.text(), text);
}

TEST(PlainText, TakesMarksAndReturnsAway) {
  EXPECT_EQ(plain("\xef\xbb\xbf"
                  "a 1\n"),
            "a 1\n");
  EXPECT_EQ(plain("a 1\r\nb 2\r\n"), "a 1\nb 2\n");
  EXPECT_EQ(plain("a 1\r\nb 2"), "a 1\nb 2");
  // Where the first line ends in \n alone, a \r belongs to its line.
  EXPECT_EQ(plain("a 1\nb 2\r\n"), "a 1\nb 2\r\n");
  EXPECT_EQ(plain(""), "");
}

TEST(PlainText, ReadsUtf16OfBothOrders) {
  EXPECT_EQ(plain(std::string_view("\xff\xfe"
                                   "a\0;\0\xe4\0\r\0\n\0b\0",
                                   14)),
            "a;\xc3\xa4\nb");
  EXPECT_EQ(plain(std::string_view("\xfe\xff\0a\x20\xac", 6)), "a\xe2\x82\xac");
  // A pair of surrogates is one character, half a pair and half a unit are replaced.
  EXPECT_EQ(plain(std::string_view("\xff\xfe\x3d\xd8\x00\xde", 6)), "\xf0\x9f\x98\x80");
  EXPECT_EQ(plain(std::string_view("\xff\xfe\x3d\xd8"
                                   "a\0"
                                   "b",
                                   7)),
            "\xef\xbf\xbd"
            "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace tephra::formats
