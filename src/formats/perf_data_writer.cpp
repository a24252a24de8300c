#include "formats/perf_data_writer.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "abi/walk_end.h"
#include "base/number_hash.h"
#include "formats/code_layout.h"
#include "formats/perf_data_sections.h"
#include "stream/converted_facts.h"
#include "stream/embedded_names.h"
#include "stream/event_name.h"
#include "stream/jit_log.h"
#include "stream/jit_traces.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::formats {
namespace {

using model::CodeKind;
using model::Profile;
using model::StackId;
using stream::put;
using stream::put_name;

constexpr uint16_t kMiscBuildId = 1 << 14;  // in MMAP2
constexpr uint16_t kKsymbolOutOfLine = 2;   // PERF_RECORD_KSYMBOL_TYPE_OOL
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxKernelName = 255;
// A record has 16 bits for its size.
constexpr size_t kMostAddresses = 8000;

constexpr auto kUserMarker = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr auto kKernelMarker = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);

struct Task {
  int32_t pid = 0;
  int32_t tid = 0;
};

// Which fields samples have.
struct SampleFields {
  uint64_t type = 0;  // PERF_SAMPLE_*
  bool has(uint64_t field) const { return (type & field) != 0; }
};

int clock_of(std::string_view name) {
  if (name == "CLOCK_MONOTONIC") return CLOCK_MONOTONIC;
  if (name == "CLOCK_MONOTONIC_RAW") return CLOCK_MONOTONIC_RAW;
  if (name == "CLOCK_REALTIME") return CLOCK_REALTIME;
  if (name == "CLOCK_BOOTTIME") return CLOCK_BOOTTIME;
  return -1;
}

// The kernel's event of this name. Other events are of a kind that perf takes for anything: the output of programs.
std::pair<uint32_t, uint64_t> kind_of_event(std::string_view name) {
  const std::string_view plain = name.substr(0, name.find(':'));
  for (const uint32_t type : {uint32_t{PERF_TYPE_SOFTWARE}, uint32_t{PERF_TYPE_HARDWARE}}) {
    for (uint64_t config = 0; config < PERF_COUNT_HW_MAX; ++config) {
      stream::EventLayout layout;
      layout.type = type;
      layout.config = config;
      if (stream::name_of(layout) == plain) return {type, config};
    }
  }
  return {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT};
}

// Those that stand for something: pprof has rows of which nothing is left in one of its values.
std::vector<size_t> rows_with_samples(const model::Samples& samples) {
  std::vector<size_t> rows;
  rows.reserve(samples.size());
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples.count[row] != 0 || samples.value[row] != 0) rows.push_back(row);
  }
  return rows;
}

class Writer {
 public:
  explicit Writer(const Profile& profile)
      : profile_(profile), layout_(profile), rows_(rows_with_samples(profile.samples)) {
    fields_.type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
    if (!profile.samples.time.empty()) fields_.type |= PERF_SAMPLE_TIME;
    if (std::ranges::any_of(profile.samples.cpu, [](int32_t cpu) { return cpu >= 0; })) fields_.type |= PERF_SAMPLE_CPU;
    if (std::ranges::any_of(rows_, [&](size_t row) { return profile.samples.count[row] != 1; })) {
      fields_.type |= PERF_SAMPLE_WEIGHT;
    }
  }

  base::Result<std::string> write() && {
    describe_events();
    find_processes();
    put_kernel();
    put_processes();
    put_losses();
    put_samples();
    put_record(stream::kRecordFinishedRound, 0, {});
    TEPHRA_CHECK_OK(add_features());
    return file();
  }

 private:
  void describe_events() {
    const int clock = clock_of(profile_.facts.clock);
    model::for_each_id(profile_.events, [&](model::EventId id) {
      FileEvent event;
      event.name = profile_.text(profile_.events[id].name);
      event.ids = {id.value + 1};
      perf_event_attr& attr = event.attr;
      attr.size = kernel::kAttrSize;
      const auto [type, config] = kind_of_event(event.name);
      attr.type = type;
      attr.config = config;
      attr.sample_period = 1;
      attr.sample_type = fields_.type;
      attr.read_format = PERF_FORMAT_ID;
      attr.sample_id_all = 1;
      attr.build_id = 1;
      attr.use_clockid = clock >= 0;
      attr.clockid = clock >= 0 ? clock : 0;
      attr.mmap = attr.mmap2 = attr.comm = attr.task = id.value == 0;
      events_.push_back(std::move(event));
      stream::EventLayout layout;
      layout.type = type;
      layout.config = config;
      units_.push_back(stream::unit_of(layout));
    });
  }

