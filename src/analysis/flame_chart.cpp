#include "analysis/flame_chart.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analysis/call_names.h"
#include "analysis/single_waits.h"

namespace tephra::analysis {
namespace {

constexpr uint64_t kIdlePeriods = 3;  // a longer gap is idle time

using Lane = FlameChart::Lane;
using Box = FlameChart::Box;

// The rows of one thread's samples, in the order of time.
using Rows = std::vector<uint32_t>;

// What rows of a profile are waits; others ran.
class WaitRows {
 public:
  explicit WaitRows(const model::Profile& profile) : kinds_(wait_kinds(profile)), single_(kinds_.size()) {
    for (const SingleWait& wait : single_waits(profile)) single_[wait.row] = 1;
  }
  WaitKind kind(uint32_t row) const { return row < kinds_.size() ? kinds_[row] : WaitKind::kNone; }
  bool ran(uint32_t row) const { return kind(row) == WaitKind::kNone; }
  // Whether it has a place in time.
  bool is_placed(uint32_t row) const { return ran(row) || single_[row] != 0; }

 private:
  std::vector<WaitKind> kinds_;
  std::vector<char> single_;
};

// Threads by process and thread id: one that was renamed is one lane.
std::map<std::pair<int32_t, int32_t>, Rows> rows_by_thread(const model::Profile& profile, const WaitRows& waits) {
  const model::Samples& samples = profile.samples;
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return samples.time[a] < samples.time[b]; });
  std::map<std::pair<int32_t, int32_t>, Rows> threads;
  for (const uint32_t row : order) {
    if (!waits.is_placed(row)) continue;
    const model::Thread& thread = profile.threads[samples.thread[row]];
    threads[{thread.pid, thread.tid}].push_back(row);
  }
  return threads;
}

uint64_t median(std::vector<uint64_t>& numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

// How far apart the samples of a thread are while it runs.
uint64_t usual_distance(const std::map<std::pair<int32_t, int32_t>, Rows>& threads, const model::Samples& samples,
                        const WaitRows& waits) {
  std::vector<uint64_t> distances;
  for (const auto& [thread, rows] : threads) {
    for (size_t i = 1; i < rows.size(); ++i) {
      const uint64_t distance = samples.time[rows[i]] - samples.time[rows[i - 1]];
      const bool ran = waits.ran(rows[i]) && waits.ran(rows[i - 1]);
      if (ran && distance > 0) distances.push_back(distance);
    }
  }
  return median(distances);
}

// Opens and closes the boxes of one thread as its samples pass.
class LaneMaker {
 public:
  LaneMaker(const model::Profile& profile, CallNames& names, uint64_t begin)
      : profile_(profile), names_(names), begin_(begin) {}

  void add(model::StackId stack, uint64_t count, uint64_t from, uint64_t to, WaitKind wait) {
    path_.clear();
    for (; stack; stack = profile_.stacks[stack].parent) path_.push_back(profile_.stacks[stack].frame);
    std::reverse(path_.begin(), path_.end());
    size_t same = 0;
    if (from == end_) {
      while (same < path_.size() && same < open_.size() && goes_on(lane_.boxes[open_[same]], path_[same], wait)) ++same;
    }
    open_.resize(same);
    for (size_t depth = same; depth < path_.size(); ++depth) {
      open_.push_back(lane_.boxes.size());
      lane_.boxes.push_back({.begin = from - begin_,
                             .depth = static_cast<uint32_t>(depth),
                             .name = names_.of(path_[depth]),
                             .mapping = profile_.frames[path_[depth]].mapping,
                             .wait = wait});
    }
    for (const size_t box : open_) {
      lane_.boxes[box].end = to - begin_;
      lane_.boxes[box].samples += count;
    }
    lane_.depth = std::max(lane_.depth, static_cast<uint32_t>(path_.size()));
    lane_.samples += count;
    (wait == WaitKind::kNone ? lane_.running : lane_.waiting) += to - from;
    end_ = to;
  }

  Lane finish() { return std::move(lane_); }

 private:
  // Waiting and running in the same function are not one thing.
  bool goes_on(const Box& box, model::FrameId frame, WaitKind wait) const {
    return names_.of(frame) == box.name && box.wait == wait;
  }

  const model::Profile& profile_;
  CallNames& names_;
  const uint64_t begin_;
  Lane lane_;
  uint64_t end_ = UINT64_MAX;
  std::vector<size_t> open_;  // boxes of the sample before
  std::vector<model::FrameId> path_;
};

// Until when a row holds; `next` is when the next one of its thread begins.
uint64_t end_of(const model::Samples& samples, uint32_t row, uint64_t next, bool ran, const FlameChart& chart) {
  const uint64_t time = samples.time[row];
  const uint64_t last = chart.begin + chart.duration;
  if (!ran) return std::min({time + std::min(samples.value[row], last - time), next, last});
  const bool idle = next - time > kIdlePeriods * chart.period;
  return idle ? std::min(time + chart.period, last) : next;
}

Lane make_lane(const model::Profile& profile, const Rows& rows, const WaitRows& waits, const FlameChart& chart,
               CallNames& names) {
  const model::Samples& samples = profile.samples;
  LaneMaker maker(profile, names, chart.begin);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    const uint64_t time = samples.time[row];
    const uint64_t next = i + 1 < rows.size() ? samples.time[rows[i + 1]] : UINT64_MAX;
    const uint64_t until = end_of(samples, row, next, waits.ran(row), chart);
    if (until > time) maker.add(samples.stack[row], samples.count[row], time, until, waits.kind(row));
  }
  Lane lane = maker.finish();
  lane.thread = base_label(profile, profile.threads[samples.thread[rows.back()]], BaseFrame::kCommPidTid);
  return lane;
}

