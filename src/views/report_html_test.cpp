#include "views/report_html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "analysis/call_tree.h"
#include "analysis/profile_for_tests.h"
#include "model/profile_assembler.h"
#include "views/report_page_for_tests.h"

namespace tephra::views {
namespace {

std::string page_of(const model::Profile& profile, const ReportHtmlOptions& options = {}) {
  const auto page = report_html(profile, analysis::judge(profile), options);
  EXPECT_TRUE(page);
  return page ? *page : "";
}

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The names of a stack from the root on, as the page puts them together.
std::string stack_text(const ReadPage& page, size_t row) {
  const auto names = page.texts("name.text");
  const auto& depth = page["stack.depth"];
  std::string text;
  for (double wanted = depth[row]; wanted > 0; --wanted, --row) {
    while (depth[row] != wanted) --row;
    const auto frame = static_cast<size_t>(page["stack.frame"][row]);
    const std::string& name = names.at(static_cast<size_t>(page["frame.name"][frame]));
    text = text.empty() ? name : name + ";" + text;
  }
  return text;
}

// "stack count value" of every sample.
std::vector<std::string> samples_of(const ReadPage& page) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < page["sample.stack"].size(); ++i) {
    lines.push_back(stack_text(page, static_cast<size_t>(page["sample.stack"][i])) + " " +
                    std::to_string(static_cast<uint64_t>(page["sample.count"][i])) + " " +
                    std::to_string(static_cast<uint64_t>(page["sample.value"][i])));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

double sum(const std::vector<double>& column) { return std::accumulate(column.begin(), column.end(), 0.0); }

TEST(ReportHtml, HoldsEveryStackWithItsWeight) {
  const ReadPage page(page_of(analysis::TestProfile()
                                  .add("main;work;hot", 3, 300)
                                  .add("main;work", 1, 100)
                                  .add("main;work;hot", 2, 200)
                                  .add("", 1, 5)
                                  .finish()));
  EXPECT_EQ(samples_of(page),
            (std::vector<std::string>{"prog 1 5", "prog;main;work 1 100", "prog;main;work;hot 5 500"}));
  EXPECT_EQ(page.facts["events"].elements().at(0)["count"].number(), 7);
  EXPECT_EQ(page.facts["events"].elements().at(0)["value"].number(), 605);
  EXPECT_FALSE(page.facts["timed"].truth(true));
}

TEST(ReportHtml, StacksAreInTheOrderOfThePicture) {
  const auto profile = analysis::TestProfile()
                           .add("main;b;x", 1, 1)
                           .add("main;a", 1, 1)
                           .add("main;b;c", 1, 1)
                           .add("init", 1, 1)
                           .finish();
  const ReadPage page(page_of(profile));
  const auto tree = analysis::call_tree(profile);
  ASSERT_EQ(page["stack.depth"].size(), tree.nodes.size());
  const auto names = page.texts("name.text");
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    EXPECT_EQ(page["stack.depth"][i], tree.nodes[i].depth);
    const auto frame = static_cast<size_t>(page["stack.frame"][i]);
    EXPECT_EQ(names.at(static_cast<size_t>(page["frame.name"][frame])), tree.name(tree.nodes[i]).label);
  }
  EXPECT_TRUE(std::is_sorted(page["frame.name"].begin(), page["frame.name"].end()));
}

TEST(ReportHtml, NamesCannotEndTheScript) {
  const std::string evil = "</script><script>alert(1)</script><!--";
  const std::string html =
      page_of(analysis::TestProfile(evil).add(evil + ";<b>&amp", 1, 1, {.comm = evil}).finish(), {.title = evil});
  // The facts, the columns and the page's own script.
  EXPECT_EQ(count_of(html, "<script"), 3u);
  EXPECT_EQ(count_of(html, "</script"), 3u);
  EXPECT_EQ(count_of(html, "<!--"), 0u);
  EXPECT_NE(html.find("<title>&lt;/script&gt;"), std::string::npos);
  const ReadPage page(html);
  EXPECT_EQ(page.facts["title"].text(), evil);
  EXPECT_EQ(page.facts["events"].elements().at(0)["name"].text(), evil);
  EXPECT_EQ(samples_of(page), (std::vector<std::string>{evil + ";" + evil + ";<b>&amp 1 1"}));
}

TEST(ReportHtml, AnyBytesBecomeText) {
  const ReadPage page(
      page_of(analysis::TestProfile().add("a\xff\xc0z;line\nbreak\x1b[31m;\xf0\x9f\x98\x80", 1, 1).finish(),
              {.title = "\xff\n"}));
  EXPECT_EQ(samples_of(page),
            (std::vector<std::string>{"prog;a\\xff\\xc0z;line\\nbreak\\x1b[31m;\xf0\x9f\x98\x80 1 1"}));
  EXPECT_EQ(page.facts["title"].text(), "\\xff\\n");
}

TEST(ReportHtml, ShortNamesOnlyWhereTheyDiffer) {
  const auto profile = analysis::TestProfile().add("std::sort<int*, Less<int> >;plain", 1, 1).finish();
  const ReadPage page(page_of(profile));
  const auto texts = page.texts("name.text");
  const auto shorts = page.texts("name.short");
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(shorts.at(i), texts[i] == "std::sort<int*, Less<int> >" ? "std::sort<…>" : "") << texts[i];
  }
  const auto whole = ReadPage(page_of(profile, {.full_names = true})).texts("name.short");
  EXPECT_TRUE(std::all_of(whole.begin(), whole.end(), [](const std::string& text) { return text.empty(); }));
}

