// Records of public recordings against what another reader, quipper of perf_data_converter, printed of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "formats/perf_data.h"
#include "stream/decoder.h"
#include "stream/profile_builder.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;

fs::path all_fixtures() { return base::fixtures("perf-data"); }
fs::path fixtures() { return all_fixtures() / "google-perf_data_converter/quipper"; }

// A message of protocol buffer text: fields in order, each a value or a message.
struct Message {
  std::multimap<std::string, std::string> values;
  std::multimap<std::string, std::unique_ptr<Message>> messages;

  std::string value(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? "" : found->second;
  }
  uint64_t number(const std::string& name) const {
    const std::string text = value(name);
    return text.empty() ? 0 : std::stoull(text);
  }
  const Message* message(const std::string& name) const {
    const auto found = messages.find(name);
    return found == messages.end() ? nullptr : found->second.get();
  }
};

std::unique_ptr<Message> parse(std::istream& in) {
  auto message = std::make_unique<Message>();
  std::string line;
  while (std::getline(in, line)) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    line.erase(0, begin);
    if (line == "}") break;
    if (line.ends_with(" {")) {
      message->messages.emplace(line.substr(0, line.size() - 2), parse(in));
    } else if (const size_t colon = line.find(": "); colon != std::string::npos) {
      std::string value = line.substr(colon + 2);
      if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
      message->values.emplace(line.substr(0, colon), value);
    }
  }
  return message;
}

uint64_t unsigned_id(int32_t id) { return static_cast<uint32_t>(id); }

// What both readers tell of a record, as text. Only fields that the file has are compared.
std::string text_of(const stream::Sample& sample, uint64_t type) {
  std::string text = fmt::format("sample ip={}", sample.ip);
  if (type & PERF_SAMPLE_TID)
    text += fmt::format(" {}/{}", unsigned_id(sample.origin.pid), unsigned_id(sample.origin.tid));
  if (type & PERF_SAMPLE_TIME) text += fmt::format(" time={}", sample.origin.time);
  if (type & PERF_SAMPLE_CPU) text += fmt::format(" cpu={}", sample.origin.cpu);
  if (type & PERF_SAMPLE_PERIOD) text += fmt::format(" period={}", sample.period);
  for (size_t i = 0; i < sample.branches.size(); ++i) {
    text += fmt::format(" {}->{} {}", sample.branches.from(i), sample.branches.to(i), sample.branches.flags(i) & 3);
  }
  return text;
}

std::string text_of_sample(const Message& event, uint64_t type) {
  std::string text = fmt::format("sample ip={}", event.number("ip"));
  if (type & PERF_SAMPLE_TID) text += fmt::format(" {}/{}", event.number("pid"), event.number("tid"));
  if (type & PERF_SAMPLE_TIME) text += fmt::format(" time={}", event.number("sample_time_ns"));
  if (type & PERF_SAMPLE_CPU) text += fmt::format(" cpu={}", event.number("cpu"));
  if (type & PERF_SAMPLE_PERIOD) text += fmt::format(" period={}", event.number("period"));
  const auto [begin, end] = event.messages.equal_range("branch_stack");
  for (auto at = begin; at != end; ++at) {
    const Message& branch = *at->second;
    const int flags = (branch.value("mispredicted") == "true" ? 1 : 0) | (branch.value("predicted") == "true" ? 2 : 0);
    text += fmt::format(" {}->{} {}", branch.number("from_ip"), branch.number("to_ip"), flags);
  }
  return text;
}

