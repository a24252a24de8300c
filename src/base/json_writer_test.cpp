#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tephra::base {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(JsonWriter, WritesNestedValuesWithCommas) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("name", "a").member("count", uint64_t{18446744073709551615u}).member("below", -3);
  json.key("list").begin_array().value(1).value(2.5).value(true).null().begin_object().end_object().end_array();
  json.key("none").begin_array().end_array().end_object();
  EXPECT_EQ(text, R"({"name":"a","count":18446744073709551615,"below":-3,"list":[1,2.5,true,null,{}],"none":[]})");
}

TEST(JsonWriter, PrettyPutsAMemberOnALine) {
  std::string text;
  JsonWriter json(text, JsonWriter::Style::kPretty);
  json.begin_object().member("a", 1).key("b").begin_array().value("x").end_array().key("c").begin_object();
  json.end_object().end_object();
  EXPECT_EQ(text, "{\n  \"a\": 1,\n  \"b\": [\n    \"x\"\n  ],\n  \"c\": {}\n}");
}

TEST(JsonWriter, BoolIsNotANumberAndLiteralsAreNotBool) {
  std::string text;
  JsonWriter(text).begin_array().value(false).value("no").value(std::string("s")).value(std::string_view("v"));
  EXPECT_EQ(text, R"([false,"no","s","v")");
}

TEST(JsonWriter, NumbersJsonCannotSayAreNull) {
  std::string text;
  JsonWriter json(text);
  json.begin_array().value(std::numeric_limits<double>::infinity()).value(std::nan("")).value(0.1).end_array();
  EXPECT_EQ(text, "[null,null,0.1]");
}

TEST(JsonString, EscapesWhatJsonXmlAndScriptsMind) {
  EXPECT_EQ(quoted("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\\u007f\"");
  EXPECT_EQ(quoted("</script>]]>&"), "\"\\u003c/script\\u003e]]\\u003e\\u0026\"");
  EXPECT_EQ(quoted("\xE2\x80\xA8\xE2\x80\xA9"), "\"\\u2028\\u2029\"");
}

TEST(JsonString, MalformedUtf8IsReplaced) {
  EXPECT_EQ(quoted("\xff"), "\"\\ufffd\"");
  EXPECT_EQ(quoted("a\xC3"), "\"a\\ufffd\"");
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // a surrogate
  EXPECT_EQ(quoted("\xC0\x80"), "\"\\ufffd\\ufffd\"");             // overlong
  EXPECT_EQ(quoted("gr\xC3\xBC\xC3\x9F \xF0\x9F\x94\xA5"), "\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x94\xA5\"");
}

}  // namespace
}  // namespace tephra::base
