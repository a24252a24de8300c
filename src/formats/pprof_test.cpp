#include "formats/pprof.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <unordered_map>

#include "base/unpack.h"
#include "formats/pprof_fields.h"
#include "formats/pprof_tables.h"
#include "formats/pprof_writer.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using namespace pprof;
using model::Profile;

template <class Field>
using Builder = protozero::pbf_builder<Field>;

std::string unpacked(const Profile& profile) {
  const auto packed = write_pprof(profile);
  EXPECT_TRUE(packed.ok());
  auto bytes = base::unpack(base::as_bytes(*packed), 1 << 30);
  EXPECT_TRUE(bytes.ok());
  return std::move(bytes).value();
}

Profile read(const std::string& bytes) {
  EXPECT_EQ(kPprof.refusal(base::as_bytes(bytes)), "");
  auto profile = kPprof.read(base::as_bytes(bytes));
  EXPECT_TRUE(profile.ok()) << (profile.ok() ? "" : profile.error().message());
  return profile.ok() ? std::move(profile).value() : Profile{};
}

std::string why_not(const std::string& bytes) {
  const auto profile = kPprof.read(base::as_bytes(bytes));
  return profile.ok() ? "" : profile.error().why;
}

// All that a profile says, without the order of its rows.
class Description {
 public:
  explicit Description(const Profile& profile) : profile_(profile) {
    const auto& facts = profile.facts;
    add("facts", fmt::format("{} {} {} {} {}", facts.started_unix_ns, facts.duration_ns, facts.default_event,
                             facts.drop_frames, facts.keep_frames));
    add("period", fmt::format("{} {} {}", facts.period.event, facts.period.unit, facts.period.value));
    for (const std::string& comment : facts.comments) add("comment", comment);
    for (uint32_t i = 0; i < profile.events.size(); ++i) add("event", event(model::EventId{i}));
    for (uint32_t i = 1; i < profile.mappings.size(); ++i) add("mapping", mapping(model::MappingId{i}));
    for (size_t row = 0; row < profile.samples.size(); ++row) add("sample", sample(row));
  }
  bool operator==(const Description& other) const { return lines_ == other.lines_; }
  friend std::ostream& operator<<(std::ostream& out, const Description& description) {
    for (const std::string& line : description.lines_) out << line << "\n";
    return out;
  }

 private:
  void add(const char* what, const std::string& text) { lines_.insert(fmt::format("{}: {}", what, text)); }

  std::string event(model::EventId id) const {
    const model::Event& row = profile_.events[id];
    return fmt::format("{}/{}/{}/{}", profile_.text(row.name), profile_.text(row.unit), profile_.text(row.counted),
                       row.uncounted);
  }

  std::string mapping(model::MappingId id) const {
    const model::Mapping& row = profile_.mappings[id];
    return fmt::format("{} {:#x}+{:#x} {} {}", profile_.text(row.path), row.base, row.size, row.build_id.hex(),
                       static_cast<int>(row.kind));
  }

  std::string frame(model::FrameId id) const {
    const model::Frame& row = profile_.frames[id];
    const model::Function& function = profile_.functions[row.function];
    return fmt::format("[{} {:#x} {} {} {} {}:{} {}]", mapping(row.mapping), row.address, profile_.text(function.name),
                       profile_.text(function.system_name), function.start_line, profile_.text(row.file), row.line,
                       row.inlined);
  }

  std::string sample(size_t row) const {
    const model::Samples& samples = profile_.samples;
    const model::Thread& thread = profile_.threads[samples.thread[row]];
    std::string text = fmt::format("{} {} {} pid {} tid {} comm {}", event(samples.event[row]), samples.count[row],
                                   samples.value[row], thread.pid, thread.tid, profile_.text(thread.comm));
    if (!samples.labels.empty()) {
      std::multiset<std::string> labels;
      for (const model::Label& label : profile_.label_sets[samples.labels[row]].labels) {
        labels.insert(fmt::format(" {}={}{}{}", profile_.text(label.key), profile_.text(label.text), label.number,
                                  profile_.text(label.unit)));
      }
      for (const std::string& label : labels) text += label;
    }
    for (model::StackId at = samples.stack[row]; at; at = profile_.stacks[at].parent) {
      text += frame(profile_.stacks[at].frame);
    }
    return text;
  }

