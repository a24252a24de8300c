#include <gtest/gtest.h>

#include "analysis/call_tree.h"
#include "analysis/report.h"
#include "analysis/top.h"
#include "analysis/verdict.h"
#include "stream/profile_builder.h"
#include "stream/random_recording_for_tests.h"

namespace tephra::analysis {
namespace {

model::Totals operator+(model::Totals a, const model::Totals& b) { return {a.count + b.count, a.value + b.value}; }

// Every view of a recording comes to the samples that went in.
TEST(Sums, OfEveryViewAreThoseOfTheRecording) {
  for (uint32_t seed = 1; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    const auto test = stream::random_recording({.seed = seed, .samples = 400, .events = 1});
    const model::Totals expected{test.samples(), test.value()};
    for (const bool every : {false, true}) {
      const auto profile = stream::build_profile(test.recording(), {.keep_every_sample = every});
      EXPECT_EQ(model::totals(profile), expected);
      for (const bool leaf_first : {false, true}) {
        for (const auto base : {BaseFrame::kNone, BaseFrame::kComm, BaseFrame::kCommPidTid}) {
          const auto tree = call_tree(profile, {.base = base, .leaf_first = leaf_first});
          EXPECT_EQ(tree.root().total, expected);
          model::Totals self;
          for (const CallNode& node : tree.nodes) self = self + node.self;
          EXPECT_EQ(self, expected);
        }
      }
      model::Totals top;
      for (const TopEntry& entry : top_functions(profile, SIZE_MAX)) {
        top = top + model::Totals{entry.self_count, entry.self_value};
        EXPECT_GE(entry.total_value, entry.self_value);
      }
      EXPECT_EQ(top, expected);
      for (const auto& sort : {std::vector{SortKey::kComm, SortKey::kDso, SortKey::kSymbol},
                               std::vector{SortKey::kPid, SortKey::kTid}, std::vector{SortKey::kEvent}}) {
        for (const bool children : {false, true}) {
          const auto report = make_report(profile, {.sort = sort, .children = children});
          EXPECT_EQ(report.whole, expected);
          EXPECT_EQ(report.shown, expected);
          model::Totals self;
          for (const ReportEntry& entry : report.entries) self = self + entry.self;
          EXPECT_EQ(self, expected);
        }
      }
      EXPECT_EQ(judge(profile).samples, expected.count);
    }
  }
}

}  // namespace
}  // namespace tephra::analysis
