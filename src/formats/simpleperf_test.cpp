// What simpleperf adds to perf.data: sections made here, and public recordings with what simpleperf's own scripts
// printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "formats/perf_data.h"
#include "formats/perf_data_for_tests.h"
#include "formats/simpleperf_sections.h"
#include "stream/profile_builder.h"
#include "stream/tracepoint_format.h"
#include "symbols/symbolize.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;
using stream::TestBytes;

std::string with_nul(std::string_view text) { return std::string(text) + '\0'; }

std::string sized(const std::string& content) {
  return TestBytes().put(static_cast<uint32_t>(content.size())).raw(content).text();
}

std::string old_file(std::string_view path, uint32_t type, std::optional<uint64_t> offset) {
  TestBytes out;
  out.raw(with_nul(path)).put(type).put(uint64_t{0x1000}).put(uint32_t{2});
  out.put(uint64_t{0x1200}).put(uint32_t{0x10}).raw(with_nul("second"));
  out.put(uint64_t{0x1100}).put(uint32_t{0x20}).raw(with_nul("first"));
  if (type == 3) out.put(uint32_t{1}).put(uint64_t{0x28});
  if (offset) out.put(*offset);
  return sized(out.text());
}

TEST(SimpleperfSections, SymbolTablesOfBothLayouts) {
  stream::Recording recording;
  const std::string files = old_file("/a", 2, 0x400) + old_file("/b.dex", 3, {}) + old_file("/c", 2, {});
  EXPECT_TRUE(read_simpleperf_files(base::as_bytes(files), recording));
  ASSERT_EQ(recording.symbols.size(), 3u);
  EXPECT_EQ(recording.symbols[0].path, "/a");
  EXPECT_EQ(recording.symbols[0].code_address, 0x1000u);
  EXPECT_EQ(recording.symbols[0].code_offset, 0x400u);
  ASSERT_EQ(recording.symbols[0].symbols.size(), 2u);
  EXPECT_EQ(recording.symbols[0].symbols[0].name, "first");
  EXPECT_EQ(recording.symbols[0].symbols[1].start, 0x1200u);
  EXPECT_EQ(recording.symbols[1].path, "/b.dex");
  EXPECT_FALSE(recording.symbols[2].code_offset.has_value());

  // path "/m", type 2, code at 5, one symbol "f" at 7 of 3 bytes, which begins at 9 of the file.
  const std::string message = sized("\x0a\x02/m\x10\x02\x18\x05\x22\x07\x08\x07\x10\x03\x1a\x01\x66\x32\x02\x08\x09");
  stream::Recording later;
  EXPECT_TRUE(read_simpleperf_file_messages(base::as_bytes(message), later));
  ASSERT_EQ(later.symbols.size(), 1u);
  EXPECT_EQ(later.symbols[0].path, "/m");
  EXPECT_EQ(later.symbols[0].code_address, 5u);
  EXPECT_EQ(later.symbols[0].code_offset, 9u);
  ASSERT_EQ(later.symbols[0].symbols.size(), 1u);
  EXPECT_EQ(later.symbols[0].symbols[0].name, "f");
  EXPECT_EQ(later.symbols[0].symbols[0].size, 3u);
}

// Whatever is cut off, what came before is read and the damage is told.
TEST(SimpleperfSections, DamagedSymbolTables) {
  const std::string whole = old_file("/a", 2, 0x400) + old_file("/b", 2, 0x400);
  for (size_t size = 0; size < whole.size(); ++size) {
    stream::Recording recording;
    const bool read = read_simpleperf_files(base::as_bytes(whole.substr(0, size)), recording);
    EXPECT_EQ(read, size == 0 || size == whole.size() / 2) << size;
    EXPECT_EQ(recording.symbols.size(), size < whole.size() / 2 ? 0u : 1u) << size;
  }
  stream::Recording recording;
  EXPECT_FALSE(read_simpleperf_file_messages(base::as_bytes(sized("\x0a\x7f")), recording));
}

