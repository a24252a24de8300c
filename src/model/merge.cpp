#include "model/merge.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/joined_events.h"
#include "model/profile_assembler.h"

namespace tephra::model {
namespace {

// The rows of one profile in the tables of another.
class Translation {
 public:
  // `number`: of the profile among those whose events were joined.
  Translation(const Profile& from, size_t number, const JoinedEvents& events, ProfileAssembler& to)
      : from_(from), to_(to) {
    add_strings();
    add_code();
    for (const Stack& row : from.stacks) {
      const bool none = stacks_.empty();
      stacks_.push_back(none ? StackId{} : to.stack(stacks_[row.parent.value], frames_[row.frame.value]));
    }
    for_each_id(from.events, [&](EventId id) { events_.push_back(events.place(number, id)); });
    for (Thread row : from.threads) {
      row.comm = text(row.comm);
      threads_.push_back(to.thread(row));
    }
    for (const LabelSet& row : from.label_sets) labels_.push_back(to.labels(translated(row)));
  }

  ProfileAssembler::Sample sample(size_t row) {
    const Samples& samples = from_.samples;
    const JoinedEvents::Place& event = events_[samples.event[row].value];
    ProfileAssembler::Sample out{.stack = stacks_[samples.stack[row].value],
                                 .event = event.id,
                                 .thread = threads_[samples.thread[row].value],
                                 .count = samples.count[row]};
    overflows_ = __builtin_mul_overflow(samples.value[row], event.factor, &out.value) || overflows_;
    if (!samples.labels.empty()) out.labels = labels_[samples.labels[row].value];
    return out;
  }
  // Whether a value was too large to be scaled.
  bool overflows() const { return overflows_; }

 private:
  StringId text(StringId id) const { return strings_[id.value]; }

  void add_strings() {
    for (uint32_t i = 0; i < from_.strings.size(); ++i) strings_.push_back(to_.string(from_.strings[StringId{i}]));
  }

  // A file that another run had at another address is the same file: what frames have are places in it.
  std::vector<MappingId> add_mappings() {
    const Table<Mapping, MappingId>& known = to_.so_far().mappings;
    const auto key = [](const Mapping& row) {
      return base::hash_bytes(row.build_id.bytes(), base::mix(row.path.value, row.size));
    };
    std::unordered_map<uint64_t, MappingId> files;  // the first of each
    for_each_id(known, [&](MappingId id) {
      if (known[id].kind == CodeKind::kFile) files.try_emplace(key(known[id]), id);
    });
    std::vector<MappingId> mappings;
    for (Mapping row : from_.mappings) {
      row.path = text(row.path);
      if (const auto found = files.find(key(row)); found != files.end()) {
        Mapping moved = known[found->second];
        moved.base = row.base;
        if (moved == row) row.base = known[found->second].base;
      }
      mappings.push_back(to_.mapping(row));
    }
    return mappings;
  }

  void add_code() {
    const std::vector<MappingId> mappings = add_mappings();
    std::vector<FunctionId> functions;
    for (Function row : from_.functions) {
      row.name = text(row.name);
      row.system_name = text(row.system_name);
      functions.push_back(to_.function(row));
    }
    for (Frame row : from_.frames) {
      row.mapping = mappings[row.mapping.value];
      row.function = functions[row.function.value];
      row.file = text(row.file);
      frames_.push_back(to_.frame(row));
    }
  }

  std::vector<Label> translated(const LabelSet& set) const {
    std::vector<Label> labels = set.labels;
    for (Label& label : labels) label = {text(label.key), text(label.text), label.number, text(label.unit)};
    return labels;
  }

  const Profile& from_;
  ProfileAssembler& to_;
  std::vector<StringId> strings_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<JoinedEvents::Place> events_;
  bool overflows_ = false;
  std::vector<ThreadId> threads_;
  std::vector<LabelSetId> labels_;
};

// Which columns all profiles have.
struct Columns {
  bool time = true;
  bool cpu = true;
  bool walk_end = true;

  explicit Columns(std::span<const Profile> profiles) {
    for (const Profile& profile : profiles) {
      if (profile.samples.size() == 0) continue;
      time = time && !profile.samples.time.empty();
      cpu = cpu && !profile.samples.cpu.empty();
      walk_end = walk_end && !profile.samples.walk_end.empty();
    }
  }
};

// Samples joined by what they agree in.
class JoinedSamples {
 public:
  void add(const ProfileAssembler::Sample& sample) {
    const auto [begin, end] = index_.equal_range(hash_of(sample));
    for (auto at = begin; at != end; ++at) {
      ProfileAssembler::Sample& row = rows_[at->second];
      if (!same(row, sample)) continue;
      overflows_ = __builtin_add_overflow(row.count, sample.count, &row.count) || overflows_;
      overflows_ = __builtin_add_overflow(row.value, sample.value, &row.value) || overflows_;
      return;
    }
    index_.emplace(hash_of(sample), rows_.size());
    rows_.push_back(sample);
  }
  const std::vector<ProfileAssembler::Sample>& rows() const { return rows_; }
  bool overflows() const { return overflows_; }

