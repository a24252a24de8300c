#include "analysis/sched_map.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "analysis/sched_tasks.h"
#include "stream/decoder.h"
#include "stream/records.h"

namespace tephra::analysis {
namespace {

class MapReader {
 public:
  MapReader(const stream::Recording& recording, const MapCpus& cpus, const MapOptions& options)
      : options_(options),
        cpus_(cpus),
        lost_(stream::LostSpans::of(recording)),
        names_(recording),
        cells_(cpus.shown.size()),
        since_(cpus.shown.size()) {}

  uint64_t lost() const { return lost_.count(); }

  void take(const stream::Sample& sample, const stream::SchedSwitch& what,
            const std::function<void(const MapStep&)>& visit) {
    const uint64_t now = sample.origin.time;
    names_.note(sample.origin);
    names_.note(what.next);
    const auto place = std::lower_bound(cpus_.shown.begin(), cpus_.shown.end(), sample.origin.cpu);
    if (place == cpus_.shown.end() || *place != sample.origin.cpu || now < options_.begin || now > options_.end) return;
    MapStep step;
    step.time = now;
    step.column = static_cast<size_t>(place - cpus_.shown.begin());
    forget_lost(now);
    MapCell& cell = cells_[step.column];
    const MapCell before = cell;
    cell = cell_of(what.next, step.first);
    since_[step.column] = now;
    if (step.first) step.comm = names_.comm(what.next.tid);
    step.cells = cells_;
    const bool changed = cell.kind != MapCell::Kind::kUnknown || before.kind != MapCell::Kind::kUnknown;
    if (options_.choice.all() || changed) visit(step);
  }

 private:
  // What a CPU runs is not known any more once records of it were lost.
  void forget_lost(uint64_t now) {
    if (!lost_.any()) return;
    for (size_t column = 0; column < cells_.size(); ++column) {
      if (lost_.touch(cpus_.shown[column], since_[column], now)) cells_[column] = {};
    }
  }

  MapCell cell_of(const stream::SchedTask& task, bool& first) {
    if (task.tid == 0) return {MapCell::Kind::kIdle, 0, 0};
    if (!options_.choice.takes(names_.pid(task.tid), task.tid, names_.comm(task.tid))) return {};
    const auto [number, is_new] = numbers_.try_emplace(task.tid, static_cast<uint32_t>(numbers_.size()));
    first = is_new;
    return {MapCell::Kind::kRuns, task.tid, number->second};
  }

  const MapOptions& options_;
  const MapCpus& cpus_;
  const stream::LostSpans lost_;
  SchedTasks names_;
  std::vector<MapCell> cells_;
  std::vector<uint64_t> since_;
  std::unordered_map<int32_t, uint32_t, base::NumberHash> numbers_;
};

}  // namespace

MapCpus map_cpus(const stream::Recording& recording, const MapOptions& options) {
  const stream::Decoder decoder(recording);
  std::set<int32_t> seen;
  stream::Sample sample;
  for (const base::Bytes part : recording.records) {
    stream::RecordWalker walker(part);
    stream::Record record;
    while (walker.next(record)) {
      if (record.type != PERF_RECORD_SAMPLE || !decoder.decode_sample(record, sample)) continue;
      if (sample.origin.cpu >= 0) seen.insert(sample.origin.cpu);
    }
  }
  MapCpus cpus;
  for (const int32_t cpu : seen) {
    const auto& wanted = options.cpus;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), cpu) == wanted.end()) continue;
    if (cpus.shown.size() < kMostMapCpus) {
      cpus.shown.push_back(cpu);
    } else {
      ++cpus.left_out;
    }
  }
  return cpus;
}

uint64_t sched_map(const stream::Recording& recording, const stream::SchedEvents& events, const MapCpus& cpus,
                   const MapOptions& options, const std::function<void(const MapStep&)>& visit) {
  MapReader reader(recording, cpus, options);
  stream::for_each_sched_event(recording, events, [&](const stream::Sample& sample, const stream::SchedEvent& event) {
    if (const auto* what = std::get_if<stream::SchedSwitch>(&event)) reader.take(sample, *what, visit);
  });
  return reader.lost();
}

}  // namespace tephra::analysis
