#include "stream/profile_builder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "base/parallel.h"
#include "model/lock_places.h"
#include "model/profile_assembler.h"
#include "stream/chain_maker.h"
#include "stream/converted_facts.h"
#include "stream/decoder.h"
#include "stream/event_name.h"
#include "stream/recorded_unwinder.h"
#include "stream/sample_table.h"
#include "stream/side_band.h"
#include "stream/stack_resolver.h"
#include "stream/tcp_reading.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

using model::Reason;

constexpr uint32_t kDefaultMaxStack = 127;

constexpr int32_t kNobody = -2;  // no process of a sample

// The process that recorded, whose samples are not what was asked for; kNobody where they are.
int32_t recorder_to_leave_out(const Recording& recording, const SampleFilter& filter) {
  if (filter.keep_own || !recording.recorder || !recording.recorder->recorder_pid) return kNobody;
  // What passes a filter for tasks was named by it.
  if (!filter.pids.empty() || !filter.tids.empty() || !filter.comms.empty()) return kNobody;
  const auto pid = static_cast<int32_t>(*recording.recorder->recorder_pid);
  const bool asked = std::find(filter.asked_for.begin(), filter.asked_for.end(), pid) != filter.asked_for.end();
  return pid <= 0 || asked || records_process(recording.facts.command_line, pid) ? kNobody : pid;
}

// Everything a thread needs to turn samples into keys; remembers the last answers of the history, which mostly hold for
// the next sample too.
class KeyMaker {
 public:
  KeyMaker(const Recording& recording, const Decoder& decoder, const ProcessHistory& history,
           const model::Profile& so_far, const BuildOptions& options)
      : recording_(recording),
        decoder_(decoder),
        history_(history),
        strings_(so_far.strings),
        options_(options),
        chains_(recording, history, so_far, options.unwinder, options.stitch_branches) {
    recorder_ = recorder_to_leave_out(recording, options.filter);
    // Time is idle; a tracepoint that the idle task hits is an event like any other, and so is what it wakes, and what
    // happens to connections whose owner is not known.
    for (const RecordedEvent& event : recording.events) {
      is_time_.push_back(event.layout.type != PERF_TYPE_TRACEPOINT && event.name != kWakersEvent && event.name != kTcpRecorded);
    }
    wanted_.assign(recording.events.size(), options.filter.events.empty());
    for (size_t i = 0; i < wanted_.size(); ++i) {
      for (const std::string& name : options.filter.events) wanted_[i] = wanted_[i] || recording.events[i].name == name;
    }
  }

  // The next sample but one, or the next: its memory may be asked for.
  void expect(const Sample& sample) { chains_.expect(sample); }

  enum class Answer { kTake, kLeave, kIdle, kOwn };

  Answer make(const Sample& sample, uint64_t position, SampleKey& key) {
    const Origin& origin = sample.origin;
    if (!wanted_[origin.event] || !options_.filter.takes(origin)) return Answer::kLeave;
    if (origin.pid == 0 && !options_.filter.keep_idle && is_time_[origin.event] != 0) return Answer::kIdle;
    if (origin.pid == recorder_) return Answer::kOwn;
    const uint64_t moment = moment_of(decoder_, origin.time, position);
    look_up(origin, moment);
    if (!takes_comm()) return Answer::kLeave;
    key.event = origin.event;
    key.pid = origin.pid;
    key.tid = origin.tid;
    key.cpu = options_.keep_cpu ? origin.cpu : -1;
    key.time = options_.time_step != 0 ? origin.time - origin.time % options_.time_step : 0;
    key.comm = comm_.value;
    key.user_space = user_space_.value;
    key.kernel_space = kernel_space_.value;
    key.jit = jit_.value;
    key.labels = sample.labels;
    key.mode = sample.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    key.space_before_exec = key.mode == PERF_RECORD_MISC_KERNEL ? before_exec_.value : AddressSpaces::kEmpty;
    chains_.make(sample, position, key);
    return Answer::kTake;
  }

 private:
  void look_up(const Origin& origin, uint64_t moment) {
    if (origin.pid != pid_ || !user_space_.covers(moment)) user_space_ = history_.address_space(origin.pid, moment);
    if (origin.pid != pid_ || !before_exec_.covers(moment)) {
      before_exec_ = history_.space_before_exec(origin.pid, moment);
    }
    if (origin.tid != tid_ || origin.pid != pid_ || !comm_.covers(moment))
      comm_ = history_.comm(origin.pid, origin.tid, moment);
    if (!kernel_space_.covers(moment)) kernel_space_ = history_.kernel_space(moment);
    if (origin.pid != pid_ || !jit_.covers(moment)) jit_ = history_.jit().view(origin.pid, moment);
    pid_ = origin.pid;
    tid_ = origin.tid;
  }