TEST(ReportHtml, EmptyProfile) {
  const ReadPage page(page_of(model::ProfileAssembler().so_far()));
  EXPECT_EQ(page["sample.stack"].size(), 0u);
  EXPECT_EQ(page["stack.depth"].size(), 1u);
  EXPECT_TRUE(page.facts["events"].elements().empty());
}

// Samples of two events at given times: one row a sample, as recordings are read for the report.
model::Profile timed_profile(const std::vector<uint64_t>& times) {
  model::ProfileAssembler made;
  const auto name = made.string("f");
  const auto function = made.function({name, name, true});
  const auto stack = made.stack({}, made.frame({.function = function}));
  const model::EventId events[] = {made.event({made.string("cycles"), made.string("count")}),
                                   made.event({made.string("faults"), made.string("count")})};
  const auto thread = made.thread({7, 8, made.string("app")});
  for (size_t i = 0; i < times.size(); ++i) {
    made.sample(
        {.stack = stack, .event = events[i % 2], .thread = thread, .count = 1, .value = 10 + i, .time = times[i]});
  }
  return std::move(made).finish();
}

TEST(ReportHtml, TimesAreFromTheFirstInMicroseconds) {
  const ReadPage page(page_of(timed_profile({5'000'000'000, 4'000'000'000, 5'000'001'999, 5'000'000'000})));
  EXPECT_TRUE(page.facts["timed"].truth());
  EXPECT_EQ(page.facts["first_time_ns"].text(), "4000000000");
  EXPECT_EQ(page.facts["time_unit_ns"].number(), 1000);
  EXPECT_EQ(page["sample.time"], (std::vector<double>{0, 1'000'000, 1'000'000, 1'000'001}));
  EXPECT_EQ(page["sample.event"], (std::vector<double>{1, 0, 1, 0}));
  EXPECT_EQ(page["sample.value"], (std::vector<double>{11, 10, 13, 12}));
}

TEST(ReportHtml, EqualRowsAreOne) {
  const ReadPage page(page_of(timed_profile({100, 100, 900, 1000})));
  EXPECT_EQ(page["sample.time"], (std::vector<double>{0, 0}));
  EXPECT_EQ(page["sample.event"], (std::vector<double>{0, 1}));
  EXPECT_EQ(page["sample.count"], (std::vector<double>{2, 2}));
  EXPECT_EQ(page["sample.value"], (std::vector<double>{10 + 12, 11 + 13}));
}

TEST(ReportHtml, LongPausesStayInOrder) {
  const uint64_t year = 31'536'000'000'000'000;
  const ReadPage page(page_of(timed_profile({0, year, 2 * year})));
  const double unit = page.facts["time_unit_ns"].number();
  EXPECT_GT(unit, 1000);
  EXPECT_EQ(page["sample.time"].at(2) * unit, static_cast<double>(2 * year));
}