  // Tasks without numbers get some; see kFirstMadeUpPid.
  Task task_of(model::ThreadId id) const {
    const model::Thread& thread = profile_.threads[id];
    const int32_t made_up = stream::kFirstMadeUpPid + static_cast<int32_t>(id.value);
    return {thread.pid < 0 ? made_up : thread.pid, thread.tid < 0 ? made_up : thread.tid};
  }

  struct Process {
    bool user = false;            // it has memory of its own
    std::set<uint32_t> ranges{};  // of the layout
  };

  void find_processes() {
    std::set<std::pair<int32_t, uint32_t>> seen;
    for (const size_t row : rows_) {
      const model::ThreadId thread = profile_.samples.thread[row];
      Process& process = processes_[task_of(thread).pid];
      process.user = process.user || !profile_.threads[thread].kernel_thread;
      for (StackId at = profile_.samples.stack[row]; at; at = layout_.caller(at)) {
        if (!seen.emplace(task_of(thread).pid, at.value).second) break;  // and so were its callers
        const CodeLayout::Place& place = layout_.place(at);
        if (!place.kernel && place.range != CodeLayout::kNoRange) process.ranges.insert(place.range);
      }
    }
    processes_of_range_.resize(layout_.ranges().size());
    for (const auto& [pid, process] : processes_) {
      for (const uint32_t range : process.ranges) processes_of_range_[range].push_back(pid);
    }
  }

  void put_record(uint32_t type, uint16_t misc, std::string_view body) {
    perf_event_header header{};
    header.type = type;
    header.misc = misc;
    header.size = static_cast<uint16_t>(sizeof header + body.size());
    put(data_, header);
    data_ += body;
  }

  // A record that is no sample: who and when follows its content.
  void put_side_record(uint32_t type, uint16_t misc, std::string body, Task task, uint64_t time = 0) {
    put(body, task.pid);
    put(body, task.tid);
    if (fields_.has(PERF_SAMPLE_TIME)) put(body, time);
    if (fields_.has(PERF_SAMPLE_CPU)) put(body, uint64_t{0});
    put(body, uint64_t{1});  // the first event's id
    put_record(type, misc, body);
  }

  void put_comm(Task task, std::string_view name, uint64_t time) {
    std::string body;
    put(body, task.pid);
    put(body, task.tid);
    put_name(body, name, kMaxName);
    put_side_record(PERF_RECORD_COMM, 0, std::move(body), task, time);
  }

  static void put_range(std::string& body, int32_t pid, const CodeLayout::Range& range) {
    put(body, pid);
    put(body, pid < 0 ? 0 : pid);
    put(body, range.start);
    put(body, range.end - range.start);
    put(body, range.offset);
  }

  void put_mmap2(int32_t pid, const CodeLayout::Range& range, uint16_t misc, std::string_view path,
                 uint32_t protection) {
    const model::Mapping& mapping = profile_.mappings[range.mapping];
    std::string body;
    put_range(body, pid, range);
    const bool has_file = range.kind != CodeKind::kImported && range.kind != CodeKind::kJit;
    if (has_file && !mapping.build_id.empty()) {
      misc |= kMiscBuildId;
      put(body, static_cast<uint32_t>(std::min<size_t>(mapping.build_id.bytes().size(), 20)));
      std::string id(base::as_text(mapping.build_id.bytes()));
      id.resize(20);
      body += id;
    } else {
      const model::FileIdentity file = has_file ? mapping.file : model::FileIdentity{};
      put(body, static_cast<uint32_t>(file.device >> 32));
      put(body, static_cast<uint32_t>(file.device));
      put(body, file.inode);
      put(body, file.generation);
    }
    put(body, protection);
    put(body, uint32_t{MAP_PRIVATE});
    put_name(body, path, kMaxName);
    put_side_record(PERF_RECORD_MMAP2, misc, std::move(body), {pid, pid});
  }