  bool takes_comm() const {
    const auto& wanted = options_.filter.comms;
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), strings_[comm_.value]) != wanted.end();
  }

  const Recording& recording_;
  const Decoder& decoder_;
  const ProcessHistory& history_;
  const model::StringTable& strings_;
  const BuildOptions& options_;
  ChainMaker chains_;
  std::vector<char> wanted_;
  std::vector<char> is_time_;  // by event: the idle task's samples of it say only that a CPU was idle
  int32_t recorder_ = kNobody;
  int32_t pid_ = -2;
  int32_t tid_ = -2;
  ProcessHistory::Period<AddressSpaces::State> user_space_;
  ProcessHistory::Period<AddressSpaces::State> before_exec_;
  ProcessHistory::Period<AddressSpaces::State> kernel_space_{.from = 1, .until = 0};
  ProcessHistory::Period<model::StringId> comm_;
  JitCode::ViewPeriod jit_;
};

// What reading samples gives beside the table of them.
struct ReadCounts {
  uint64_t malformed = 0;
  uint64_t unknown_event = 0;
  uint64_t idle = 0;
  uint64_t own = 0;
  uint64_t taken = 0;
  uint64_t left = 0;  // by the filter
  uint64_t first_time = UINT64_MAX;
  uint64_t last_time = 0;

  // Whether the sample is taken.
  bool note(KeyMaker::Answer answer, const Sample& sample) {
    if (answer == KeyMaker::Answer::kIdle) idle += sample.count;
    if (answer == KeyMaker::Answer::kOwn) own += sample.count;
    if (answer == KeyMaker::Answer::kLeave) left += sample.count;
    if (answer != KeyMaker::Answer::kTake) return false;
    taken += sample.count;
    first_time = std::min(first_time, sample.origin.time);
    last_time = std::max(last_time, sample.origin.time);
    return true;
  }
  // Counts a sample that could not be decoded.
  void refuse(const Decoder& decoder, const Record& record) {
    ++(decoder.knows_event(record) ? malformed : unknown_event);
  }
  void add(const ReadCounts& other) {
    malformed += other.malformed;
    unknown_event += other.unknown_event;
    idle += other.idle;
    own += other.own;
    taken += other.taken;
    left += other.left;
    first_time = std::min(first_time, other.first_time);
    last_time = std::max(last_time, other.last_time);
  }
};

// Calls visit(sample) for each sample that a record stands for.
template <class Visit>
void for_each_part(const SideBand& side_band, const ReadingIndex& readings, Sample& sample, uint64_t position,
                   Visit visit) {
  if (const SampleReading* reading = readings.of(sample.origin.event)) {
    std::vector<SampleReading::Part> parts;
    reading->read(sample, position, parts);
    const uint32_t event = sample.origin.event;
    sample.origin.time = reading->time_of(sample);
    for (const SampleReading::Part& part : parts) {
      sample.origin.event = part.event;
      sample.period = part.value;
      sample.count = part.count;
      sample.labels = readings.labels(event, part);
      visit(sample);
    }
    return;
  }
  if (!side_band.reads || sample.read.stride == 0) return visit(sample);
  for (const CounterReads::Part& part : side_band.reads->of(position)) {
    sample.origin.event = part.event;
    sample.period = part.period;
    visit(sample);
  }
}

// Calls visit(sample, position) for the samples of a chunk, and expect(sample) for each while the one before it is
// still to be visited.
template <class Expect, class Visit>
void for_each_in_chunk(const Decoder& decoder, const SideBand& side_band, const ReadingIndex& readings,
                       const Chunk& chunk, ReadCounts& counts, Expect expect, Visit visit) {
  struct Decoded {
    Sample sample;
    uint64_t position;
  };
  RecordWalker walker(chunk.bytes);
  Record record;
  std::array<Decoded, 2> decoded;
  size_t count = 0;
  const auto visit_number = [&](size_t number) {
    Decoded& one = decoded[number % 2];
    for_each_part(side_band, readings, one.sample, one.position,
                  [&](const Sample& part) { visit(part, one.position); });
  };
  for (size_t at = 0; walker.next(record); at = walker.position()) {
    if (record.type != PERF_RECORD_SAMPLE) continue;
    Decoded& next = decoded[count % 2];
    next.position = chunk.position + at;
    if (!decoder.decode_sample(record, next.sample)) {
      counts.refuse(decoder, record);
      continue;
    }
    expect(next.sample);
    if (count > 0) visit_number(count - 1);
    ++count;
  }
  if (count > 0) visit_number(count - 1);
}