TEST(SimpleperfSections, FieldsOfAnotherTypeAreDamage) {
  // The path, a symbol, its size, its name, where code is mapped and where it is in the file, each as something else.
  using std::string_view_literals::operator""sv;
  for (const std::string_view message :
       {"\x08\x03/mm"sv, "\x20\x02\x08\x07"sv, "\x22\x02\x12\x00"sv, "\x22\x03\x18\x01x"sv, "\x1a\x00"sv,
        "\x30\x02\x08\x09"sv, "\x32\x02\x0a\x00"sv}) {
    stream::Recording recording;
    const std::string section = sized(std::string(message));
    EXPECT_FALSE(read_simpleperf_file_messages(base::as_bytes(section), recording)) << message;
  }
}

TEST(SimpleperfSections, ManyEventsAndManyNames) {
  constexpr uint64_t kEvents = 50'000;
  stream::Recording recording;
  recording.events.resize(kEvents + 2);
  for (uint64_t i = 0; i < recording.events.size(); ++i) {
    recording.events[i].name = "type:2";
    recording.events[i].layout.type = 2;
    recording.events[i].layout.config = i % kEvents;
  }
  recording.events[5].name = "mine";
  std::string lines = "first,2,0\nother,2,0\nfive,2,5\n";
  for (int i = 0; i < 1'000'000; ++i) lines += "n,0,0\n";
  lines += "last,2,49999";
  const std::string meta = with_nul("event_type_info") + with_nul(lines);
  EXPECT_TRUE(read_simpleperf_meta(base::as_bytes(meta), recording));
  EXPECT_EQ(recording.events[0].name, "first");
  EXPECT_EQ(recording.events[kEvents].name, "first");
  EXPECT_EQ(recording.events[1].name, "type:2");
  EXPECT_EQ(recording.events[5].name, "mine");
  EXPECT_EQ(recording.events[kEvents - 1].name, "last");
}

