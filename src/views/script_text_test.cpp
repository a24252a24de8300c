#include "views/script_text.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

using model::CodeKind;

constexpr uint64_t kSampleType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

stream::Recording recording_of(uint32_t type, uint64_t sample_type, std::string name = "cpu-clock") {
  stream::Recording recording;
  stream::RecordedEvent event;
  event.name = std::move(name);
  event.layout.type = type;
  event.layout.sample_type = sample_type;
  recording.events.push_back(event);
  return recording;
}

// One sample in inner(), inlined into hot(), called by main() from the kernel's point of view below.
struct Fixture {
  model::Profile profile;
  stream::Sample sample;
  std::vector<uint64_t> chain{static_cast<uint64_t>(PERF_CONTEXT_USER), 0x5600000011e7, 0x560000001312};

  explicit Fixture(std::string_view comm = "prog", bool named = true) {
    model::ProfileAssembler a;
    const auto mapping = a.mapping({.path = a.string("/bin/prog"), .kind = CodeKind::kFile});
    const auto function = [&](std::string_view name) { return a.function({a.string(name), a.string(name), named, 0}); };
    const auto frame = [&](std::string_view name, uint64_t address, uint32_t offset, uint32_t line, bool inlined) {
      return a.frame({.mapping = mapping,
                      .inlined = inlined,
                      .address = address,
                      .function = function(name),
                      .file = a.string("/src/a.c"),
                      .line = line,
                      .symbol_offset = offset});
    };
    auto stack = a.stack({}, frame("main", 0x1312, 0x4f, 13, false));
    stack = a.stack(stack, frame("hot", 0x11e7, 0x16, 8, false));
    stack = a.stack(stack, frame("inner", 0x11e7, 0x16, 4, true));
    a.sample({stack, a.event({a.string("cpu-clock"), a.string("ns")}), a.thread({10, 11, a.string(comm)}), 1, 1001001,
              987814058123, 1});
    profile = std::move(a).finish();
    sample.origin = {987814058123, 10, 11, 1, 0};
    sample.ip = 0x5600000011e7;
    sample.period = 1001001;
  }

  void with_chain() {
    sample.has_callchain = true;
    sample.callchain = base::Words(reinterpret_cast<const std::byte*>(chain.data()), chain.size());
  }

  std::string print(const stream::Recording& recording, const std::vector<std::string>& fields = {},
                    ScriptOptions options = {}) {
    const auto formats = stream::TracepointFormats::parse({});
    auto selected = select_script_fields(recording, fields, options.call_chains);
    if (!selected.ok()) return selected.error().message();
    options.fields = *selected;
    std::string out;
    ScriptWriter writer(recording, profile, *formats, options, [&](std::string_view text) { out += text; });
    writer.sample(0, sample);
    writer.finish();
    return out;
  }
};

TEST(ScriptText, ASampleWithACallChain) {
  Fixture fixture;
  fixture.with_chain();
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType | PERF_SAMPLE_CALLCHAIN);
  EXPECT_EQ(fixture.print(recording),
            "prog    11   987.814058:    1001001 cpu-clock: \n"
            "\t            11e7 inner+0x16 (inlined)\n"
            "\t            11e7 hot+0x16 (/bin/prog)\n"
            "\t            1312 main+0x4f (/bin/prog)\n"
            "\n");
}

TEST(ScriptText, ASampleWithoutACallChainNamesTheSymbol) {
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  EXPECT_EQ(Fixture().print(recording),
            "            prog    11   987.814058:    1001001 cpu-clock:      5600000011e7 hot+0x16 (/bin/prog)\n");
}

TEST(ScriptText, HidingTheCallChainMakesOneLine) {
  Fixture fixture;
  fixture.with_chain();
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU);
  EXPECT_EQ(
      fixture.print(recording, {}, {.call_chains = false}),
      "            prog    11 [001]   987.814058:    1001001 cpu-clock:      5600000011e7 hot+0x16 (/bin/prog)\n");
}

TEST(ScriptText, AChainOfMarkersOnlyHasNoFrames) {
  Fixture fixture;
  fixture.chain.resize(1);
  fixture.with_chain();
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType | PERF_SAMPLE_CALLCHAIN);
  EXPECT_EQ(fixture.print(recording), "prog    11   987.814058:    1001001 cpu-clock: \n\n");
}

TEST(ScriptText, FieldsAreChosenAndChanged) {
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  EXPECT_EQ(Fixture().print(recording, {"comm,pid,tid,ip,sym"}),
            "            prog    10/11         5600000011e7 hot\n");
  EXPECT_EQ(Fixture().print(recording, {"-period,-comm,-event,-dso"}),
            "   11   987.814058:      5600000011e7 hot+0x16\n");
  EXPECT_EQ(Fixture().print(recording, {"pid,ip,srcline"}), "   10      5600000011e7\n  a.c:8\n");
  EXPECT_EQ(Fixture().print(recording, {"trace:comm", "sw:event"}), "cpu-clock: \n");
}

TEST(ScriptText, WrongFieldsAreRefused) {
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  for (const auto* fields : {"colour", "comm,", "", "comm,+pid", "cpu", "comm,sym", "ip,symoff", "zz:comm"}) {
    EXPECT_FALSE(select_script_fields(recording, {fields}, true).ok()) << fields;
  }
  EXPECT_TRUE(select_script_fields(recording, {"-cpu"}, true).ok());
}

TEST(ScriptText, TracepointsShowTheirTextInsteadOfTheirPlace) {
  const auto recording = recording_of(PERF_TYPE_TRACEPOINT, kSampleType | PERF_SAMPLE_RAW, "sched:sched_switch");
  Fixture fixture;
  const std::string raw = "12345678";
  fixture.sample.raw = base::as_bytes(raw);
  EXPECT_EQ(fixture.print(recording),
            "            prog    11   987.814058: sched:sched_switch: [8 bytes of unknown format]\n");
}

TEST(ScriptText, TimesAreNanosecondsOrRelative) {
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  EXPECT_EQ(Fixture().print(recording, {"time"}, {.nanoseconds = true}), "  987.814058123: \n");
  EXPECT_EQ(Fixture().print(recording, {"time"}, {.relative_time = true}), "    0.000000: \n");
}

TEST(ScriptText, HostileNamesStayOnTheirLine) {
  Fixture fixture("a\nb 1 2.0: 3 x:");
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  const auto text = fixture.print(recording);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(ScriptText, UnnamedFramesAreUnknown) {
  Fixture fixture("prog", false);
  fixture.with_chain();
  const auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType | PERF_SAMPLE_CALLCHAIN);
  EXPECT_NE(fixture.print(recording).find("\t            1312 [unknown] (/bin/prog)\n"), std::string::npos);
}

TEST(ScriptText, TheHeaderIsCommentsOnly) {
  auto recording = recording_of(PERF_TYPE_SOFTWARE, kSampleType);
  model::RecordingFacts facts;
  facts.host = "vm\nevil 1 2.0: 3 x:";
  const auto text = script_header(recording, facts, "verdict: good.");
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) EXPECT_EQ(text[at], '#');
  EXPECT_TRUE(text.starts_with("# ========\n"));
  EXPECT_NE(text.find("# verdict: good."), std::string::npos);
}

}  // namespace
}  // namespace tephra::views