// Turns rows of equal samples into rows of the profile.
class RowWriter {
 public:
  RowWriter(const Recording& recording, const SideBand& side_band, const ReadingIndex& readings,
            model::ProfileAssembler& assembler)
      : recording_(recording),
        side_band_(side_band),
        assembler_(assembler),
        resolver_(assembler, side_band.history, recording.interpreted_code) {
    for (const RecordedEvent& event : recording.events) {
      const std::string_view unit = event.unit.empty() ? unit_of(event.layout) : event.unit;
      events_.push_back(assembler.event(
          {assembler.string(event.name), assembler.string(unit), assembler.string(event.counted), event.uncounted}));
    }
    for (const SampleReading::Labels* labels : readings.label_sets()) labels_.push_back(given_labels(*labels));
  }

  // The parts of a profile sample that depend on the key alone.
  model::ProfileAssembler::Sample describe(const SampleKey& key) {
    const auto resolved = resolver_.resolve(key);
    faults_ = {};
    const EventLayout& layout = recording_.events[key.event].layout;
    const uint32_t limit = layout.sample_max_stack != 0 ? layout.sample_max_stack : kDefaultMaxStack;
    // Members of a group may not ask for stacks themselves and have those of their leader.
    if (!(layout.sample_type & PERF_SAMPLE_CALLCHAIN) && !key.has_callchain)
      faults_.push_back(Reason::stacks_not_recorded);
    if (key.has_user_stack && key.walk_end == TEPHRA_WALK_NOT_TOLD) faults_.push_back(Reason::stack_copy_not_unwound);
    walked_in_kernel_ = walked_in_kernel_ || (!key.has_user_stack && key.walk_end != TEPHRA_WALK_NOT_TOLD);
    used_branches_ = used_branches_ || key.exact_addresses > 0;
    if (key.has_callchain && resolved.addresses == limit) faults_.push_back(Reason::depth_limit);
    const bool kernel_thread = side_band_.history.is_kernel_thread(key.pid);
    const bool wants_user_frames = layout.sample_type & PERF_SAMPLE_CALLCHAIN && !layout.exclude_callchain_user;
    if (wants_user_frames && !kernel_thread && !resolved.has_user_frame) {
      faults_.push_back(Reason::user_stack_missing);
    }
    // What is not in the file was not in the profile that it was written from, which told why.
    if (recording_.converted) faults_.clear();
    return {.stack = resolved.stack,
            .event = events_[key.event],
            .thread = assembler_.thread(thread_of(key, kernel_thread)),
            .walk_end = key.walk_end,
            .labels = labels_of(key)};
  }

  // Counts what was wrong with the key described last, for `count` samples.
  void count_faults(uint64_t count) {
    for (const Reason reason : faults_) assembler_.quality()[reason] += count;
  }
  const std::vector<Reason>& faults() const { return faults_; }
  // How stacks were taken, known when all keys were described.
  std::string_view engine() const {
    uint64_t types = 0;
    for (const RecordedEvent& event : recording_.events) types |= event.layout.sample_type;
    if (walked_in_kernel_) return model::kEngineInKernel;
    if (types & PERF_SAMPLE_STACK_USER) return model::kEngineStackCopies;
    if (used_branches_) return model::kEngineBranches;
    return types & PERF_SAMPLE_CALLCHAIN ? model::kEngineFramePointers : "none";
  }

 private:
  struct GivenLabels {
    const SampleReading::Labels* labels = nullptr;
    uint64_t lock = 0;      // the address of a lock, which each process has elsewhere
    model::LabelSetId set;  // the same for all processes, where there is no lock
  };

