#include "base/json_tape.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json_writer.h"

namespace tephra::base {
namespace {

std::vector<Json> elements_of(const Json& array) {
  std::vector<Json> all;
  for (const Json element : array.elements()) all.push_back(element);
  return all;
}

TEST(JsonTape, ReadsEveryKindOfValue) {
  const auto tape =
      JsonTape::parse(R"( {"a": [1, -2.5e3, true, false, null, "x"], "b": {"c": "d"}, "e": {}, "f": []} )");
  ASSERT_TRUE(tape.ok());
  const Json root = tape->root();
  EXPECT_EQ(root.size(), 4u);
  const auto a = elements_of(root["a"]);
  ASSERT_EQ(a.size(), 6u);
  EXPECT_EQ(root["a"].size(), 6u);
  EXPECT_EQ(a[0].integer(), 1);
  EXPECT_EQ(a[1].number(), -2500);
  EXPECT_EQ(a[1].integer(), -2500);
  EXPECT_TRUE(a[2].truth());
  EXPECT_FALSE(a[3].truth(true));
  EXPECT_TRUE(a[4].is_null());
  EXPECT_EQ(a[5].text(), "x");
  EXPECT_EQ(root["b"]["c"].text(), "d");
  EXPECT_TRUE(root["e"].is_object());
  EXPECT_TRUE(root["f"].is_array());
}

TEST(JsonTape, AsksNothingOfWhatIsNotThere) {
  const auto tape = JsonTape::parse("[]");
  ASSERT_TRUE(tape.ok());
  const Json root = tape->root();
  EXPECT_TRUE(root["a"]["b"].is_null());
  EXPECT_EQ(root["a"].text(), "");
  EXPECT_EQ(root["a"].number(7), 7);
  EXPECT_EQ(root.integer(8), 8);
  EXPECT_TRUE(root.truth(true));
  EXPECT_EQ(root["a"].size(), 0u);
  EXPECT_TRUE(elements_of(root["a"]).empty());
  EXPECT_FALSE(root.members().begin() != root.members().end());
}

TEST(JsonTape, KeepsMembersInOrderAndFindsTheFirstOfAName) {
  const auto tape = JsonTape::parse(R"({"a":{"deep":[1,[2]]},"b":[],"\u0061b":3,"a":4})");
  ASSERT_TRUE(tape.ok());
  std::string keys;
  for (const auto& [key, value] : tape->root().members()) keys += key.text() + ";";
  EXPECT_EQ(keys, "a;b;ab;a;");
  EXPECT_TRUE(tape->root()["a"].is_object());
  EXPECT_EQ(tape->root()["ab"].integer(), 3);
  EXPECT_TRUE(tape->root()[""].is_null());
}

TEST(JsonTape, GoesAlongSeveralArrays) {
  const auto tape = JsonTape::parse(R"({"a":[1,[2],3],"b":["x"]})");
  ASSERT_TRUE(tape.ok());
  JsonCursor a(tape->root()["a"]);
  JsonCursor b(tape->root()["b"]);
  JsonCursor none(tape->root()["c"]);
  EXPECT_EQ(a.next().integer(), 1);
  EXPECT_EQ(b.next().text(), "x");
  EXPECT_TRUE(a.next().is_array());
  EXPECT_EQ(a.next().integer(), 3);
  EXPECT_TRUE(a.next().is_null());
  EXPECT_TRUE(b.next().is_null());
  EXPECT_TRUE(none.next().is_null());
}

TEST(JsonTape, UnderstandsEscapes) {
  const auto tape = JsonTape::parse(R"(["\"\\\/\b\f\n\r\t", "\u00e9\u20ac\ud83d\ude00", "\ud83dx", "\ud83d\u0041"])");
  ASSERT_TRUE(tape.ok());
  const auto texts = elements_of(tape->root());
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0].text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(texts[1].text(), "é€😀");
  EXPECT_EQ(texts[2].text(), "\xef\xbf\xbdx");
  EXPECT_EQ(texts[3].text(),
            "\xef\xbf\xbd"
            "A");
}

TEST(JsonTape, KeepsNumbersExactly) {
  const auto tape = JsonTape::parse(
      "[36028797018963967,36028797018963968,-36028797018963968,-36028797018963969,9223372036854775807,"
      "18446744073709551616,0.5,1e400,1e-400,-0,12e2]");
  ASSERT_TRUE(tape.ok());
  const auto numbers = elements_of(tape->root());
  ASSERT_EQ(numbers.size(), 11u);
  EXPECT_EQ(numbers[0].integer(), 36028797018963967);
  EXPECT_EQ(numbers[1].integer(), 36028797018963968);
  EXPECT_EQ(numbers[2].integer(), -36028797018963968);
  EXPECT_EQ(numbers[3].integer(), -36028797018963969);
  EXPECT_EQ(numbers[4].integer(), INT64_MAX);
  EXPECT_EQ(numbers[5].integer(-1), -1);
  EXPECT_EQ(numbers[5].number(), 18446744073709551616.0);
  EXPECT_EQ(numbers[6].number(), 0.5);
  EXPECT_EQ(numbers[6].integer(-1), -1);
  EXPECT_EQ(numbers[7].number(), HUGE_VAL);
  EXPECT_EQ(numbers[8].number(), 0);
  EXPECT_EQ(numbers[9].integer(-1), 0);
  EXPECT_EQ(numbers[10].integer(), 1200);
}