std::string text_of(const stream::Event& event, uint64_t type) {
  if (const auto* sample = std::get_if<stream::Sample>(&event)) return text_of(*sample, type);
  if (const auto* mmap = std::get_if<stream::Mmap>(&event)) {
    return fmt::format("mmap {}/{} {}+{} at {} {}", unsigned_id(mmap->pid), unsigned_id(mmap->tid), mmap->start,
                       mmap->size, mmap->file_offset, mmap->path);
  }
  if (const auto* comm = std::get_if<stream::Comm>(&event)) {
    return fmt::format("comm {}/{} {}", unsigned_id(comm->pid), unsigned_id(comm->tid), comm->name);
  }
  if (const auto* fork = std::get_if<stream::Fork>(&event)) {
    return fmt::format("fork {}/{} of {}", unsigned_id(fork->pid), unsigned_id(fork->tid),
                       unsigned_id(fork->parent_pid));
  }
  if (const auto* exit = std::get_if<stream::Exit>(&event)) {
    return fmt::format("exit {}/{}", unsigned_id(exit->pid), unsigned_id(exit->tid));
  }
  if (const auto* lost = std::get_if<stream::Lost>(&event)) return fmt::format("lost {}", lost->count);
  if (std::get_if<stream::Throttle>(&event) != nullptr) return "throttle";
  if (std::get_if<stream::Switch>(&event) != nullptr) return "switch";
  if (const auto* object = std::get_if<stream::CodeObject>(&event)) {
    return fmt::format("ksymbol {}+{} {}", object->address, object->size, object->name);
  }
  return {};
}

std::string text_of(const Message& event, uint64_t type) {
  if (const Message* sample = event.message("sample_event")) return text_of_sample(*sample, type);
  if (const Message* mmap = event.message("mmap_event")) {
    return fmt::format("mmap {}/{} {}+{} at {} {}", mmap->number("pid"), mmap->number("tid"), mmap->number("start"),
                       mmap->number("len"), mmap->number("pgoff"), mmap->value("filename"));
  }
  if (const Message* comm = event.message("comm_event")) {
    return fmt::format("comm {}/{} {}", comm->number("pid"), comm->number("tid"), comm->value("comm"));
  }
  if (const Message* fork = event.message("fork_event")) {
    return fmt::format("fork {}/{} of {}", fork->number("pid"), fork->number("tid"), fork->number("ppid"));
  }
  if (const Message* exit = event.message("exit_event")) {
    return fmt::format("exit {}/{}", exit->number("pid"), exit->number("tid"));
  }
  if (const Message* lost = event.message("lost_samples_event"))
    return fmt::format("lost {}", lost->number("num_lost"));
  if (event.message("throttle_event") != nullptr) return "throttle";
  if (event.message("context_switch_event") != nullptr) return "switch";
  if (const Message* symbol = event.message("ksymbol_event")) {
    return fmt::format("ksymbol {}+{} {}", symbol->number("addr"), symbol->number("len"), symbol->value("name"));
  }
  return {};
}

std::multiset<std::string> our_records(const stream::Recording& recording) {
  std::multiset<std::string> records;
  const stream::Decoder decoder(recording);
  for (const base::Bytes part : recording.records) {
    stream::RecordWalker walker(part);
    stream::Record record;
    while (walker.next(record)) {
      const std::string text = text_of(decoder.decode(record), recording.events[0].layout.sample_type);
      if (!text.empty()) records.insert(text);
    }
  }
  return records;
}

// Mapped files without their names are told as in quipper: as an MD5 alone.
TEST(PerfDataRecords, AreThoseThatQuipperReads) {
  if (!fs::exists(fixtures())) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  size_t files = 0;
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(fixtures())) {
    if (entry.path().extension() != ".pb_text") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    const auto content = base::FileContent::open(entry.path().string().substr(0, entry.path().string().size() - 8));
    ASSERT_TRUE(content.ok());
    const auto recording = kPerfData.open(content.value().bytes());
    ASSERT_TRUE(recording.ok());
    const uint64_t type = recording->events[0].layout.sample_type;
    std::ifstream text(entry.path());
    const auto all = parse(text);
    std::multiset<std::string> expected;
    const auto [begin, end] = all->messages.equal_range("events");
    for (auto at = begin; at != end; ++at) {
      if (const std::string record = text_of(*at->second, type); !record.empty()) expected.insert(record);
    }
    EXPECT_FALSE(expected.empty());
    compared += expected.size();
    EXPECT_EQ(our_records(*recording), expected);
  }
  EXPECT_EQ(files, 10u);
  EXPECT_GT(compared, 2000u);
}