  const Profile& profile_;
  std::multiset<std::string> lines_;
};

// A profile with everything there is: two events with counts, one without; inlined functions, labels, threads.
Profile rich_profile() {
  model::ProfileAssembler assembler;
  const auto text = [&](const char* each) { return assembler.string(each); };
  assembler.mapping({.kind = model::CodeKind::kImported});
  const auto program = assembler.mapping({.path = text("/bin/prog"),
                                          .build_id = *model::BuildId::from_hex("aabbccdd00112233"),
                                          .kind = model::CodeKind::kFile,
                                          .base = 0x400000,
                                          .size = 0x9000});
  assembler.mapping({.path = text("/lib/unused.so"), .kind = model::CodeKind::kFile, .base = 0x7f0000, .size = 0x1000});
  const auto nameless = assembler.mapping({.kind = model::CodeKind::kImported, .base = 0x10, .size = 0x20});
  const auto function = [&](const char* name, const char* system_name, uint32_t line) {
    return assembler.function({text(name), text(system_name), true, line});
  };
  const auto outer = assembler.frame({.mapping = program,
                                      .address = 0x1234,
                                      .function = function("outer(int)", "_Z5outeri", 10),
                                      .file = text("a.cc"),
                                      .line = 12});
  const auto inner = assembler.frame({.mapping = program,
                                      .inlined = true,
                                      .address = 0x1234,
                                      .function = function("inner", "inner", 3),
                                      .file = text("b.h"),
                                      .line = 5});
  const auto unknown = assembler.frame({.mapping = program, .address = 0x2000});
  const auto elsewhere = assembler.frame({.mapping = nameless, .address = 0x18, .function = function("stub", "", 0)});
  const auto root = assembler.stack({}, elsewhere);
  const auto deep = assembler.stack(assembler.stack(root, outer), inner);
  const auto flat = assembler.stack(root, unknown);
  const auto used = assembler.event({text("inuse_space"), text("bytes"), text("inuse_objects"), false});
  const auto cpu = assembler.event({text("cpu"), text("ns"), {}, false});
  const auto weight = assembler.event({text("weight"), text("gram"), {}, true});
  assembler.event({text("nothing"), text("count"), {}, false});
  const auto worker = assembler.thread({7, 8, text("worker")});
  const auto nobody = assembler.thread({});
  const auto labels = assembler.labels({{text("request"), text("GET /"), 0, {}},
                                        {text("request"), text("PUT /"), 0, {}},
                                        {text("size"), {}, -512, text("bytes")},
                                        {text("tid"), text("not a number"), 0, {}},
                                        {text("empty"), {}, 0, {}}});
  assembler.sample({.stack = deep, .event = used, .thread = worker, .count = 3, .value = 300, .labels = labels});
  assembler.sample({.stack = deep, .event = cpu, .thread = worker, .count = 2, .value = 20, .labels = labels});
  assembler.sample({.stack = deep, .event = weight, .thread = worker, .count = 1, .value = 5, .labels = labels});
  assembler.sample({.stack = flat, .event = cpu, .thread = nobody, .count = 1, .value = INT64_MAX});
  assembler.sample({.stack = {}, .event = used, .thread = nobody, .count = 0, .value = 9});
  model::RecordingFacts& facts = assembler.facts();
  facts.engine = "imported";
  facts.started_unix_ns = 1700000000123456789;
  facts.duration_ns = 5'000'000;
  facts.period = {"space", "bytes", 524288};
  facts.default_event = "inuse_objects";
  facts.drop_frames = "malloc|free";
  facts.keep_frames = "keep";
  facts.comments = {"first", "second"};
  return std::move(assembler).finish();
}

TEST(PprofTest, WhatIsWrittenIsReadBack) {
  const Profile before = rich_profile();
  const Profile after = read(unpacked(before));
  EXPECT_EQ(Description(before), Description(after));
  EXPECT_EQ(after.facts.format, "pprof");
  // And again, in the same bytes.
  EXPECT_EQ(unpacked(after), unpacked(read(unpacked(after))));
}