TEST(ReportHtml, EventsKeepTheirSumsApart) {
  const ReadPage page(page_of(timed_profile({1000, 2000, 3000})));
  const auto& events = page.facts["events"].elements();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["name"].text(), "cycles");
  EXPECT_EQ(events[0]["count"].number(), 2);
  EXPECT_EQ(events[0]["value"].number(), 22);
  EXPECT_EQ(events[1]["count"].number(), 1);
  EXPECT_EQ(page.facts["shown_event"].number(), 0);
}

TEST(ReportHtml, SaysWhereSumsAreRounded) {
  const uint64_t large = (uint64_t{1} << 53) + 1;
  const ReadPage page(page_of(analysis::TestProfile().add("f", 1, large).finish()));
  EXPECT_TRUE(page.facts["events"].elements().at(0)["rounded"].truth());
  EXPECT_FALSE(ReadPage(page_of(analysis::TestProfile().add("f", 1, large - 1).finish()))
                   .facts["events"]
                   .elements()
                   .at(0)["rounded"]
                   .truth(true));
}

TEST(ReportHtml, SumsAreThoseOfTheProfile) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    analysis::TestProfile made;
    for (int i = 0; i < 200; ++i) {
      std::string stack;
      for (size_t depth = random() % 12; depth > 0; --depth) {
        stack += (stack.empty() ? "f" : ";f") + std::to_string(random() % 5);
      }
      made.add(stack, 1 + random() % 4, random() % 1000, {.comm = random() % 2 ? "a" : "b", .tid = int(random() % 3)});
    }
    const auto profile = made.finish();
    const ReadPage page(page_of(profile));
    EXPECT_EQ(sum(page["sample.count"]), static_cast<double>(model::totals(profile).count));
    EXPECT_EQ(sum(page["sample.value"]), static_cast<double>(model::totals(profile).value));
  }
}

TEST(ReportHtml, ThreadsHaveNamesToStandOn) {
  const ReadPage page(page_of(analysis::TestProfile()
                                  .add("f", 1, 1, {.comm = "app", .pid = 3, .tid = 4})
                                  .add("f", 1, 1, {.comm = "app", .pid = 3, .tid = 5})
                                  .finish()));
  const auto names = page.texts("name.text");
  const auto name = [&](const char* column, size_t row) {
    return names.at(static_cast<size_t>(page[std::string("thread.") + column].at(row)) - 1);
  };
  EXPECT_EQ(name("comm", 0), "app");
  EXPECT_EQ(name("comm_pid", 1), "app-3");
  EXPECT_EQ(name("comm_pid_tid", 1), "app-3/5");
  EXPECT_EQ(page["thread.tid"].at(1), 6);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(ReportHtml, TellsWhatItBeginsWithAndWhatWasLeftOut) {
  const auto profile = analysis::TestProfile().add("f", 1, 1).finish();
  const ReadPage page(page_of(profile, {.first_view = "view=icicle", .selection = "3 of 4 samples"}));
  EXPECT_EQ(page.facts["first_view"].text(), "view=icicle");
  EXPECT_EQ(page.facts["selection"].text(), "3 of 4 samples");
  EXPECT_EQ(page.facts["verdict"]["samples"].number(), 1);
  EXPECT_EQ(page.facts["verdict_line"].text().rfind("verdict: ", 0), 0u);
}

TEST(ReportHtml, SameInputSameBytes) {
  const auto profile = analysis::TestProfile().add("main;a", 1, 1).add("main;b", 2, 2).finish();
  EXPECT_EQ(page_of(profile), page_of(profile));
}

TEST(ReportHtml, ReachesNothingOutside) {
  const std::string html = page_of(analysis::TestProfile().add("f", 1, 1).finish());
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(count_of(html, " src="), 0u);
  EXPECT_EQ(count_of(html, "<link"), 0u);
  EXPECT_EQ(count_of(html, "@import"), 0u);
}

}  // namespace
}  // namespace tephra::views