TEST(SimpleperfSections, FramesAreNamedAndEventsToo) {
  stream::TestRecording test;
  test.layout().type = PERF_TYPE_TRACEPOINT;
  test.layout().config = 47;
  test.mmap2({.time = 1, .start = 0x50000, .size = 0x10000, .offset = 0x1000, .path = "/a"});
  test.mmap2({.time = 1, .start = 0x90000, .size = 0x1000, .offset = 0, .path = "/b.dex", .protection = 1});
  test.mmap2({.time = 1, .start = 0x1100, .size = 0x1000, .offset = 0x77, .path = "/jit:1", .protection = 0x4000});
  // Offset 0x1508 of /a, whose code is at 0x1400 and linked at 0x1000.
  test.sample({.time = 2, .ip = 0x1108, .callchain = {stream::kTestUserMarker, 0x1108, 0x90000 + 0x110, 0x50508}});
  const std::string files = old_file("/a", 2, 0x1400) + old_file("/jit:1", 2, {}) +
                            sized(TestBytes()
                                      .raw(with_nul("/b.dex"))
                                      .put(uint32_t{3})
                                      .put(uint64_t{0})
                                      .put(uint32_t{1})
                                      .put(uint64_t{0x100})
                                      .put(uint32_t{0x20})
                                      .raw(with_nul("Java.method"))
                                      .put(uint32_t{0})
                                      .text());
  const std::string meta = with_nul("event_type_info") + with_nul("sched:sched_switch,2,47");
  const std::string file = test_file(test, {.features = {{128, files}, {129, meta}}});
  const auto recording = kPerfData.open(base::as_bytes(file));
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ(recording->events[0].name, "sched:sched_switch");
  const auto profile = symbols::symbolize(stream::build_profile(*recording, {}), {});
  ASSERT_EQ(profile.samples.size(), 1u);
  std::vector<std::string> names;
  for (auto stack = profile.samples.stack[0]; stack; stack = profile.stacks[stack].parent) {
    names.emplace_back(profile.function_name(profile.stacks[stack].frame));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first", "Java.method", "first"}));
  EXPECT_EQ(profile.quality[model::Reason::malformed_records], 0u);
}

fs::path fixtures() { return base::fixtures("perf-data/aosp-simpleperf"); }

#define SKIP_WITHOUT_FIXTURES() \
  if (!fs::exists(fixtures())) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES"

struct Opened {
  base::FileContent content;
  stream::Recording recording;
};

Opened open(const std::string& name) {
  auto content = base::FileContent::open(fixtures() / name);
  EXPECT_TRUE(content.ok());
  auto recording = kPerfData.open(content->bytes());
  EXPECT_TRUE(recording.ok());
  return {std::move(*content), std::move(*recording)};
}

model::Profile read(const std::string& name, const std::vector<std::string>& events = {}) {
  const Opened opened = open(name);
  stream::BuildOptions options{.keep_every_sample = true};
  options.filter.events = events;
  return symbols::symbolize(stream::build_profile(opened.recording, options), {.full_names = true});
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The frames of a sample from the outermost on, below the thread's name, as stackcollapse.py --kernel has them.
std::vector<std::string> frames_of(const model::Profile& profile, size_t row) {
  std::vector<std::string> frames;
  for (auto stack = profile.samples.stack[row]; stack; stack = profile.stacks[stack].parent) {
    const auto& function = profile.functions[profile.frames[profile.stacks[stack].frame].function];
    frames.emplace_back(function.named ? profile.text(function.name) : "unknown");
    if (profile.in_kernel(profile.stacks[stack].frame)) frames.back() += "_[k]";
  }
  frames.emplace_back(profile.text(profile.threads[profile.samples.thread[row]].comm));
  std::ranges::reverse(frames);
  return frames;
}

// simpleperf leaves out the frames of Android's runtime.
bool holds_in_order(const std::vector<std::string>& frames, const std::vector<std::string>& wanted) {
  size_t found = 0;
  for (const std::string& frame : frames) {
    if (found < wanted.size() && frame == wanted[found]) ++found;
  }
  return found == wanted.size();
}

std::map<std::string, uint64_t> folded(const std::string& name) {
  std::map<std::string, uint64_t> lines;
  std::ifstream in(fixtures() / name);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.rfind(' ');
    lines[line.substr(0, space)] += std::stoull(line.substr(space + 1));
  }
  return lines;
}

// Every sample belongs to exactly the line that simpleperf put it into: of the lines whose frames it has in their
// order, the longest.
TEST(SimpleperfFixtures, StacksAreThoseOfStackcollapse) {
  SKIP_WITHOUT_FIXTURES();
  const auto profile = read("perf_with_jit_symbol.data");
  auto left = folded("perf_with_jit_symbol.foldedstack_with_kernel");
  ASSERT_EQ(left.size(), 10u);
  const auto expected = left;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    auto frames = frames_of(profile, row);
    frames.pop_back();  // the script leaves out where the sample was
    std::string best;
    size_t longest = 0;
    for (const auto& [line, value] : expected) {
      const auto wanted = split(line, ';');
      if (wanted.size() > longest && holds_in_order(frames, wanted)) best = line, longest = wanted.size();
    }
    ASSERT_FALSE(best.empty()) << fmt::format("{}", fmt::join(frames, "\n"));
    left[best] -= profile.samples.value[row];
  }
  for (const auto& [line, value] : left) EXPECT_EQ(value, 0u) << line;
}

TEST(SimpleperfFixtures, EventsApart) {
  SKIP_WITHOUT_FIXTURES();
  for (const auto& [event, name] : {std::pair("cycles", "perf_with_two_event_types.foldedstack"),
                                    std::pair("cpu-clock", "perf_with_two_event_types.foldedstack_cpu_clock")}) {
    const auto profile = read("perf_with_two_event_types.data", {event});
    std::map<std::string, uint64_t> ours;
    for (size_t row = 0; row < profile.samples.size(); ++row) {
      ours[std::string(profile.text(profile.threads[profile.samples.thread[row]].comm))] += profile.samples.value[row];
    }
    EXPECT_EQ(ours, folded(name)) << event;
  }
}

// Without what demanglers spell differently: "f [clone .llvm.1]" and "f (.llvm.1)", spaces and needless parentheses.
std::string plain(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view(" ()[]").find(c) == std::string_view::npos) text += c;
  }
  if (const size_t at = text.find("clone."); at != std::string::npos) text.erase(at, 5);
  return text;
}

