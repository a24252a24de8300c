#include "views/health_text.h"

#include <gtest/gtest.h>

#include "views/health_json.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using analysis::Finding;
using Level = Finding::Level;

const std::vector<Finding> kFindings{
    {"broken", Level::kMissing, "it is not there", "all of it", "sysctl kernel.a=1 kernel.b=2 …"},
    {"fine", Level::kGood, "it works", "", ""},
    {"so so", Level::kLimited,
     "a long text that does not fit on one line of sixty columns and is broken between its words", "half of it",
     "/a/path/that/is/longer/than/any/line/could/ever/be/and/must/not/be/broken/because/it/is/copied"},
};

TEST(HealthText, WhatWorksComesFirstAndLinesAreBroken) {
  const std::string text = machine_health_text({}, kFindings, {.width = 60});
  EXPECT_LT(text.find("fine"), text.find("so so"));
  EXPECT_LT(text.find("so so"), text.find("broken  "));
  EXPECT_NE(text.find("✗ broken  it is not there\n            lost: all of it\n            fix:  sysctl"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    EXPECT_TRUE(columns(line) <= 60 || line.find("/a/path") != std::string::npos) << line;
    at = end + 1;
  }
}

TEST(HealthText, AsciiAndColours) {
  const std::string ascii = machine_health_text({}, kFindings, {.utf8 = false});
  EXPECT_NE(ascii.find("x broken"), std::string::npos);
  EXPECT_NE(ascii.find("kernel.b=2 ..."), std::string::npos);
  for (const char c : ascii) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  EXPECT_NE(machine_health_text({}, kFindings, {.color = true}).find("\x1b[31m✗"), std::string::npos);
}

TEST(HealthText, HostileNamesAreEscaped) {
  symbols::ProcessFacts facts;
  facts.pid = 7;
  facts.comm = "a\n\x1b[2Jb";
  facts.modules.emplace_back().path = "/x/\x1b]0;title\x07";
  const std::vector<Finding> findings{{"names", Level::kGood, "in \x1b[31m", "", ""}};
  const std::string text = process_health_text({facts, findings, {}, {}}, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a\\n\\x1b[2Jb"), std::string::npos) << text;
}

TEST(HealthJson, HoldsFindingsUnderStableNames) {
  symbols::ProcessFacts facts;
  facts.pid = 7;
  kernel::ProcessActivity activity;
  const ProcessHealth process{facts, kFindings, activity, analysis::advise(activity, 7)};
  const std::string text = health_json({}, kFindings, &process);
  for (const char* part : {"\"cpu_profiling_works\": false", "\"level\": \"missing\"", "\"level\": \"limited\"",
                           "\"level\": \"good\"", "\"perf_event_paranoid\": null", "\"modules\": []", "\"advice\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace tephra::views
