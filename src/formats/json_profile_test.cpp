#include "formats/json_profile.h"

#include <gtest/gtest.h>

#include "formats/format.h"

namespace tephra::formats {
namespace {

constexpr JsonProfile kAll[] = {JsonProfile::kSpeedscopeJson, JsonProfile::kFirefoxJson, JsonProfile::kCpuProfileJson,
                                JsonProfile::kTraceJson};

JsonProfile kind_of(std::string_view text) {
  JsonProfile found = JsonProfile::kNone;
  for (const JsonProfile kind : kAll) {
    if (!json_refusal(base::as_bytes(text), kind).empty()) continue;
    EXPECT_EQ(found, JsonProfile::kNone) << "two formats take " << text;
    found = kind;
  }
  return found;
}

TEST(JsonProfile, IsToldByItsMembersInAnyOrder) {
  EXPECT_EQ(kind_of(R"({"$schema":"https://www.speedscope.app/file-format-schema.json"})"),
            JsonProfile::kSpeedscopeJson);
  EXPECT_EQ(kind_of(R"( {"version":"0.0.1","profiles":[{"$schema":"x"}], "shared" : {}})"),
            JsonProfile::kSpeedscopeJson);
  EXPECT_EQ(kind_of(R"({"threads":[{"a":"]}\""}],"meta":{}})"), JsonProfile::kFirefoxJson);
  EXPECT_EQ(kind_of(R"({"label":"x","profile":{"libs":[],"threads":[]}})"), JsonProfile::kFirefoxJson);
  EXPECT_EQ(kind_of("---\nsource: x\n---\n{\"meta\":{},\"threads\":[]}"), JsonProfile::kFirefoxJson);
  EXPECT_EQ(kind_of(R"({"nodes":[],"startTime":1})"), JsonProfile::kCpuProfileJson);
  EXPECT_EQ(kind_of(R"({"samples":[],"timeDeltas":[],"nodes":[]})"), JsonProfile::kCpuProfileJson);
  EXPECT_EQ(kind_of(R"({"displayTimeUnit":"ns","traceEvents":[]})"), JsonProfile::kTraceJson);
  EXPECT_EQ(kind_of("\xef\xbb\xbf[ {\"name\":[{}],\"ph\":\"X\"}]"), JsonProfile::kTraceJson);
}

TEST(JsonProfile, SaysWhyItIsNone) {
  const auto why = [](std::string_view text) { return json_refusal(base::as_bytes(text), JsonProfile::kFirefoxJson); };
  EXPECT_EQ(why("main;f 3\n"), "it is not JSON");
  EXPECT_EQ(why(""), "it is not JSON");
  EXPECT_EQ(why("{}"), "it is an object without members without `meta` and `threads`");
  EXPECT_EQ(why(R"({"a":1,"b":{"meta":1,"threads":2}})"), "it is an object of `a`, `b` without `meta` and `threads`");
  EXPECT_EQ(why(R"([1,2])"), "it is an array of something else than objects without `meta` and `threads`");
  EXPECT_EQ(why(R"([{"x":1}])"), "it is an array of objects with `x` without `meta` and `threads`");
  EXPECT_EQ(why(R"({"traceEvents":[]})"), "it is JSON without `meta` and `threads`");
  for (const char* text : {"{\"a", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":\"\\", "[", "[{", "[{\"ph", "{\"a\":1,"}) {
    EXPECT_EQ(kind_of(text), JsonProfile::kNone) << text;
  }
}

TEST(JsonProfile, TheErrorSaysOfEachFormatWhyNot) {
  const auto found = recognise(base::as_bytes(R"({"version":1,"data":[]})"), "x.json");
  ASSERT_FALSE(found.ok());
  for (const char* part : {"speedscope: it is an object of `version`, `data` without speedscope's `$schema`",
                           "firefox: it is an object of `version`, `data` without `meta`",
                           "cpuprofile: it is an object of", "chrome-trace: it is an object of"}) {
    EXPECT_NE(found.error().why.find(part), std::string::npos) << found.error().why;
  }
}

}  // namespace
}  // namespace tephra::formats