  // The image first: what is told later has its place within it.
  void put_kernel() {
    for (const CodeLayout::Range& range : layout_.ranges()) {
      if (range.kind != CodeKind::kKernel) continue;
      std::string body;
      put_range(body, -1, range);
      put_name(body, "[kernel.kallsyms]_text", kMaxName);
      put_side_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, std::move(body), {});
    }
    for (const CodeLayout::Range& range : layout_.ranges()) {
      if (range.kind == CodeKind::kKernelModule) {
        put_mmap2(-1, range, PERF_RECORD_MISC_KERNEL, range.path, PROT_READ | PROT_EXEC);
      } else if (range.kind == CodeKind::kKernelCode) {
        std::string body;
        put(body, range.start);
        put(body, static_cast<uint32_t>(range.end - range.start));
        put(body, kKsymbolOutOfLine);
        put(body, uint16_t{0});
        put_name(body, range.path, kMaxKernelName);
        put_side_record(PERF_RECORD_KSYMBOL, 0, std::move(body), {});
      }
    }
  }

  static std::string_view recorded_path(const CodeLayout::Range& range) {
    if (range.kind == CodeKind::kJit) return "//anon";
    if (range.kind == CodeKind::kVdso && !range.path.starts_with("[v")) return "[vdso]";
    return range.path.empty() ? std::string_view("//anon") : range.path;
  }

  void put_processes() {
    // Each thread begins with the name that its first sample has.
    for (const size_t row : rows_) {
      const model::ThreadId thread = profile_.samples.thread[row];
      const Task task = task_of(thread);
      if (comms_.try_emplace(task.tid, profile_.threads[thread].comm).second) {
        put_comm(task, profile_.text(profile_.threads[thread].comm), 0);
      }
    }
    for (const auto& [pid, process] : processes_) {
      for (const uint32_t index : process.ranges) {
        const CodeLayout::Range& range = layout_.ranges()[index];
        put_mmap2(pid, range, PERF_RECORD_MISC_USER, recorded_path(range), PROT_READ | PROT_EXEC);
      }
      // A process without any memory would be one of the kernel.
      if (process.user && process.ranges.empty()) {
        const CodeLayout::Range nothing{.start = 4096, .end = 8192};
        put_mmap2(pid, nothing, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA, "//anon", PROT_READ);
      }
    }
  }

  void put_losses() {
    if (profile_.quality.lost == 0) return;
    std::string body;
    put(body, uint64_t{1});
    put(body, profile_.quality.lost);
    put_side_record(PERF_RECORD_LOST, 0, std::move(body), {}, last_time());
  }

  uint64_t last_time() const {
    const auto& times = profile_.samples.time;
    return times.empty() ? 0 : *std::ranges::max_element(times);
  }

  void put_samples() {
    const model::Samples& samples = profile_.samples;
    std::vector<size_t> order = rows_;
    if (!samples.time.empty()) {
      std::ranges::stable_sort(order, {}, [&](size_t row) { return samples.time[row]; });
    }
    for (const size_t row : order) {
      const model::ThreadId thread = samples.thread[row];
      const uint64_t time = samples.time.empty() ? 0 : samples.time[row];
      // A thread has one name at a time.
      if (model::StringId& name = comms_[task_of(thread).tid]; name != profile_.threads[thread].comm) {
        name = profile_.threads[thread].comm;
        put_comm(task_of(thread), profile_.text(name), time);
      }
      put_sample(row, time);
    }
  }

  void put_sample(size_t row, uint64_t time) {
    const model::Samples& samples = profile_.samples;
    make_chain(samples.stack[row], samples.count[row]);
    const Task task = task_of(samples.thread[row]);
    std::string& body = body_;
    body.clear();
    put(body, uint64_t{samples.event[row].value + 1});
    put(body, chain_.size() > 1 ? chain_[1] : uint64_t{0});
    put(body, task.pid);
    put(body, task.tid);
    if (fields_.has(PERF_SAMPLE_TIME)) put(body, time);
    if (fields_.has(PERF_SAMPLE_CPU)) put(body, uint64_t{static_cast<uint32_t>(samples.cpu[row])});
    put(body, samples.value[row]);
    put(body, uint64_t{chain_.size()});
    for (const uint64_t word : chain_) put(body, word);
    if (fields_.has(PERF_SAMPLE_WEIGHT)) put(body, samples.count[row]);
    const bool kernel = !chain_.empty() && chain_[0] == kKernelMarker;
    uint32_t misc = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    if (!samples.walk_end.empty()) misc |= uint32_t{samples.walk_end[row]} << TEPHRA_WALK_END_SHIFT;
    put_record(PERF_RECORD_SAMPLE, static_cast<uint16_t>(misc), body);
  }

  void make_chain(StackId stack, uint64_t count) {
    chain_.clear();
    bool kernel = false;
    for (; stack; stack = layout_.caller(stack)) {
      if (chain_.size() >= kMostAddresses) {
        depth_limit_ += count;
        return;
      }
      const CodeLayout::Place& place = layout_.place(stack);
      const bool first = chain_.empty() || place.kernel != kernel;
      if (first) chain_.push_back(place.kernel ? kKernelMarker : kUserMarker);
      kernel = place.kernel;
      chain_.push_back(first ? place.address : place.return_address);
    }
  }

  // Names of generated code, as a process would have written them.
  base::Result<std::string> generated_code() const {
    std::map<int32_t, std::string> maps;
    for (size_t i = 0; i < layout_.ranges().size(); ++i) {
      const CodeLayout::Range& range = layout_.ranges()[i];
      if (range.kind != CodeKind::kJit || range.path.empty()) continue;
      std::string name = range.path;
      std::ranges::replace(name, '\n', ' ');
      for (const int32_t pid : processes_of_range_[i]) {
        maps[pid] += fmt::format("{:x} {:x} {}\n", range.start, range.end - range.start, name);
      }
    }
    stream::JitLogWriter writer;
    uint32_t source = 0;
    for (const auto& [pid, text] : maps) {
      TEPHRA_CHECK_OK(writer.add({.pid = pid, .source = source++, .content = base::as_bytes(text)}));
    }
    return writer.section();
  }

  Feature cpu_count_feature() const {
    const auto& cpus = profile_.samples.cpu;
    const int32_t highest = std::max(0, *std::ranges::max_element(cpus));
    Feature feature{stream::kFeatureCpuCount, {}};
    put(feature.content, static_cast<uint32_t>(highest) + 1);
    put(feature.content, static_cast<uint32_t>(highest) + 1);
    return feature;
  }

  Feature build_ids() const {
    model::BuildId kernel;
    BuildIds files;
    for (const CodeLayout::Range& range : layout_.ranges()) {
      const model::BuildId& id = profile_.mappings[range.mapping].build_id;
      if (range.kind == CodeKind::kKernel) kernel = id;
      if (range.kind == CodeKind::kFile && !id.empty()) files.insert_or_assign(range.path, id);
    }
    return build_id_feature(kernel, files);
  }

  Feature facts() const {
    Profile told;
    told.facts = profile_.facts;
    told.quality = profile_.quality;
    told.quality[model::Reason::depth_limit] += depth_limit_;
    told.strings = profile_.strings;
    told.events = profile_.events;
    stream::RecorderFacts facts;
    stream::tell_profile(told, units_, facts);
    return recorder_facts_feature(facts);
  }

  std::vector<std::string> command_line() const {
    std::vector<std::string> words;
    std::string_view rest = profile_.facts.command_line;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      words.emplace_back(word);
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return words;
  }

  base::Status add_features() {
    const model::RecordingFacts& facts = profile_.facts;
    const std::pair<int, std::string_view> texts[] = {{stream::kFeatureHostname, facts.host},
                                                      {stream::kFeatureOsRelease, facts.os_release},
                                                      {stream::kFeatureVersion, "tephra " TEPHRA_VERSION},
                                                      {stream::kFeatureArch, facts.arch}};
    for (const auto& [bit, text] : texts) {
      if (!text.empty()) features_.push_back(text_feature(bit, text));
    }
    if (fields_.has(PERF_SAMPLE_CPU)) features_.push_back(cpu_count_feature());
    if (!facts.command_line.empty()) features_.push_back(command_line_feature(command_line()));
    features_.push_back(event_description_feature(events_));
    features_.push_back(build_ids());
    if (!profile_.samples.time.empty()) {
      features_.push_back(sample_time_feature(*std::ranges::min_element(profile_.samples.time), last_time()));
    }
    features_.push_back(this->facts());
    stream::EmbeddedSection names;
    names.names = layout_.names(processes_of_range_);
    TEPHRA_TRY(std::string section, stream::print_section(names));
    features_.push_back({stream::kFeatureTephraNames, std::move(section)});
    TEPHRA_TRY(std::string code, generated_code());
    features_.push_back({stream::kFeatureTephraJit, std::move(code)});
    std::ranges::sort(features_, {}, &Feature::bit);
    return {};
  }

  std::string file() const {
    FileHeader header;
    std::string out(sizeof header, '\0');
    header.attrs = put_events(out, 0, events_);
    header.data = {out.size(), data_.size()};
    out += data_;
    uint64_t offset = out.size() + features_.size() * sizeof(FileSection);
    for (const Feature& feature : features_) {
      header.features[feature.bit / 64] |= uint64_t{1} << (feature.bit % 64);
      put(out, FileSection{offset, feature.content.size()});
      offset += feature.content.size();
    }
    for (const Feature& feature : features_) out += feature.content;
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

  const Profile& profile_;
  const CodeLayout layout_;
  const std::vector<size_t> rows_;  // of the samples that are written
  SampleFields fields_;
  std::vector<FileEvent> events_;
  std::vector<std::string_view> units_;  // that readers know by themselves
  std::map<int32_t, Process> processes_;
  std::vector<std::vector<int32_t>> processes_of_range_;
  std::unordered_map<int32_t, model::StringId, base::NumberHash> comms_;  // by thread: its name so far
  std::vector<Feature> features_;
  std::string data_;
  uint64_t depth_limit_ = 0;  // samples whose stacks a record cannot hold
  // Of the sample at hand.
  std::vector<uint64_t> chain_;
  std::string body_;
};

}  // namespace

base::Result<std::string> write_perf_data(const Profile& profile) {
  // No reader takes a file without any.
  if (profile.events.empty()) return base::failed("cannot write", "", "the profile has no event");
  return Writer(profile).write();
}

}  // namespace tephra::formats