 private:
  static uint64_t hash_of(const ProfileAssembler::Sample& row) {
    const uint64_t places = base::mix(row.stack.value, uint64_t{row.event.value} << 32 | row.thread.value);
    return base::mix(places, uint64_t{row.labels.value} << 32 | static_cast<uint32_t>(row.cpu.value_or(-1)));
  }
  static bool same(const ProfileAssembler::Sample& a, const ProfileAssembler::Sample& b) {
    return a.stack == b.stack && a.event == b.event && a.thread == b.thread && a.labels == b.labels && a.cpu == b.cpu &&
           a.walk_end == b.walk_end;
  }

  std::vector<ProfileAssembler::Sample> rows_;
  std::unordered_multimap<uint64_t, size_t> index_;
  bool overflows_ = false;
};

template <class Value>
void keep_if_same(Value& fact, const Value& other) {
  if (!(fact == other)) fact = Value{};
}

bool has_times(const RecordingFacts& facts) { return facts.last_time != 0; }

// As long as the samples are apart, unless the profile says it.
int64_t duration_of(const RecordingFacts& facts) {
  if (facts.duration_ns != 0 || !has_times(facts)) return facts.duration_ns;
  const uint64_t apart = facts.last_time - std::min(facts.first_time, facts.last_time);
  return static_cast<int64_t>(std::min<uint64_t>(apart, INT64_MAX));
}

// As pprof does: what was watched, whether at the same time or not.
int64_t sum_of_durations(const RecordingFacts& facts, const RecordingFacts& other) {
  int64_t sum = 0;
  const bool overflows = __builtin_add_overflow(duration_of(facts), duration_of(other), &sum);
  return overflows ? INT64_MAX : sum;
}

// Facts on which profiles agree; the time that they cover together.
RecordingFacts common_facts(RecordingFacts facts, const RecordingFacts& other) {
  // Of stacks that were imported nothing says whether they are whole, so neither of what they are joined with.
  const bool imported = facts.engine == kEngineImported || other.engine == kEngineImported;
  const bool agree = facts.engine == other.engine;
  for (std::string RecordingFacts::*const fact :
       {&RecordingFacts::format, &RecordingFacts::engine, &RecordingFacts::clock, &RecordingFacts::host,
        &RecordingFacts::os_release, &RecordingFacts::arch, &RecordingFacts::command_line,
        &RecordingFacts::default_event, &RecordingFacts::drop_frames, &RecordingFacts::keep_frames}) {
    keep_if_same(facts.*fact, other.*fact);
  }
  if (!agree) facts.engine = imported ? kEngineImported : kEngineSeveral;
  keep_if_same(facts.period, other.period);
  facts.duration_ns = sum_of_durations(facts, other);
  if (has_times(other)) {
    facts.first_time = has_times(facts) ? std::min(facts.first_time, other.first_time) : other.first_time;
    facts.last_time = std::max(facts.last_time, other.last_time);
  }
  const bool both_started = facts.started_unix_ns != 0 && other.started_unix_ns != 0;
  facts.started_unix_ns = both_started ? std::min(facts.started_unix_ns, other.started_unix_ns)
                                       : facts.started_unix_ns + other.started_unix_ns;
  for (const std::string& comment : other.comments) {
    if (std::find(facts.comments.begin(), facts.comments.end(), comment) == facts.comments.end()) {
      facts.comments.push_back(comment);
    }
  }
  if (facts.recorder_cpu_seconds && other.recorder_cpu_seconds) {
    *facts.recorder_cpu_seconds += *other.recorder_cpu_seconds;
  } else {
    facts.recorder_cpu_seconds.reset();
  }
  keep_if_same(facts.steal_share, other.steal_share);
  return facts;
}

}  // namespace

base::Result<Profile> merge(std::span<const Profile> profiles) {
  const auto too_large = [] { return base::failed("cannot join the profiles", "", "their sums exceed 64 bits"); };
  ProfileAssembler assembler;
  const Columns columns(profiles);
  const JoinedEvents events(profiles, assembler);
  JoinedSamples joined;
  std::vector<ProfileAssembler::Sample> single;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const Profile& profile = profiles[i];
    Translation translation(profile, i, events, assembler);
    for (size_t row = 0; row < profile.samples.size(); ++row) {
      ProfileAssembler::Sample sample = translation.sample(row);
      if (columns.cpu) sample.cpu = profile.samples.cpu[row];
      if (columns.walk_end) sample.walk_end = profile.samples.walk_end[row];
      if (columns.time) sample.time = profile.samples.time[row];
      columns.time ? single.push_back(sample) : joined.add(sample);
    }
    if (translation.overflows()) return too_large();
    assembler.quality() += profile.quality;
    assembler.facts() = i == 0 ? profile.facts : common_facts(assembler.facts(), profile.facts);
    assembler.facts().names.reset();
  }
  std::stable_sort(single.begin(), single.end(), [](const auto& a, const auto& b) { return *a.time < *b.time; });
  for (const ProfileAssembler::Sample& sample : columns.time ? single : joined.rows()) assembler.sample(sample);
  Profile merged = std::move(assembler).finish();
  if (joined.overflows() || !sums_fit(merged)) return too_large();
  return merged;
}

}  // namespace tephra::model
