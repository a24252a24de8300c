#include <cstdint>
#include <span>
#include <string>

#include "analysis/sched_latency.h"
#include "analysis/sched_map.h"
#include "analysis/sched_timeline.h"
#include "formats/perf_data.h"
#include "stream/sched_recording_for_tests.h"
#include "views/sched_json.h"
#include "views/sched_text.h"

namespace {

using namespace tephra;

void check(const analysis::SchedLatency& latency) {
  for (const analysis::SchedThread& thread : latency.threads) {
    uint64_t total = 0;
    for (const uint64_t delay : thread.delays.each) total += delay;
    if (total != thread.delays.total || thread.woken > thread.delays.count()) __builtin_trap();
    if (!thread.delays.each.empty() && thread.delays.each.back() != thread.delays.worst) __builtin_trap();
  }
  views::sched_json(latency, latency.threads, false);
  views::sched_latency_text(latency, analysis::merged_by_name(latency.threads), true);
  views::sched_who_text(latency);
}

void read(const stream::Recording& recording) {
  const auto events = stream::SchedEvents::of(recording);
  if (!events.ok()) return;
  check(analysis::sched_latency(recording, *events, {}));
  analysis::SchedLatencyOptions chosen;
  chosen.choice.comms = {"t5", "t6", "ping"};
  chosen.from = analysis::DelayFrom::kWakeup;
  chosen.ran_instead = true;
  check(analysis::sched_latency(recording, *events, chosen));
  std::string text;
  const views::TimelineTextOptions all{true, true, true, true};
  const auto timeline = analysis::sched_timeline(recording, *events, {}, [&](const analysis::TimelineEntry& entry) {
    views::append_timeline_entry(text, entry, all);
  });
  views::timeline_summary(timeline, true);
  const analysis::MapCpus cpus = analysis::map_cpus(recording, {});
  analysis::sched_map(recording, *events, cpus, {},
                      [&](const analysis::MapStep& step) { views::append_map_step(text, step, true); });
}

}  // namespace

// Whatever a recording holds, its sums fit together, and every view of it can be drawn. The bytes are a file, and once
// more the records of one whose descriptions are right.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes = std::as_bytes(std::span(data, size));
  if (const auto recording = formats::kPerfData.open(bytes); recording.ok()) {
    read(*recording);
    return 0;
  }
  stream::TestSched described;
  stream::Recording recording = described.recording();
  recording.records = {bytes};
  read(recording);
  return 0;
}
