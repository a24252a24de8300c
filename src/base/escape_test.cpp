#include "base/escape.h"

#include <gtest/gtest.h>

namespace tephra::base {
namespace {

TEST(XmlEscape, MarkupIsText) {
  EXPECT_EQ(xml_escape("<script>alert('1' & \"2\")</script>"),
            "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  EXPECT_EQ(xml_escape("]]>"), "]]&gt;");
}

TEST(XmlEscape, ControlCharactersAreVisible) {
  EXPECT_EQ(xml_escape(std::string_view("\0\n\x1b\x7f", 4)), "\u2400\u240A\u241B\u2421");
  EXPECT_EQ(xml_escape("\xC2\x85"), "\uFFFD");      // a C1 control
  EXPECT_EQ(xml_escape("\xEF\xBF\xBF"), "\uFFFD");  // U+FFFF
}

TEST(XmlEscape, MalformedBytesAreReplacedOneByOne) {
  EXPECT_EQ(xml_escape("a\xff\xfe"), "a\uFFFD\uFFFD");
  EXPECT_EQ(xml_escape("\xF0\x9F\x94"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(xml_escape("\u00FC\U0001F525"), "\u00FC\U0001F525");
}

TEST(Utf8, LengthOfWellFormedCharactersOnly) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\u00FC!"), 2u);
  EXPECT_EQ(utf8_length("\u2026"), 3u);
  EXPECT_EQ(utf8_length("\U0010FFFF"), 4u);
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(utf8_length("\xE0\x80\x80"), 0u);      // overlong
  EXPECT_EQ(utf8_length("\x80"), 0u);
}

TEST(Utf8, ToUtf8ReplacesMalformedBytes) { EXPECT_EQ(to_utf8("a\x80z"), "a\uFFFDz"); }

}  // namespace
}  // namespace tephra::base