TEST(PprofTest, ReturnAddressesAreWrittenAsCalls) {
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string("/bin/prog"), .kind = model::CodeKind::kFile});
  const auto frame = assembler.frame({.mapping = mapping, .kind = model::AddressKind::kReturn, .address = 0x1000});
  assembler.sample({.stack = assembler.stack({}, frame),
                    .event = assembler.event({assembler.string("cycles"), assembler.string("count"), {}, false}),
                    .thread = assembler.thread({}),
                    .count = 2,
                    .value = 2000});
  const Profile profile = read(unpacked(std::move(assembler).finish()));
  ASSERT_EQ(profile.frames.size(), 2u);
  EXPECT_EQ(profile.frames[model::FrameId{1}].address, 0xfffu);
  // What samples count stays apart from the samples, though both are counts.
  ASSERT_EQ(profile.events.size(), 1u);
  EXPECT_EQ(profile.text(profile.events[model::EventId{0}].name), "cycles");
  EXPECT_EQ(model::totals(profile), (model::Totals{2, 2000}));
}

TEST(PprofTest, NamesThatStandInAreWrittenWhereThereIsNoAddress) {
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.kind = model::CodeKind::kImported});
  const auto function = assembler.function({.name = assembler.string("[unknown]"), .named = false});
  assembler.sample({.stack = assembler.stack({}, assembler.frame({.mapping = mapping, .function = function})),
                    .event = assembler.event({assembler.string("samples"), assembler.string("samples"), {}, false}),
                    .thread = assembler.thread({}),
                    .count = 1,
                    .value = 1});
  const Profile profile = read(unpacked(std::move(assembler).finish()));
  EXPECT_EQ(profile.function_name(model::FrameId{1}), "[unknown]");
  // They are no names for that.
  EXPECT_FALSE(profile.functions[profile.frames[model::FrameId{1}].function].named);
}

struct TestEvent {
  const char* name;
  const char* unit;
  const char* counted = "";
  bool uncounted = false;
  uint64_t count = 3;
  uint64_t value = 50;
};

Profile profile_of(const std::vector<TestEvent>& events) {
  model::ProfileAssembler to;
  for (const TestEvent& each : events) {
    to.sample({.stack = {},
               .event = to.event({to.string(each.name), to.string(each.unit), to.string(each.counted), each.uncounted}),
               .thread = to.thread({}),
               .count = each.count,
               .value = each.value});
  }
  return std::move(to).finish();
}

// Sums by event, in the order of names.
std::set<std::string> sums_by_event(const Profile& profile) {
  std::set<std::string> sums;
  model::for_each_id(profile.events, [&](model::EventId id) {
    const model::Event& event = profile.events[id];
    const model::Totals sum = model::totals(profile, id);
    sums.insert(fmt::format("{} of {}: {} in {}", profile.text(event.name), profile.text(event.counted),
                            event.uncounted ? 0 : sum.count, sum.value));
  });
  return sums;
}

std::vector<std::string> names_of_types(const std::string& bytes) {
  const Tables tables = read_tables(base::as_bytes(bytes));
  std::vector<std::string> names;
  for (const ValueType& type : tables.types) names.emplace_back(tables.text(type.type));
  return names;
}

TEST(PprofTest, WhatCountsAndWhatIsMeasuredStayTogetherInAnyOrder) {
  std::vector<TestEvent> events{
      {.name = "samples", .unit = "samples", .count = 12, .value = 12},
      {.name = "cpu-clock", .unit = "ns"},
      {.name = "cycles", .unit = "events"},
      {.name = "goroutine", .unit = "count", .count = 7, .value = 7},
      {.name = "time", .unit = "ns", .uncounted = true, .count = 1},
  };
  std::ranges::sort(events, {}, [](const TestEvent& event) { return std::string_view(event.name); });
  do {
    const Profile profile = profile_of(events);
    const std::string bytes = unpacked(profile);
    const std::vector<std::string> names = names_of_types(bytes);
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), 7u) << fmt::format("{}", fmt::join(names, " "));
    EXPECT_EQ(sums_by_event(read(bytes)), sums_by_event(profile)) << fmt::format("{}", fmt::join(names, " "));
  } while (std::ranges::next_permutation(events, {}, [](const TestEvent& event) {
             return std::string_view(event.name);
           }).found);
}