// Theirs does not know all manglings.
bool is_called(const model::Profile& profile, model::FrameId frame, const std::string& wanted) {
  const auto& function = profile.functions[profile.frames[frame].function];
  if (!function.named) return wanted == "unknown";
  return plain(wanted) == plain(profile.text(function.name)) || wanted == profile.text(function.system_name);
}

// Thread, CPU, time, period and frames of each sample, in the order of time.
TEST(SimpleperfFixtures, SamplesAreThoseOfReportSample) {
  SKIP_WITHOUT_FIXTURES();
  const auto profile = read("perf_display_bitmaps.data");
  std::ifstream in(fixtures() / "perf_display_bitmaps.perf-script");
  std::string line;
  size_t row = 0;
  size_t named = 0;
  for (; std::getline(in, line); ++row) {
    ASSERT_LT(row, profile.samples.size());
    const model::Thread& thread = profile.threads[profile.samples.thread[row]];
    const uint64_t time = profile.samples.time[row];
    EXPECT_EQ(line, fmt::format("{}\t{}/{} [{:03}] {}.{:06}: {} cpu-clock:", profile.text(thread.comm), thread.pid,
                                thread.tid, profile.samples.cpu[row], time / 1000000000, time / 1000 % 1000000,
                                profile.samples.value[row]));
    std::vector<std::string> wanted;
    while (std::getline(in, line) && !line.empty()) {
      const size_t begin = line.find(' ', line.find_first_not_of("\t ")) + 1;
      std::string name = line.substr(begin, line.rfind(" (") - begin);
      named += name.find("[+") == std::string::npos;
      wanted.push_back(name.find("[+") != std::string::npos ? "unknown" : name);
    }
    size_t found = 0;
    for (auto stack = profile.samples.stack[row]; stack && found < wanted.size();
         stack = profile.stacks[stack].parent) {
      found += is_called(profile, profile.stacks[stack].frame, wanted[found]);
    }
    EXPECT_EQ(found, wanted.size()) << row << " lacks " << wanted[std::min(found, wanted.size() - 1)];
  }
  EXPECT_EQ(row, profile.samples.size());
  EXPECT_GT(named, 1000u);
}

TEST(SimpleperfFixtures, TracepointsAreDecodedByTheFormatInTheFile) {
  SKIP_WITHOUT_FIXTURES();
  const Opened opened = open("perf_with_tracepoint_event.data");
  const auto formats = stream::TracepointFormats::parse(opened.recording.tracing_data);
  ASSERT_TRUE(formats.ok()) << formats.error().message();
  EXPECT_EQ(formats->size(), 1u);
  size_t switches = 0;
  stream::for_each_sample(opened.recording, {}, [&](const stream::Sample& sample) {
    const auto& event = opened.recording.events[sample.origin.event];
    if (event.layout.type != PERF_TYPE_TRACEPOINT) return;
    EXPECT_EQ(event.name, "sched:sched_switch");
    ++switches;
    std::string text;
    EXPECT_TRUE(formats->append(event.layout.config, sample.origin.cpu, sample.raw, text));
    EXPECT_NE(text.find("prev_comm="), std::string::npos) << text;
  });
  EXPECT_GT(switches, 10u);
}

// The names of events and, in protocol buffers, of functions.
TEST(SimpleperfFixtures, LaterVersionsStoreSymbolsAsMessages) {
  SKIP_WITHOUT_FIXTURES();
  const auto profile = read("perf_with_trace_offcpu_v2.data");
  std::map<std::string, size_t> events;
  for (const auto event : profile.samples.event) ++events[std::string(profile.text(profile.events[event].name))];
  EXPECT_EQ(events.size(), 2u);
  EXPECT_GT(events["sched:sched_switch"], 10u);
  size_t named = 0;
  for (const auto& function : profile.functions) named += function.named;
  EXPECT_GT(named, 100u);
}

}  // namespace
}  // namespace tephra::formats
