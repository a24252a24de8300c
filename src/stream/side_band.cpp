#include "stream/side_band.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/number_hash.h"
#include "stream/jit_reader.h"

namespace tephra::stream {
namespace {

using model::Reason;

constexpr size_t kChunkSize = 1 << 20;
constexpr uint64_t kReadFormatLost = 1u << 4;

struct Pending {
  uint64_t moment;
  Record record;
};

// Losses by both ways of telling them.
struct Losses {
  uint64_t records = 0;
  uint64_t samples = 0;
};

// perf 6.1 and later tell the same losses twice, as LOST while recording and as LOST_SAMPLES at the end; they do when
// the counters' read format asks for losses. Older kernels' LOST_SAMPLES are losses of their own.
uint64_t lost_samples(const Recording& recording, const Losses& losses) {
  const bool told_twice = std::any_of(recording.events.begin(), recording.events.end(), [](const RecordedEvent& event) {
    return event.layout.read_format & kReadFormatLost;
  });
  return told_twice ? std::max(losses.records, losses.samples) : losses.records + losses.samples;
}

class Scanner {
 public:
  Scanner(const Recording& recording, const Decoder& decoder, SideBand& side_band, const BuildOptions& options)
      : recording_(recording), decoder_(decoder), side_band_(side_band), options_(options) {
    if (CounterReads::has(recording)) side_band.reads.emplace();
  }

  void scan(base::Bytes part, uint64_t part_position) {
    RecordWalker walker(part);
    Record record;
    Chunk chunk{{}, part_position, 0};
    size_t begin = 0;
    Record last_of_chunk;
    const auto close_chunk = [&](size_t end) {
      if (chunk.samples > 0) last_sample_ = std::max(last_sample_, decoder_.time_of(last_of_chunk));
      chunk.bytes = part.subspan(begin, end - begin);
      chunk.position = part_position + begin;
      if (chunk.samples > 0) side_band_.chunks.push_back(chunk);
      if (options_.done_with) options_.done_with(chunk.bytes);
      side_band_.samples += chunk.samples;
      chunk.samples = 0;
      begin = end;
    };
    size_t at = 0;
    while (walker.next(record)) {
      if (record.type == PERF_RECORD_SAMPLE) {
        ++chunk.samples;
        last_of_chunk = record;
        if (side_band_.reads) side_band_.reads->note(decoder_, recording_, record, part_position + at);
        if (!decoder_.has_trailer()) newest_ = std::max(newest_, decoder_.time_of(record));
      } else {
        note(record, part_position + at);
      }
      at = walker.position();
      if (at - begin >= kChunkSize) close_chunk(at);
    }
    close_chunk(at);
    if (walker.damaged()) ++side_band_.quality[Reason::file_truncated];
  }

  void finish() {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Pending& a, const Pending& b) { return a.moment < b.moment; });
    apply_in_order(jit_changes());
    side_band_.history.complete();
    side_band_.quality.lost += lost_samples(recording_, losses_);
    if (!side_band_.reads) return;
    side_band_.reads->finish(decoder_);
    side_band_.quality[Reason::unknown_event] += side_band_.reads->unknown();
  }

 private:
  // What is known of generated code: what the recorder stored, else what can be found now.
  std::vector<JitChange> jit_changes() {
    side_band_.jit = recording_.jit;
    if (!side_band_.jit && options_.find_jit && !jit_traces_.empty()) {
      std::vector<JitTrace> traces(jit_traces_.begin(), jit_traces_.end());
      for (JitTrace& trace : traces) {
        trace.since = begun_[trace.pid];
        trace.until = last_sample_;
      }
      side_band_.jit = options_.find_jit(recording_, traces);
    }
    if (!side_band_.jit) return {};
    const bool jitdump_clock = decoder_.has_time() && recording_.facts.clock == "CLOCK_MONOTONIC";
    return read_jit_batches(side_band_.jit->batches, jitdump_clock, side_band_.history.jit(), side_band_.quality,
                            side_band_.jit->most_rows);
  }