TEST(PprofTest, TypesStayInTheirOrderWhereThatTellsThemApart) {
  const Profile profile = profile_of({{.name = "goroutine", .unit = "count", .count = 7, .value = 7},
                                      {.name = "cpu", .unit = "ns"},
                                      {.name = "heap", .unit = "bytes", .counted = "objects"},
                                      {.name = "cycles", .unit = "count"}});
  const std::vector<std::string> expected{"goroutine", "samples", "cpu", "objects", "heap", "cycles_samples", "cycles"};
  EXPECT_EQ(names_of_types(unpacked(profile)), expected);
}

TEST(PprofTest, SumsThatDoNotFitAreRefused) {
  model::ProfileAssembler assembler;
  const auto event = assembler.event({assembler.string("cpu"), assembler.string("ns"), {}, false});
  for (int i = 0; i < 2; ++i) {
    assembler.sample({.stack = {}, .event = event, .thread = assembler.thread({}), .count = 1, .value = INT64_MAX});
  }
  const auto written = write_pprof(std::move(assembler).finish());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().why, "a sum is larger than pprof's numbers can be");
}

TEST(PprofTest, GeneratedFunctionsAreNoMappings) {
  model::ProfileAssembler assembler;
  const auto name = assembler.string("Jit::run");
  const auto mapping = assembler.mapping({.path = name, .kind = model::CodeKind::kJit, .base = 0x5000, .pid = 4});
  const auto function = assembler.function({name, name, true});
  assembler.sample(
      {.stack = assembler.stack({}, assembler.frame({.mapping = mapping, .address = 0x5010, .function = function})),
       .event = assembler.event({assembler.string("cpu-clock"), assembler.string("ns"), {}, false}),
       .thread = assembler.thread({}),
       .count = 1,
       .value = 10});
  const Profile profile = read(unpacked(std::move(assembler).finish()));
  EXPECT_EQ(profile.function_name(model::FrameId{1}), "Jit::run");
  EXPECT_EQ(profile.frames[model::FrameId{1}].address, 0x5010u);
  for (const model::Mapping& each : profile.mappings) EXPECT_EQ(profile.text(each.path), "");
}

// A file made by hand, piece by piece.
class Made {
 public:
  explicit Made(const std::vector<std::string>& texts) : message_(bytes_) {
    for (const std::string& text : texts) message_.add_string(ProfileField::kString, text);
  }
  Made& type(int64_t type, int64_t unit) {
    Builder<ValueTypeField> builder(message_, ProfileField::kSampleType);
    builder.add_int64(ValueTypeField::kType, type);
    builder.add_int64(ValueTypeField::kUnit, unit);
    return *this;
  }
  Made& sample(const std::vector<uint64_t>& locations, const std::vector<int64_t>& values) {
    Builder<SampleField> builder(message_, ProfileField::kSample);
    builder.add_packed_uint64(SampleField::kLocation, locations.begin(), locations.end());
    builder.add_packed_int64(SampleField::kValue, values.begin(), values.end());
    return *this;
  }
  Made& location(uint64_t id, uint64_t mapping, uint64_t address, const std::vector<uint64_t>& functions = {}) {
    Builder<LocationField> builder(message_, ProfileField::kLocation);
    builder.add_uint64(LocationField::kId, id);
    builder.add_uint64(LocationField::kMapping, mapping);
    builder.add_uint64(LocationField::kAddress, address);
    for (const uint64_t function : functions) {
      Builder<LineField> line(builder, LocationField::kLine);
      line.add_uint64(LineField::kFunction, function);
    }
    return *this;
  }
  Made& function(uint64_t id, int64_t name, int64_t system_name = 0) {
    Builder<FunctionField> builder(message_, ProfileField::kFunction);
    builder.add_uint64(FunctionField::kId, id);
    builder.add_int64(FunctionField::kName, name);
    builder.add_int64(FunctionField::kSystemName, system_name);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }
  Builder<ProfileField>& message() { return message_; }