TEST(JsonTape, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",         " ",          "{",    "[",          "]",         "[1,]",        "{\"a\"}", "{\"a\":}",
        "{a:1}",    "{\"a\":1,}", "\"",   "\"\\x\"",    "\"\\u12\"", "\"\\u12g4\"", "tru",     "nul",
        "1 2",      "[] x",       "inf",  "-",          "-x",        "nan",         "'a'",     "[1 2]",
        "\"a\nb\"", "+1",         "[,1]", "{,\"a\":1}", "[}",        "{]",          "[1}",     "\"\\"}) {
    EXPECT_FALSE(JsonTape::parse(text).ok()) << text;
  }
  EXPECT_EQ(JsonTape::parse("[1, tru]").error().why, "it is malformed at byte 4: expected a value");
}

TEST(JsonTape, BoundsDepthAndCount) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_FALSE(JsonTape::parse(deep).ok());
  EXPECT_TRUE(JsonTape::parse(deep, {.depth = 100'000}).ok());
  EXPECT_FALSE(JsonTape::parse("[1,2]", {.values = 2}).ok());
  EXPECT_TRUE(JsonTape::parse("[1,2]", {.values = 3}).ok());
}

TEST(JsonTape, TakesEightBytesAScalar) {
  std::string many = "[0";
  for (int i = 1; i < 100'000; ++i) many += ",0";
  const std::string text = many + "]";
  const auto tape = JsonTape::parse(text);
  ASSERT_TRUE(tape.ok());
  EXPECT_EQ(tape->root().size(), 100'000u);
  EXPECT_LE(tape->bytes(), text.size() * 4 + 16);

  // The worst there is.
  std::string arrays = "[[]";
  for (int i = 0; i < 100'000; ++i) arrays += ",[]";
  arrays += "]";
  const auto worst = JsonTape::parse(arrays);
  ASSERT_TRUE(worst.ok());
  EXPECT_LE(worst->bytes(), arrays.size() * 16 / 3 + 16);
  EXPECT_GT(worst->bytes(), arrays.size() * 5);
}

// Cut anywhere, what is left are whole elements of the outermost array, in order.
TEST(JsonTape, ReadsCutTextUpToTheLastWholeElement) {
  const std::string text = R"({"events":[{"a":1,"b":[1,2]},{"a":2,"b":{"c":"x\u0041\n"}},{"a":3,"b":true}],"z":0})";
  for (size_t length = 0; length < text.size(); ++length) {
    SCOPED_TRACE(text.substr(0, length));
    const std::string cut = text.substr(0, length);
    EXPECT_FALSE(JsonTape::parse(cut).ok());
    const auto tape = JsonTape::parse(cut, {.ending = JsonTape::Ending::kCut});
    ASSERT_EQ(tape.ok(), length > 0);
    if (!tape.ok()) continue;
    EXPECT_TRUE(tape->was_cut());
    const auto events = elements_of(tape->root()["events"]);
    ASSERT_LE(events.size(), 3u);
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i]["a"].integer(), static_cast<int64_t>(i + 1));
      EXPECT_FALSE(events[i]["b"].is_null());
    }
  }
  EXPECT_FALSE(JsonTape::parse("[1,}", {.ending = JsonTape::Ending::kCut}).ok());
  const auto whole = JsonTape::parse(text, {.ending = JsonTape::Ending::kCut});
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole->was_cut());
}

// Writes random values and compares what is read with what was written, value by value.
class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  void write(JsonWriter& json, int depth) {
    switch (random_() % (depth > 5 ? 4 : 6)) {
      case 0:
        json.value(static_cast<int64_t>(random_()) - (int64_t{1} << 31));
        return;
      case 1:
        json.value(static_cast<double>(random_()) / 7);
        return;
      case 2:
        json.value(random_text());
        return;
      case 3:
        json.value(random_() % 2 == 0);
        return;
      case 4:
        json.begin_array();
        for (auto i = random_() % 5; i > 0; --i) write(json, depth + 1);
        json.end_array();
        return;
      default:
        json.begin_object();
        for (auto i = random_() % 5; i > 0; --i) {
          json.key(random_text());
          write(json, depth + 1);
        }
        json.end_object();
    }
  }

 private:
  std::string random_text() {
    std::string text;
    for (auto i = random_() % 6; i > 0; --i) text += "a\"\\\n<é/"[random_() % 5];
    return text;
  }

  std::mt19937 random_;
};

void write_again(JsonWriter& json, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      json.null();
      return;
    case Json::Kind::kFalse:
    case Json::Kind::kTrue:
      json.value(value.truth());
      return;
    case Json::Kind::kInteger:
      json.value(value.integer());
      return;
    case Json::Kind::kNumber:
      json.value(value.number());
      return;
    case Json::Kind::kText:
    case Json::Kind::kEscapedText:
      json.value(value.text());
      return;
    case Json::Kind::kArray:
      json.begin_array();
      for (const Json element : value.elements()) write_again(json, element);
      json.end_array();
      return;
    case Json::Kind::kObject:
      json.begin_object();
      for (const auto& [key, member] : value.members()) {
        json.key(key.text());
        write_again(json, member);
      }
      json.end_object();
  }
}

TEST(JsonTape, ReadsBackWhatTheWriterWrites) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    for (const auto style : {JsonWriter::Style::kCompact, JsonWriter::Style::kPretty}) {
      std::string text;
      JsonWriter writer(text, style);
      RandomJson(seed).write(writer, 0);
      const auto tape = JsonTape::parse(text);
      ASSERT_TRUE(tape.ok()) << text;
      std::string again;
      JsonWriter rewriter(again, style);
      write_again(rewriter, tape->root());
      ASSERT_EQ(again, text);
    }
  }
}

}  // namespace
}  // namespace tephra::base
