#include "base/json_reader.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"

namespace tephra::base {
namespace {

TEST(JsonReader, ReadsEveryKindOfValue) {
  const auto json = parse_json(R"( {"a": [1, -2.5e3, true, false, null, "x"], "b": {"c": "d"}, "e": {}, "f": []} )");
  ASSERT_TRUE(json.ok());
  const auto& a = (*json)["a"].elements();
  ASSERT_EQ(a.size(), 6u);
  EXPECT_EQ(a[0].number(), 1);
  EXPECT_EQ(a[1].number(), -2500);
  EXPECT_TRUE(a[2].truth());
  EXPECT_FALSE(a[3].truth(true));
  EXPECT_TRUE(a[4].is_null());
  EXPECT_EQ(a[5].text(), "x");
  EXPECT_EQ((*json)["b"]["c"].text(), "d");
  EXPECT_FALSE((*json)["e"].is_null());
}

TEST(JsonReader, AsksNothingOfWhatIsNotThere) {
  const auto json = parse_json("[]");
  ASSERT_TRUE(json.ok());
  EXPECT_TRUE((*json)["a"]["b"].is_null());
  EXPECT_EQ((*json)["a"].text(), "");
  EXPECT_EQ((*json)["a"].number(7), 7);
  EXPECT_TRUE((*json)["a"].elements().empty());
}

TEST(JsonReader, UnderstandsEscapes) {
  const auto json = parse_json(R"(["\"\\\/\b\f\n\r\t", "\u00e9\u20ac\ud83d\ude00", "\ud83dx", "\ud83d\u0041"])");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->elements()[0].text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(json->elements()[1].text(), "é€😀");
  EXPECT_EQ(json->elements()[2].text(), "\xef\xbf\xbdx");
  EXPECT_EQ(json->elements()[3].text(),
            "\xef\xbf\xbd"
            "A");
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",           " ",  "{",       "[",         "]",           "[1,]",  "{\"a\"}",  "{\"a\":}", "{a:1}",
        "{\"a\":1,}", "\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "tru",   "nul",      "1 2",      "[] x",
        "inf",        "-",  "-x",      "nan",       "'a'",         "[1 2]", "\"a\nb\"", "+1"}) {
    EXPECT_FALSE(parse_json(text).ok()) << text;
  }
}

TEST(JsonReader, BoundsDepthAndCount) {
  EXPECT_TRUE(parse_json(std::string(60, '[') + std::string(60, ']')).ok());
  EXPECT_FALSE(parse_json(std::string(100'000, '[')).ok());
  EXPECT_FALSE(parse_json(std::string(80, '[') + std::string(80, ']')).ok());
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_FALSE(parse_json(many + "]").ok());
}

TEST(JsonReader, ReadsWhatTheWriterWrites) {
  const std::string odd = "a<b>&\"\\\x01\n é";
  std::string text;
  JsonWriter(text, JsonWriter::Style::kPretty).begin_object().member("k", odd).member("n", 0.1).end_object();
  const auto json = parse_json(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["k"].text(), odd);
  EXPECT_EQ((*json)["n"].number(), 0.1);
}

}  // namespace
}  // namespace tephra::base