  GivenLabels given_labels(const SampleReading::Labels& labels) {
    const auto lock = std::ranges::find(labels, model::kLockKey, &SampleReading::Label::key);
    const uint64_t address = lock == labels.end() ? 0 : static_cast<uint64_t>(lock->number);
    return {&labels, address, address == 0 ? label_set(labels, model::FrameId{}) : model::LabelSetId{}};
  }
  model::LabelSetId labels_of(const SampleKey& key) {
    const GivenLabels& given = labels_[key.labels];
    if (given.lock == 0) return given.set;
    const auto [at, fresh] = labels_of_locks_.try_emplace({key.labels, key.user_space});
    if (fresh) at->second = label_set(*given.labels, lock_place(key.user_space, given.lock));
    return at->second;
  }
  model::LabelSetId label_set(const SampleReading::Labels& labels, model::FrameId lock) {
    std::vector<model::Label> rows;
    for (const SampleReading::Label& label : labels) {
      const int64_t number = label.key == model::kLockKey ? int64_t{lock.value} : label.number;
      rows.push_back(
          {assembler_.string(label.key), assembler_.string(label.text), number, assembler_.string(label.unit)});
    }
    return rows.empty() ? model::LabelSetId{} : assembler_.labels(std::move(rows));
  }
  // The frame for data at an address: of the file whose code is next below it, since files have their data behind their
  // code. Whether its data reaches so far is for symbols/ to find.
  model::FrameId lock_place(AddressSpaces::State space, uint64_t address) {
    const MappedRange* code = side_band_.history.spaces().find_below(space, address);
    if (code == nullptr || address < code->end) return {};
    if (assembler_.so_far().mappings[code->mapping].kind != model::CodeKind::kFile) return {};
    const uint64_t place = code->offset + (address - code->start);
    if (place < code->offset || model::is_data_address(place)) return {};
    return assembler_.frame({.mapping = code->mapping, .address = model::kDataAddress | place});
  }
  model::Thread thread_of(const SampleKey& key, bool kernel_thread) {
    model::StringId comm = key.comm;
    // What has no name in a file that was written from a profile had none there, and perhaps no number either.
    if (!comm && !recording_.converted) {
      comm = assembler_.string(key.pid == 0 ? "swapper" : ":" + std::to_string(key.tid));
    }
    const auto number = [&](int32_t id) { return recording_.converted && id >= kFirstMadeUpPid ? -1 : id; };
    return {number(key.pid), number(key.tid), comm, kernel_thread};
  }

  const Recording& recording_;
  const SideBand& side_band_;
  model::ProfileAssembler& assembler_;
  StackResolver resolver_;
  std::vector<model::EventId> events_;
  std::vector<GivenLabels> labels_;  // by number of ReadingIndex
  std::map<std::pair<uint32_t, AddressSpaces::State>, model::LabelSetId> labels_of_locks_;
  std::vector<Reason> faults_;
  bool walked_in_kernel_ = false;
  bool used_branches_ = false;
};

struct Job {
  const Recording& recording;
  const BuildOptions& options;
  const Decoder& decoder;
  const SideBand& side_band;
  const ReadingIndex& readings;
  const model::Profile& so_far;  // holds all strings and mappings of the side band

  KeyMaker key_maker() const { return {recording, decoder, side_band.history, so_far, options}; }
};

// Chunks that a thread takes at once: enough that one sample mostly resembles the one before, few enough to balance.
constexpr size_t kChunksAtOnce = 8;

// One thread's part of the samples.
class SampleCounter {
 public:
  explicit SampleCounter(const Job& job) : job_(job), keys_(job.key_maker()) {}

  void count(const Chunk& chunk) {
    for_each_in_chunk(
        job_.decoder, job_.side_band, job_.readings, chunk, counts_,
        [&](const Sample& sample) { keys_.expect(sample); },
        [&](const Sample& sample, uint64_t position) {
          if (!counts_.note(keys_.make(sample, position, key_), sample)) return;
          table_.add(key_, position, sample.count, sample.period);
        });
    if (job_.options.done_with) job_.options.done_with(chunk.bytes);
  }
  const SampleTable& table() const { return table_; }
  const ReadCounts& counts() const { return counts_; }

 private:
  const Job& job_;
  KeyMaker keys_;
  SampleKey key_;
  SampleTable table_;
  ReadCounts counts_;
};

// Counts equal samples over all chunks, in parallel.
SampleTable count_samples(const Job& job, ReadCounts& total) {
  SampleTable table;
  std::mutex mutex;
  const std::vector<Chunk>& chunks = job.side_band.chunks;
  std::atomic<size_t> next{0};
  base::parallel_for(std::min<size_t>(chunks.size(), base::worker_count()), [&](size_t) {
    SampleCounter counter(job);
    for (size_t i = next.fetch_add(kChunksAtOnce); i < chunks.size(); i = next.fetch_add(kChunksAtOnce)) {
      for (size_t j = i; j < std::min(i + kChunksAtOnce, chunks.size()); ++j) counter.count(chunks[j]);
    }
    const std::lock_guard lock(mutex);
    table.merge(counter.table());
    total.add(counter.counts());
  });
  table.sort();
  return table;
}