 private:
  std::string bytes_;
  Builder<ProfileField> message_;
};

const std::vector<std::string> kTexts{"", "cpu", "nanoseconds", "samples", "count", "f"};

TEST(PprofTest, ReadsNumbersThatAreNotPacked) {
  Made made(kTexts);
  made.type(1, 2).location(1, 0, 0x10);
  {
    Builder<SampleField> sample(made.message(), ProfileField::kSample);
    sample.add_uint64(SampleField::kLocation, 1);
    sample.add_uint64(SampleField::kLocation, 1);
    sample.add_int64(SampleField::kValue, 5);
  }
  const Profile profile = read(made.bytes());
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples.value[0], 5u);
  EXPECT_EQ(profile.stacks.size(), 3u);
}

TEST(PprofTest, NumbersOfRowsNeedNotBeInOrder) {
  Made made(kTexts);
  made.type(1, 2).location(900, 0, 0x10, {77}).location(2, 0, 0x20, {77}).function(77, 5).sample({2, 900}, {1});
  const Profile profile = read(made.bytes());
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.function_name(profile.stacks[profile.samples.stack[0]].frame), "f");
  EXPECT_EQ(profile.frames[profile.stacks[profile.samples.stack[0]].frame].address, 0x20u);
}

TEST(PprofTest, SamplesOfNothingAreKept) {
  Made made(kTexts);
  made.type(3, 4).type(1, 2).location(1, 0, 0x10).sample({1}, {0, 0});
  const Profile profile = read(made.bytes());
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(model::totals(profile), model::Totals{});
}

TEST(PprofTest, TheSystemNameStandsInForTheName) {
  Made made(kTexts);
  made.type(1, 2).location(1, 0, 0x10, {1}).function(1, 0, 5).sample({1}, {1});
  EXPECT_EQ(read(made.bytes()).function_name(model::FrameId{1}), "f");
}

TEST(PprofTest, SharedBeginningsOfStacksAreSharedRows) {
  Made made(kTexts);
  made.type(1, 2);
  for (uint64_t id = 1; id <= 4; ++id) made.location(id, 0, id);
  made.sample({3, 2, 1}, {1}).sample({4, 2, 1}, {1}).sample({2, 1}, {1}).sample({}, {1}).sample({3, 2, 1}, {1});
  const Profile profile = read(made.bytes());
  EXPECT_EQ(profile.stacks.size(), 5u);
  EXPECT_EQ(profile.samples.stack[0], profile.samples.stack[4]);
  EXPECT_EQ(profile.stacks[profile.samples.stack[0]].parent, profile.samples.stack[2]);
  EXPECT_EQ(profile.stacks[profile.samples.stack[1]].parent, profile.samples.stack[2]);
  EXPECT_EQ(profile.samples.stack[3], model::StackId{});
}

TEST(PprofTest, RefusesWhatMakesNoSense) {
  const auto made = [] { return Made(kTexts); };
  EXPECT_EQ(why_not(Made({"x"}).type(1, 2).bytes()), "its first text is not the empty one");
  EXPECT_EQ(why_not(made().bytes()), "it says of no value what it is");
  EXPECT_EQ(why_not(made().type(1, 99).bytes()), "there is no text 99");
  EXPECT_EQ(why_not(made().type(1, 2).type(1, 2).bytes()), "two of its types of value are cpu");
  EXPECT_EQ(why_not(made().type(0, 2).type(0, 2).bytes()), "two of its types of value have no name");
  EXPECT_EQ(why_not(made().type(1, 2).sample({}, {1, 2}).bytes()), "a sample has 2 values, not 1");
  EXPECT_EQ(why_not(made().type(1, 2).sample({7}, {1}).bytes()), "there is no location 7");
  EXPECT_EQ(why_not(made().type(1, 2).location(1, 4, 0).bytes()), "there is no mapping 4");
  EXPECT_EQ(why_not(made().type(1, 2).location(1, 0, 0, {9}).bytes()), "there is no function 9");
  EXPECT_EQ(why_not(made().type(1, 2).location(0, 0, 0).bytes()), "something has the number 0");
  EXPECT_EQ(why_not(made().type(1, 2).location(5, 0, 0).location(5, 0, 0).bytes()), "two things have the number 5");
  EXPECT_EQ(why_not(made().type(1, 2).sample({}, {-1}).bytes()),
            "it holds negative values: it is the difference of two profiles");
}

