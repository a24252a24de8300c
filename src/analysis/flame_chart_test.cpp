#include "analysis/flame_chart.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::analysis {
namespace {

struct Row {
  uint64_t time;
  int32_t tid;
  std::vector<std::string> frames;
};

model::Profile make_profile(const std::vector<Row>& rows) {
  model::ProfileAssembler made;
  const auto event = made.event({made.string("cpu-clock"), made.string("ns")});
  const auto mapping = made.mapping({.path = made.string("/bin/app"), .kind = model::CodeKind::kFile});
  for (const Row& row : rows) {
    model::StackId stack;
    for (const std::string& name : row.frames) {
      const auto function = made.function({made.string(name), made.string(name), true});
      stack = made.stack(stack, made.frame({.mapping = mapping, .function = function}));
    }
    const auto thread = made.thread({1, row.tid, made.string("app")});
    made.sample(
        {.stack = stack, .event = event, .thread = thread, .count = 1, .value = 10, .time = row.time, .cpu = 0});
  }
  return std::move(made).finish();
}

std::vector<std::string> lines(const FlameChart& chart, const FlameChart::Lane& lane) {
  std::vector<std::string> lines;
  for (const auto& box : lane.boxes) {
    lines.push_back(std::string(box.depth, ' ') + chart.names[box.name].label + " " + std::to_string(box.begin) + "-" +
                    std::to_string(box.end) + " " + std::to_string(box.samples));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(FlameChart, KeepsTheOrderOfTimeAndJoinsWhatGoesOn) {
  const auto chart = flame_chart(make_profile(
      {{1000, 1, {"main", "a"}}, {1010, 1, {"main", "a"}}, {1020, 1, {"main", "b"}}, {1030, 1, {"main", "a"}}}));
  EXPECT_EQ(chart.begin, 1000u);
  EXPECT_EQ(chart.period, 10u);
  EXPECT_EQ(chart.duration, 40u);
  ASSERT_EQ(chart.lanes.size(), 1u);
  EXPECT_EQ(chart.lanes[0].thread, "app-1/1");
  EXPECT_EQ(lines(chart, chart.lanes[0]), (Lines{"main 0-40 4", " a 0-20 2", " b 20-30 1", " a 30-40 1"}));
  EXPECT_EQ(chart.lanes[0].running, 40u);
}

TEST(FlameChart, IdleTimeIsEmpty) {
  const auto chart = flame_chart(make_profile({{0, 1, {"main"}},
                                               {10, 1, {"main"}},
                                               {20, 1, {"main"}},
                                               {100, 1, {"main"}},
                                               {110, 1, {"main"}},
                                               {140, 1, {"main"}}}));
  EXPECT_EQ(chart.period, 10u);
  EXPECT_EQ(lines(chart, chart.lanes[0]), (Lines{"main 0-30 3", "main 100-150 3"}));
  EXPECT_EQ(chart.lanes[0].running, 80u);
}

TEST(FlameChart, ALaneAThreadTheBusiestFirst) {
  const auto profile = make_profile({{0, 7, {"x"}}, {5, 8, {"y"}}, {10, 8, {"y"}}, {15, 8, {"z"}}, {5, 7, {"x"}}});
  const auto chart = flame_chart(profile);
  ASSERT_EQ(chart.lanes.size(), 2u);
  EXPECT_EQ(chart.lanes[0].thread, "app-1/8");
  EXPECT_EQ(lines(chart, chart.lanes[0]), (Lines{"y 5-15 2", "z 15-20 1"}));
  EXPECT_EQ(lines(chart, chart.lanes[1]), (Lines{"x 0-10 2"}));

  const FlameLayout layout = chart_layout(chart);
  EXPECT_TRUE(layout.time_axis);
  EXPECT_EQ(layout.total, 20u);
  EXPECT_EQ(layout.rows, (std::vector<FlameRow>{{0, 0, 0}, {0, 1, 1}, {1, 2, 1}, {0, 3, 2}, {3, 4, 2}}));
  EXPECT_EQ(layout.rects,
            (std::vector<FlameRect>{
                {0, 20, 0, 0}, {0, 20, 1, 1}, {5, 10, 2, 2}, {15, 5, 2, 3}, {0, 20, 3, 4}, {0, 10, 4, 5}}));
  const auto nodes = chart_nodes(chart);
  ASSERT_EQ(nodes.size(), 6u);
  EXPECT_EQ(nodes[4].lane, &chart.lanes[1]);
  EXPECT_EQ(nodes[4].box, nullptr);
  EXPECT_EQ(nodes[5].box, &chart.lanes[1].boxes[0]);

  const FlameLayout wide = chart_layout(chart, 10);
  EXPECT_EQ(wide.culled, 1u);
}

TEST(FlameChart, TimesOfDamagedFilesDoNoHarm) {
  const auto chart =
      flame_chart(make_profile({{0, 1, {"a"}}, {UINT64_MAX, 1, {"b"}}, {UINT64_MAX, 1, {}}, {5, 2, {}}}));
  EXPECT_EQ(chart.lanes.size(), 2u);
  const FlameLayout layout = chart_layout(chart);
  for (const FlameRect& rect : layout.rects) EXPECT_LT(rect.depth, layout.rows.size());
  EXPECT_EQ(flame_chart(make_profile({{7, 1, {"a"}}})).duration, 1u);
  EXPECT_TRUE(flame_chart(make_profile({})).lanes.empty());
}

}  // namespace
}  // namespace tephra::analysis
