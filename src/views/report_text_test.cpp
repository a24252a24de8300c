#include "views/report_text.h"

#include <gtest/gtest.h>

#include "analysis/profile_for_tests.h"
#include "views/printable.h"
#include "views/report_json.h"

namespace tephra::views {
namespace {

using analysis::ChainOrder;
using analysis::make_report;
using analysis::TestProfile;

// The lines that are not comments.
std::string rows(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at) + 1;
    if (text[at] != '#') out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

TEST(Printable, NamesCannotForgeLinesOrCommandTheTerminal) {
  EXPECT_EQ(printable("plain (x) ü …"), "plain (x) ü …");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  EXPECT_EQ(printable("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(printable("a\u202eb\u200d\ufeff \u05d0"), "a\\u202eb\\u200d\\ufeff \u05d0");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(columns("ü…x"), 3u);
}

TEST(ReportText, AnEventMayHaveNoName) {
  const auto profile = TestProfile().add("main", 1, 100).finish();
  analysis::Report report = make_report(profile, {});
  report.event = {};
  const auto text = report_text(report, {}, {});
  EXPECT_NE(text.find("# Samples: 1 of an unnamed event\n"), std::string::npos) << text;
}

TEST(ReportText, LooksLikePerf) {
  const auto profile =
      TestProfile().add("main;work;hot", 7, 700).add("main;work;sys@[kernel]", 2, 200).add("main", 1, 100).finish();
  const auto text = report_text(make_report(profile, {}), {}, {});
  EXPECT_NE(text.find("# Samples: 10 of event 'cpu-clock'\n# Event count (approx.): 1000\n"), std::string::npos);
  EXPECT_NE(text.find("# verdict"), std::string::npos);
  EXPECT_NE(text.find("# Children      Self  Command  Shared Object  Symbol\n"
                      "# ........  ........  .......  .............  ........\n#\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(rows(text),
            "   100.00%    10.00%  prog     prog           [.] main\n"
            "    90.00%     0.00%  prog     prog           [.] work\n"
            "    70.00%    70.00%  prog     prog           [.] hot\n"
            "    20.00%    20.00%  prog     [kernel]       [k] sys\n");
  EXPECT_EQ(rows(report_text(make_report(profile, {.sort = {analysis::SortKey::kSymbol}, .children = false}), {},
                             {.sample_counts = true})),
            "    70.00%             7  [.] hot\n"
            "    20.00%             2  [k] sys\n"
            "    10.00%             1  [.] main\n");
}

TEST(ReportText, DrawsChains) {
  const auto profile = TestProfile().add("main;work;hot", 6, 60).add("main;hot", 4, 40).finish();
  const auto text = rows(report_text(
      make_report(profile, {.children = false, .symbols = {"hot"}, .chains = ChainOrder::kCallee}), {}, {}));
  EXPECT_EQ(text,
            "   100.00%  prog     prog           [.] hot\n"
            "            |\n"
            "            ---hot\n"
            "               |\n"
            "               |--60.00%--work\n"
            "               |          main\n"
            "               |\n"
            "                --40.00%--main\n"
            "\n");
}

TEST(ReportText, HostileNamesStayInTheirRow) {
  const auto profile = TestProfile().add("evil\n    99.99%  root\x1b[31m", 1, 1, {.comm = "a\nb"}).finish();
  const auto text = report_text(make_report(profile, {.chains = ChainOrder::kCaller}), {}, {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\n    99.99%"), std::string::npos);
  EXPECT_NE(text.find("a\\nb"), std::string::npos);
}

TEST(ReportText, NamesAreShortenedOnRequestOnly) {
  const auto profile = TestProfile().add("std::sort<int*, long>", 1, 1).finish();
  const auto report = make_report(profile, {});
  EXPECT_NE(report_text(report, {}, {}).find("std::sort<int*, long>"), std::string::npos);
  EXPECT_NE(report_text(report, {}, {.shorten = true}).find("std::sort<…>"), std::string::npos);
}

TEST(ReportText, HiddenRowsAreMentioned) {
  const auto profile = TestProfile().add("a", 99, 99).add("b", 1, 1).finish();
  const auto text = report_text(make_report(profile, {.percent_limit = 2}), {}, {});
  EXPECT_NE(text.find("# 1 rows below the limit are not shown."), std::string::npos) << text;
}

TEST(TopText, IsATable) {
  const auto profile = TestProfile().add("main;hot", 1500, 75).add("main@/lib/libmain.so", 500, 25).finish();
  const auto top = analysis::top_functions(profile, 10);
  EXPECT_EQ(top_text(top, model::totals(profile), true),
            "    self   total  samples  function  module\n"
            "  75.00%  75.00%    1,500  hot       prog\n"
            "  25.00%  25.00%      500  main      libmain.so\n"
            "   0.00%  75.00%        0  main      prog\n");
}

TEST(ReportJson, HasExactNumbersAndTheVerdict) {
  auto profile = TestProfile().add("main;hot\"<", 3, 9007199254740993).finish();
  profile.facts.host = "vm";
  profile.facts.first_time = 123456789012345678;
  analysis::Verdict verdict;
  verdict.samples = 3;
  const auto json = report_json(make_report(profile, {.children = false}), profile.facts, verdict);
  EXPECT_NE(json.find("9007199254740993"), std::string::npos);
  EXPECT_NE(json.find("\"first_time\": \"123456789.012345678\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"verdict\": {"), std::string::npos);
  EXPECT_NE(json.find("\"symbol\": \"hot\\\"\\u003c\""), std::string::npos) << json;
  EXPECT_EQ(json.find("chains"), std::string::npos);
}

}  // namespace
}  // namespace tephra::views
