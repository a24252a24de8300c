#include "kernel/event_syntax.h"

#include <gtest/gtest.h>

namespace tephra::kernel {
namespace {

TEST(EventSyntax, SplitsEventsGroupsAndTerms) {
  const auto groups = split_events(" a:u , g{ b/x=1, y ,z='1,/2'/pp , mem:0x10/8:rw } : S,c");
  ASSERT_TRUE(groups.ok()) << groups.error().message();
  ASSERT_EQ(groups->size(), 3u);
  const EventText& a = (*groups)[0].events[0];
  EXPECT_EQ(a.written, "a:u");
  EXPECT_EQ(a.name, "a:u");
  EXPECT_FALSE(a.has_terms);
  const EventGroupText& group = (*groups)[1];
  EXPECT_TRUE(group.braces);
  EXPECT_EQ(group.modifiers, "S");
  ASSERT_EQ(group.events.size(), 2u);
  const EventText& b = group.events[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.modifiers, "pp");
  ASSERT_EQ(b.terms.size(), 3u);
  EXPECT_EQ(b.terms[0].value, "1");
  EXPECT_FALSE(b.terms[1].has_value);
  EXPECT_EQ(b.terms[2].value, "1,/2");
  EXPECT_EQ(group.events[1].name, "mem:0x10/8:rw");
  EXPECT_EQ((*groups)[2].events[0].name, "c");
}

TEST(EventSyntax, SaysWhereItIsWrong) {
  const auto wrong = split_events("a,{b");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message().find("at character 5"), std::string::npos) << wrong.error().message();
}

TEST(EventSyntax, Numbers) {
  EXPECT_EQ(parse_number("10"), 10u);
  EXPECT_EQ(parse_number("0x10"), 16u);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "0x", "-1", "+1", " 1", "1 ", "1k", "18446744073709551616", "ff"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

}  // namespace
}  // namespace tephra::kernel