TEST(PprofTest, RefusesFieldsOfAnotherType) {
  Made made(kTexts);
  made.type(1, 2);
  made.message().add_fixed64(ProfileField::kPeriod, 1);
  EXPECT_EQ(why_not(made.bytes()), "field 12 is of another type");
  EXPECT_NE(kPprof.refusal(base::as_bytes(made.bytes())), "");
  Made number(kTexts);
  number.message().add_uint64(ProfileField::kSample, 1);
  EXPECT_EQ(why_not(number.type(1, 2).sample({}, {1}).bytes()), "field 2 is of another type");
}

TEST(PprofTest, RefusesWhatIsCutOff) {
  const std::string whole = unpacked(rich_profile());
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    if (!kPprof.read(base::as_bytes(whole.substr(0, size))).ok()) ++refused;
  }
  // Texts come last: nothing is whole without them but where a text ends.
  EXPECT_GT(refused, whole.size() * 9 / 10);
}

TEST(PprofTest, SaysThatItIsCutOff) {
  const std::string whole = unpacked(rich_profile());
  const std::string cut = whole.substr(0, whole.size() - 1);
  EXPECT_EQ(kPprof.refusal(base::as_bytes(cut)), "");
  EXPECT_EQ(why_not(cut), "it is cut off");
  Made made({});
  made.type(1, 2).sample({}, {1});
  for (const std::string& text : kTexts) made.message().add_string(ProfileField::kString, text);
  const std::string& small = made.bytes();
  EXPECT_EQ(kPprof.refusal(base::as_bytes(small.substr(0, small.size() - 1))), "");
  EXPECT_EQ(why_not(small.substr(0, small.size() - 1)), "it is cut off");
  Made without_texts({});
  EXPECT_EQ(why_not(without_texts.type(1, 2).bytes()), "it has no texts: it is cut off");
  for (const std::string_view text : {"\n~text", "\n\x02\x08", "@[\n    f\n, x]: 3\n"}) {
    EXPECT_NE(kPprof.refusal(base::as_bytes(text)), "") << text;
  }
}

// A location with thousands of inlined functions that is used thousands of times.
TEST(PprofTest, StacksCannotBecomeEndless) {
  Made made(kTexts);
  made.type(1, 2).function(1, 5);
  made.location(1, 0, 0x10, std::vector<uint64_t>(10'000, 1));
  made.sample(std::vector<uint64_t>(100'000, 1), {1});
  EXPECT_EQ(why_not(made.bytes()), "its stacks are longer than its size allows");
}

TEST(PprofTest, OtherFilesAreNotTaken) {
  for (const std::string_view text :
       {"heap profile: 1: 2 [ 3: 4] @ heap/512\n", "--- contentionz 1 ---\n", "main;a 1\n", "PERFILE2",
        "\x7f"
        "ELF\x02\x01\x01"}) {
    EXPECT_NE(kPprof.refusal(base::as_bytes(text)), "") << text;
  }
}

// Numbers that the standard's table of that many would keep all in one place.
TEST(PprofTables, NumbersThatWereChosenAreFoundFast) {
  constexpr uint64_t kRows = 300'000;
  std::unordered_map<uint64_t, int> table;
  for (uint64_t i = 0; i < kRows; ++i) table.emplace(i, 0);
  pprof::Numbered<uint64_t> numbered;
  for (uint64_t i = 1; i <= kRows; ++i) numbered.add(i * table.bucket_count(), i);
  ASSERT_NE(numbered.find(kRows * table.bucket_count()), nullptr);
  EXPECT_EQ(*numbered.find(kRows * table.bucket_count()), kRows);
  EXPECT_EQ(numbered.find(1), nullptr);
}

}  // namespace
}  // namespace tephra::formats