// Where a sample is, in time order.
struct SamplePlace {
  uint64_t moment;
  uint64_t position;
  Record record;
};

// When a sample is shown. What cannot be decoded is at its record's time, where that is counted.
uint64_t shown_time(const Decoder& decoder, const ReadingIndex& readings, const Record& record, Sample& sample) {
  if (readings.empty() || !decoder.decode_sample(record, sample)) return decoder.time_of(record);
  const SampleReading* reading = readings.of(sample.origin.event);
  return reading == nullptr ? sample.origin.time : reading->time_of(sample);
}

std::vector<SamplePlace> places_in_order(const Decoder& decoder, const ReadingIndex& readings,
                                         const std::vector<Chunk>& chunks) {
  std::vector<SamplePlace> places;
  Sample sample;
  for (const Chunk& chunk : chunks) {
    RecordWalker walker(chunk.bytes);
    Record record;
    for (size_t at = 0; walker.next(record); at = walker.position()) {
      if (record.type != PERF_RECORD_SAMPLE) continue;
      const uint64_t position = chunk.position + at;
      places.push_back({moment_of(decoder, shown_time(decoder, readings, record, sample), position), position, record});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const SamplePlace& a, const SamplePlace& b) { return a.moment < b.moment; });
  return places;
}

// Visits the samples that pass the filter in time order, with their keys.
template <class Visit>
void visit_in_order(const Job& job, ReadCounts& counts, Visit visit) {
  KeyMaker keys = job.key_maker();
  Sample sample;
  SampleKey key;
  for (const SamplePlace& place : places_in_order(job.decoder, job.readings, job.side_band.chunks)) {
    if (!job.decoder.decode_sample(place.record, sample)) {
      counts.refuse(job.decoder, place.record);
      continue;
    }
    for_each_part(job.side_band, job.readings, sample, place.position, [&](const Sample& part) {
      if (!counts.note(keys.make(part, place.position, key), part)) return;
      visit(part, key, place.position);
    });
  }
}

// As count_samples, with one thread and in the order of time.
SampleTable count_in_order(const Job& job, ReadCounts& counts) {
  SampleTable table;
  visit_in_order(job, counts, [&](const Sample& sample, const SampleKey& key, uint64_t position) {
    table.add(key, position, sample.count, sample.period);
  });
  table.sort();
  return table;
}

void write_counted(const Job& job, model::ProfileAssembler& assembler, ReadCounts& counts) {
  const SampleTable table = job.options.stitch_branches ? count_in_order(job, counts) : count_samples(job, counts);
  RowWriter writer(job.recording, job.side_band, job.readings, assembler);
  const bool times = job.options.time_step != 0 && (!job.recording.converted || job.decoder.has_time());
  for (const SampleTable::Row& row : table.rows()) {
    auto sample = writer.describe(row.key);
    writer.count_faults(row.count);
    sample.count = row.count;
    sample.value = row.value;
    if (job.options.keep_cpu) sample.cpu = row.key.cpu;
    if (times) sample.time = row.key.time;
    assembler.sample(sample);
  }
  assembler.facts().engine = writer.engine();
}

void write_every(const Job& job, model::ProfileAssembler& assembler, ReadCounts& counts) {
  RowWriter writer(job.recording, job.side_band, job.readings, assembler);
  SampleTable known;
  std::vector<model::ProfileAssembler::Sample> described;
  std::vector<std::vector<Reason>> faults;
  // A profile whose samples had no times still has none; of a recording it is known that they are 0.
  const bool has_times = !job.recording.converted || job.decoder.has_time();
  const bool has_cpus = !job.recording.converted || job.decoder.has_cpu();
  visit_in_order(job, counts, [&](const Sample& sample, const SampleKey& key, uint64_t position) {
    const uint32_t row = known.find_or_add(key, position);
    if (row == described.size()) {
      described.push_back(writer.describe(key));
      faults.push_back(writer.faults());
    }
    auto out = described[row];
    for (const Reason reason : faults[row]) ++assembler.quality()[reason];
    out.count = sample.count;
    out.value = sample.period;
    if (has_times) out.time = sample.origin.time;
    if (has_cpus) out.cpu = sample.origin.cpu;
    assembler.sample(out);
  });
  assembler.facts().engine = writer.engine();
}