// From the first sample to the end of the last, or of a wait. Times near the end of their range are of damaged files;
// they shall not wrap around.
void set_extent(const model::Samples& samples, const std::map<std::pair<int32_t, int32_t>, Rows>& threads,
                const WaitRows& waits, FlameChart& chart) {
  constexpr uint64_t kMost = UINT64_MAX / 8;
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  for (const auto& [thread, rows] : threads) {
    for (const uint32_t row : rows) {
      first = std::min(first, samples.time[row]);
      const uint64_t length = waits.ran(row) ? 0 : std::min(samples.value[row], kMost);
      last = std::max(last, std::max(samples.time[row], samples.time[row] + length));
    }
  }
  chart.begin = std::min(first, last);
  chart.period = std::clamp<uint64_t>(usual_distance(threads, samples, waits), 1, kMost);
  chart.duration = std::min(last - chart.begin, kMost) + chart.period;
}

}  // namespace

FlameChart flame_chart(const model::Profile& profile, const LabelOptions& labels) {
  FlameChart chart;
  const model::Samples& samples = profile.samples;
  CallNames names(profile, labels);
  if (!samples.time.empty()) {
    const WaitRows waits(profile);
    const auto threads = rows_by_thread(profile, waits);
    set_extent(samples, threads, waits, chart);
    for (const auto& [thread, rows] : threads) chart.lanes.push_back(make_lane(profile, rows, waits, chart, names));
  }
  std::stable_sort(chart.lanes.begin(), chart.lanes.end(), [](const Lane& a, const Lane& b) {
    return std::tie(a.running, a.waiting) > std::tie(b.running, b.waiting);
  });
  std::vector<uint32_t> rank;
  chart.names = names.take_sorted(rank);
  for (Lane& lane : chart.lanes) {
    for (Box& box : lane.boxes) box.name = rank[box.name];
  }
  return chart;
}

FlameLayout chart_layout(const FlameChart& chart, uint64_t min_width) {
  const uint64_t narrowest = std::max<uint64_t>(min_width, 1);
  FlameLayout layout;
  layout.time_axis = true;
  layout.total = chart.duration;
  layout.rows.push_back({});
  layout.rects.push_back({0, chart.duration, 0, 0});
  uint32_t node = 1;
  int32_t level = 1;
  for (uint32_t i = 0; i < chart.lanes.size(); ++i) {
    const Lane& lane = chart.lanes[i];
    const auto first_row = static_cast<uint32_t>(layout.rows.size());
    layout.rects.push_back({0, chart.duration, first_row, node++});
    uint32_t rows = 1;
    for (const Box& box : lane.boxes) {
      const uint64_t width = box.end - box.begin;
      if (width >= narrowest) {
        layout.rects.push_back({box.begin, width, first_row + 1 + box.depth, node});
        rows = std::max(rows, box.depth + 2);
      } else {
        ++layout.culled;
      }
      ++node;
    }
    for (uint32_t row = 0; row < rows; ++row) {
      layout.rows.push_back({row == 0 ? 0 : first_row + row - 1, level++, i + 1});
    }
  }
  return layout;
}

std::vector<ChartNode> chart_nodes(const FlameChart& chart) {
  std::vector<ChartNode> nodes{{}};
  for (const Lane& lane : chart.lanes) {
    nodes.push_back({&lane, nullptr});
    for (const Box& box : lane.boxes) nodes.push_back({&lane, &box});
  }
  return nodes;
}

}  // namespace tephra::analysis