  // A program that is started at a moment knows nothing of the code before, and may make code at once.
  void apply_in_order(const std::vector<JitChange>& changes) {
    auto change = changes.begin();
    for (const Pending& item : pending_) {
      for (; change != changes.end() && change->moment < item.moment; ++change) change->apply(side_band_.history.jit());
      side_band_.history.apply(decoder_.decode(item.record), item.moment);
    }
    for (; change != changes.end(); ++change) change->apply(side_band_.history.jit());
  }

  void note_jit_trace(const Mmap& mmap) {
    if (mmap.kernel || !mmap.executable || mmap.pid < 0) return;
    if (is_jitdump_path(mmap.path)) {
      jit_traces_.insert({mmap.pid, std::string(mmap.path), 0});
    } else if (is_anonymous_memory(mmap.path)) {
      jit_traces_.insert({mmap.pid, {}, 0});
    }
  }

  // When a process last began to run a program.
  void note_begin(const Event& event, uint64_t moment) {
    const auto* comm = std::get_if<Comm>(&event);
    const auto* fork = std::get_if<Fork>(&event);
    if (comm != nullptr && comm->exec) begun_[comm->pid] = std::max(begun_[comm->pid], moment);
    if (fork != nullptr && fork->pid != fork->parent_pid && !fork->synthesized) {
      begun_[fork->pid] = std::max(begun_[fork->pid], moment);
    }
  }

  void note(const Record& record, uint64_t position) {
    const Event event = decoder_.decode(record);
    if (const auto* lost = std::get_if<Lost>(&event)) {
      (lost->samples_record ? losses_.samples : losses_.records) += lost->count;
    } else if (const auto* throttle = std::get_if<Throttle>(&event)) {
      side_band_.quality.throttled += throttle->on;
    } else if (std::holds_alternative<Unknown>(event)) {
      ++side_band_.quality[Reason::unknown_records];
    } else if (std::holds_alternative<Malformed>(event)) {
      ++side_band_.quality[Reason::malformed_records];
    } else if (!std::holds_alternative<Ignored>(event) && !std::holds_alternative<FinishedRound>(event)) {
      uint64_t time = std::visit(
          [](const auto& known) -> uint64_t {
            if constexpr (requires { known.origin.time; }) return known.origin.time;
            return 0;
          },
          event);
      if (const auto* mmap = std::get_if<Mmap>(&event)) note_jit_trace(*mmap);
      // Where such records tell no time, they came after the samples that stand before them.
      if (time == 0 && !decoder_.has_trailer()) time = newest_ == 0 ? 0 : newest_ + 1;
      const uint64_t moment = moment_of(decoder_, time, position);
      pending_.push_back({moment, record});
      note_begin(event, moment);
    }
  }

  const Recording& recording_;
  const Decoder& decoder_;
  SideBand& side_band_;
  const BuildOptions& options_;
  std::set<JitTrace> jit_traces_;
  std::unordered_map<int32_t, uint64_t, base::NumberHash> begun_;
  std::vector<Pending> pending_;
  uint64_t last_sample_ = 0;  // the latest time of the samples that end chunks
  uint64_t newest_ = 0;       // time of the samples so far
  Losses losses_;
};

}  // namespace

SideBand read_side_band(const Recording& recording, const Decoder& decoder, model::ProfileAssembler& assembler,
                        const BuildOptions& options) {
  SideBand side_band{.chunks = {},
                     .history = ProcessHistory(assembler, recording),
                     .quality = recording.quality,
                     .reads = {},
                     .jit = {}};
  Scanner scanner(recording, decoder, side_band, options);
  uint64_t position = 0;
  for (const base::Bytes part : recording.records) {
    scanner.scan(part, position);
    position += part.size();
  }
  scanner.finish();
  return side_band;
}

}  // namespace tephra::stream