void add_costs(const RecorderFacts& recorder, model::RecordingFacts& facts) {
  facts.recorder_cpu_seconds = recorder.recorder_cpu_seconds;
  if (recorder.copy_sizes) facts.copy_sizes = parse_copy_sizes(*recorder.copy_sizes);
  if (recorder.steal_seconds && recorder.cpu_seconds_total && *recorder.cpu_seconds_total > 0) {
    facts.steal_share = std::clamp(*recorder.steal_seconds / *recorder.cpu_seconds_total, 0.0, 1.0);
  }
}

// Where the file's pages hold copies of stacks, mapping them costs as much as the walks. It is done once, by all
// threads, and they stay, unless that is too much.
constexpr size_t kMostBytesKept = size_t{1} << 30;
constexpr size_t kBytesFetchedAtOnce = 16 << 20;

bool are_kept(const Recording& recording, const BuildOptions& options) {
  size_t size = 0;
  for (const base::Bytes part : recording.records) size += part.size();
  const bool copies = std::any_of(recording.events.begin(), recording.events.end(), [](const RecordedEvent& event) {
    return event.layout.sample_type & PERF_SAMPLE_STACK_USER;
  });
  return copies && options.unwinder != nullptr && size <= kMostBytesKept;
}

void fetch(const Recording& recording, const std::function<void(base::Bytes)>& will_read) {
  if (!will_read) return;
  std::vector<base::Bytes> pieces;
  for (base::Bytes rest : recording.records) {
    while (!rest.empty()) {
      pieces.push_back(rest.first(std::min(rest.size(), kBytesFetchedAtOnce)));
      rest = rest.subspan(pieces.back().size());
    }
  }
  base::parallel_for(pieces.size(), [&](size_t i) { will_read(pieces[i]); });
}

}  // namespace

model::Profile build_profile(const Recording& recording, const BuildOptions& given) {
  BuildOptions options = given;
  std::optional<RecordedUnwinder> recorded;
  if (recording.walks) options.unwinder = &recorded.emplace(*recording.walks, given.unwinder);
  if (are_kept(recording, options)) {
    fetch(recording, options.will_read);
    options.done_with = nullptr;
  }
  model::ProfileAssembler assembler;
  const Decoder decoder(recording);
  assembler.facts() = recording.facts;
  const SideBand side_band = read_side_band(recording, decoder, assembler, options);
  assembler.quality() = side_band.quality;
  ReadCounts counts;
  const ReadingIndex readings(recording);
  const Job job{recording, options, decoder, side_band, readings, assembler.so_far()};
  if (options.keep_every_sample) {
    write_every(job, assembler, counts);
  } else {
    write_counted(job, assembler, counts);
  }
  assembler.quality().idle += counts.idle;
  assembler.quality().own += counts.own;
  assembler.quality()[Reason::malformed_records] += counts.malformed;
  assembler.quality()[Reason::unknown_event] += counts.unknown_event;
  if (recording.recorder) add_costs(*recording.recorder, assembler.facts());
  if (counts.first_time <= counts.last_time) {
    assembler.facts().first_time = counts.first_time;
    assembler.facts().last_time = counts.last_time;
  }
  model::Profile profile = std::move(assembler).finish();
  if (recording.converted) {
    const uint64_t all = counts.taken + counts.left + counts.idle + counts.own;
    add_profile_facts(*recording.recorder, {counts.taken, all}, profile);
  }
  if (!recording.symbols.empty() && !profile.facts.names) {
    profile.facts.names = std::make_shared<const model::EmbeddedNames>(name_frames(recording.symbols, profile));
  }
  return profile;
}

void for_each_sample(const Recording& recording, const SampleFilter& filter,
                     const std::function<void(const Sample&)>& visit) {
  model::ProfileAssembler assembler;
  const Decoder decoder(recording);
  const SideBand side_band = read_side_band(recording, decoder, assembler);
  BuildOptions options;
  options.filter = filter;
  ReadCounts counts;
  const ReadingIndex readings(recording);
  const Job job{recording, options, decoder, side_band, readings, assembler.so_far()};
  visit_in_order(job, counts, [&](const Sample& sample, const SampleKey&, uint64_t) { visit(sample); });
}

}  // namespace tephra::stream