// Lines of a build id and the file that had it, from the recording's section and from its records.
TEST(PerfDataRecords, BuildIdsAreThoseThatQuipperReads) {
  if (!fs::exists(fixtures())) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fixtures())) {
    if (entry.path().extension() != ".buildids") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    const std::string path = entry.path().string();
    const auto content = base::FileContent::open(path.substr(0, path.size() - 9));
    ASSERT_TRUE(content.ok());
    const auto recording = kPerfData.open(content.value().bytes());
    ASSERT_TRUE(recording.ok());
    std::set<std::string> ours;
    for (const auto& file : recording->build_ids) ours.insert(file.build_id.hex() + " " + file.path);
    std::set<std::string> expected;
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line);) expected.insert(line);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(ours, expected);
  }
  EXPECT_EQ(files, 11u);
}

// Samples as perfparser's test printed them: a line of thread and time, one of event and period, then two lines a
// frame.
std::multiset<std::string> perfparser_samples(const fs::path& path) {
  std::multiset<std::string> samples;
  std::ifstream in(path);
  std::string line;
  std::string sample;
  bool first_of_frame = true;
  bool is_tracepoint = false;
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    if (line[0] != '\t') {
      if (!sample.empty()) samples.insert(sample);
      std::stringstream fields(line.substr(line.find('\t')));
      std::string pid, tid, time, event;
      fields >> pid >> tid >> time;
      std::getline(in, event);
      // Behind the name of a tracepoint its fields follow, and one frame more.
      is_tracepoint = std::ranges::count(event, ':') > 1;
      if (is_tracepoint) event.resize(event.find(": "));
      sample = fmt::format("{}/{} {}{}", pid, tid, time, event);
      std::getline(in, line);
      first_of_frame = true;
    } else if (!is_tracepoint) {
      if (first_of_frame && line.starts_with("\tffff")) sample += " " + line.substr(1, 16);
      first_of_frame = !first_of_frame;
    }
  }
  if (!sample.empty()) samples.insert(sample);
  return samples;
}

// Who, when, what and where in the kernel; names and user frames depend on files that are not there.
TEST(PerfDataRecords, SamplesAreThoseOfPerfparser) {
  const fs::path folder = all_fixtures() / "KDAB-perfparser";
  if (!fs::exists(folder)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  for (const char* name :
       {"vector_static_gcc/perf.data", "vector_static_gcc/perf.data.zstd", "parallel_static_gcc/perf.data.zstd"}) {
    SCOPED_TRACE(name);
    const auto content = base::FileContent::open(folder / name);
    ASSERT_TRUE(content.ok());
    const auto recording = kPerfData.open(content.value().bytes());
    ASSERT_TRUE(recording.ok());
    std::multiset<std::string> ours;
    stream::for_each_sample(*recording, {}, [&](const stream::Sample& sample) {
      const stream::Origin& origin = sample.origin;
      const stream::RecordedEvent& event = recording->events[origin.event];
      std::string text = fmt::format("{}/{} {}.{:09}\t{}", origin.pid, origin.tid, origin.time / 1000000000,
                                     origin.time % 1000000000, event.name);
      const bool is_tracepoint = event.layout.type == PERF_TYPE_TRACEPOINT;
      if (!is_tracepoint) text += fmt::format(": {}", sample.period);
      for (size_t i = 0; !is_tracepoint && i < sample.callchain.size() && sample.callchain[i] >> 47 != 0; ++i) {
        if (sample.callchain[i] < stream::kFirstChainMarker) text += fmt::format(" {:x}", sample.callchain[i]);
      }
      ours.insert(text);
    });
    const auto theirs = perfparser_samples(folder / (std::string(name) + ".expected.txt"));
    EXPECT_GT(theirs.size(), 25u);
    std::vector<std::string> missing;
    std::ranges::set_difference(theirs, ours, std::back_inserter(missing));
    EXPECT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(missing, std::vector<std::string>());
  }
}

}  // namespace
}  // namespace tephra::formats
