#include "formats/firefox.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/json_tape.h"
#include "formats/json_profiles_for_tests.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;

// What a column holds, by the types of the format's documentation.
enum class Holds { kIndex, kIndexOrNull, kIndexOrMinusOne, kNumber, kNumberOrNull, kBool, kNull, kTextOrNull };

struct Column {
  const char* name;
  Holds holds;
  size_t below = SIZE_MAX;  // indices are
};

// Tables have their length and all of their columns, of that length, and nothing else; indices are of rows that exist.
void check_table(const Json& table, const std::vector<Column>& columns) {
  ASSERT_TRUE(table.is_object());
  const size_t length = static_cast<size_t>(table["length"].integer(-1));
  std::set<std::string> known{"length", "weightType"};
  for (const Column& column : columns) {
    SCOPED_TRACE(column.name);
    known.insert(column.name);
    ASSERT_TRUE(table[column.name].is_array());
    EXPECT_EQ(table[column.name].size(), length);
    for (const Json value : table[column.name].elements()) {
      const int64_t index = value.integer(-2);
      const bool is_index = index >= 0 && static_cast<size_t>(index) < column.below;
      switch (column.holds) {
        case Holds::kIndex:
          EXPECT_TRUE(is_index) << index;
          break;
        case Holds::kIndexOrNull:
          EXPECT_TRUE(is_index || value.is_null()) << index;
          break;
        case Holds::kIndexOrMinusOne:
          EXPECT_TRUE(is_index || index == -1) << index;
          break;
        case Holds::kNumber:
          EXPECT_TRUE(value.is_number());
          break;
        case Holds::kNumberOrNull:
          EXPECT_TRUE(value.is_number() || value.is_null());
          break;
        case Holds::kBool:
          EXPECT_TRUE(value.kind() == Json::Kind::kTrue || value.kind() == Json::Kind::kFalse);
          break;
        case Holds::kNull:
          EXPECT_TRUE(value.is_null());
          break;
        case Holds::kTextOrNull:
          EXPECT_TRUE(value.is_text() || value.is_null());
          break;
      }
    }
  }
  for (const auto& [key, value] : table.members()) EXPECT_TRUE(known.contains(key.text())) << key.text();
}

void check_shared(const Json& shared, size_t libs, size_t categories) {
  const size_t texts = shared["stringArray"].size();
  const size_t frames = static_cast<size_t>(shared["frameTable"]["length"].integer());
  const size_t functions = static_cast<size_t>(shared["funcTable"]["length"].integer());
  const size_t resources = static_cast<size_t>(shared["resourceTable"]["length"].integer());
  const size_t symbols = static_cast<size_t>(shared["nativeSymbols"]["length"].integer());
  const size_t sources = static_cast<size_t>(shared["sources"]["length"].integer());
  const size_t stacks = static_cast<size_t>(shared["stackTable"]["length"].integer());
  for (const Json text : shared["stringArray"].elements()) EXPECT_TRUE(text.is_text());
  check_table(shared["stackTable"], {{"frame", Holds::kIndex, frames}, {"prefix", Holds::kIndexOrNull, stacks}});
  int64_t row = 0;
  for (const Json prefix : shared["stackTable"]["prefix"].elements()) EXPECT_LT(prefix.integer(-1), row++);
  check_table(shared["frameTable"], {{"address", Holds::kIndexOrMinusOne},
                                     {"inlineDepth", Holds::kIndex, 256},
                                     {"category", Holds::kIndexOrNull, categories},
                                     {"subcategory", Holds::kIndexOrNull, 1},
                                     {"func", Holds::kIndex, functions},
                                     {"nativeSymbol", Holds::kIndexOrNull, symbols},
                                     {"innerWindowID", Holds::kNull},
                                     {"line", Holds::kNumberOrNull},
                                     {"column", Holds::kNull}});
  check_table(shared["funcTable"], {{"name", Holds::kIndex, texts},
                                    {"isJS", Holds::kBool},
                                    {"relevantForJS", Holds::kBool},
                                    {"resource", Holds::kIndexOrMinusOne, resources},
                                    {"source", Holds::kIndexOrNull, sources},
                                    {"lineNumber", Holds::kNumberOrNull},
                                    {"columnNumber", Holds::kNull}});
  check_table(shared["resourceTable"], {{"lib", Holds::kIndexOrNull, libs},
                                        {"name", Holds::kIndex, texts},
                                        {"host", Holds::kIndexOrNull, texts},
                                        {"type", Holds::kIndex, 6}});
  check_table(shared["nativeSymbols"], {{"libIndex", Holds::kIndex, libs},
                                        {"address", Holds::kIndex},
                                        {"name", Holds::kIndex, texts},
                                        {"functionSize", Holds::kNumberOrNull}});
  check_table(shared["sources"], {{"id", Holds::kTextOrNull},
                                  {"filename", Holds::kIndex, texts},
                                  {"startLine", Holds::kNumber},
                                  {"startColumn", Holds::kNumber},
                                  {"sourceMapURL", Holds::kIndexOrNull, texts}});
}

void check_thread(const Json& thread, size_t stacks) {
  for (const char* name : {"processType", "name", "pid", "processName"}) EXPECT_TRUE(thread[name].is_text()) << name;
  EXPECT_TRUE(thread["tid"].is_text() || thread["tid"].is_number());
  for (const char* name : {"processStartupTime", "registerTime"}) EXPECT_TRUE(thread[name].is_number()) << name;
  EXPECT_TRUE(thread["pausedRanges"].is_array());
  EXPECT_TRUE(thread["isMainThread"].truth(true) == thread["isMainThread"].truth(false));
  check_table(thread["samples"],
              {{"stack", Holds::kIndexOrNull, stacks}, {"time", Holds::kNumber}, {"weight", Holds::kNumber}});
  const std::string type = thread["samples"]["weightType"].text();
  EXPECT_TRUE(type == "samples" || type == "tracing-ms" || type == "bytes") << type;
  double last = 0;
  for (const Json time : thread["samples"]["time"].elements()) {
    EXPECT_GE(time.number(), last);
    last = time.number();
  }
  check_table(thread["markers"], {{"data", Holds::kNull},
                                  {"name", Holds::kIndex},
                                  {"startTime", Holds::kNumberOrNull},
                                  {"endTime", Holds::kNumberOrNull},
                                  {"phase", Holds::kIndex},
                                  {"category", Holds::kIndex}});
}

// The structure of version 61 as its documentation has it; there is no viewer to ask here.
void check_structure(std::string_view text) {
  const auto tape = JsonTape::parse(text);
  ASSERT_TRUE(tape.ok()) << tape.error().message();
  const Json root = tape->root();
  const Json meta = root["meta"];
  EXPECT_EQ(meta["preprocessedProfileVersion"].integer(), 61);
  for (const char* name : {"interval", "startTime", "processType", "stackwalk", "version"}) {
    EXPECT_TRUE(meta[name].is_number()) << name;
  }
  EXPECT_TRUE(meta["product"].is_text());
  EXPECT_TRUE(meta["markerSchema"].is_array());
  bool has_default = false;
  for (const Json category : meta["categories"].elements()) {
    EXPECT_GE(category["subcategories"].size(), 1u);
    has_default = has_default || category["color"].text() == "grey";
  }
  EXPECT_TRUE(has_default);
  for (const Json lib : root["libs"].elements()) {
    for (const char* name : {"arch", "name", "path", "debugName", "debugPath", "breakpadId"}) {
      EXPECT_TRUE(lib[name].is_text()) << name;
    }
    EXPECT_EQ(lib["breakpadId"].text().size(), 33u);
    EXPECT_TRUE(lib["codeId"].is_text() || lib["codeId"].is_null());
  }
  check_shared(root["shared"], root["libs"].size(), meta["categories"].size());
  EXPECT_GT(root["threads"].size(), 0u);
  for (const Json thread : root["threads"].elements()) {
    check_thread(thread, static_cast<size_t>(root["shared"]["stackTable"]["length"].integer()));
  }
}

TEST(Firefox, WritesTheDocumentedStructure) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto text = kFirefox.write(made_up_profile(seed, seed % 2 == 0));
    ASSERT_TRUE(text.ok());
    check_structure(*text);
    if (HasFailure()) return;
  }
}

TEST(Firefox, KeepsSumsThreadsEventsTimesAndComments) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const bool timed = seed % 2 == 0;
    const model::Profile profile = made_up_profile(seed, timed);
    const auto text = kFirefox.write(profile);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(kFirefox.refusal(base::as_bytes(*text)), "");
    const auto again = read_text(kFirefox, *text);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(sums(*again), sums(profile));
    EXPECT_EQ(again->facts.comments, profile.facts.comments);
    EXPECT_EQ(again->quality, model::Quality());
    EXPECT_EQ(again->samples.time.size(), timed ? profile.samples.size() : 0);
    if (!timed) continue;
    // From the first sample on, to the nanosecond.
    const auto ordered = [](const model::Profile& from) {
      std::multiset<uint64_t> times(from.samples.time.begin(), from.samples.time.end());
      std::multiset<uint64_t> relative;
      for (const uint64_t time : times) relative.insert(time - *times.begin());
      return relative;
    };
    EXPECT_EQ(ordered(*again), ordered(profile));
  }
}

TEST(Firefox, KeepsWhereCodeIs) {
  model::ProfileAssembler assembler;
  const auto text = [&](std::string_view value) { return assembler.string(value); };
  const auto build_id = *model::BuildId::from_hex("9a9c6aeba5df4178de168e26fe30ddcdab47d374");
  const auto file =
      assembler.mapping({.path = text("/usr/lib/ld.so"), .build_id = build_id, .kind = model::CodeKind::kFile});
  const auto kernel = assembler.mapping({.path = text("[kernel.kallsyms]"), .kind = model::CodeKind::kKernel});
  model::Frame outer{.mapping = file, .kind = model::AddressKind::kReturn, .address = 0x1234};
  outer.function = assembler.function({.name = text("outer"), .named = true, .start_line = 10});
  outer.file = text("outer.cpp");
  outer.line = 17;
  outer.symbol_offset = 0x34;
  model::Frame inner = outer;
  inner.inlined = true;
  inner.function = assembler.function({.name = text("inner"), .named = true});
  // One was not looked up, of the other it is known that there is no name.
  model::Frame unnamed{.mapping = file, .address = 0x2000};
  model::Frame stand_in{.mapping = file, .address = 0x3000};
  stand_in.function = assembler.function({.name = text("[unknown] ld.so+0x3000"), .named = false});
  model::Frame in_kernel{.mapping = kernel, .address = 0xffffffff81000010};
  in_kernel.function = assembler.function({.name = text("do_syscall"), .named = true});
  model::StackId stack;
  for (const model::Frame& frame : {stand_in, outer, inner, unnamed, in_kernel})
    stack = assembler.stack(stack, assembler.frame(frame));
  assembler.sample({.stack = stack,
                    .event = assembler.event({text("cpu-clock"), text("ns")}),
                    .thread = assembler.thread({1, 2, text("x")}),
                    .value = 1000});
  const auto written = kFirefox.write(std::move(assembler).finish());
  ASSERT_TRUE(written.ok());
  check_structure(*written);
  EXPECT_NE(written->find("\"EB6A9C9ADFA57841DE168E26FE30DDCD0\""), std::string::npos);
  const auto again = read_text(kFirefox, *written);
  ASSERT_TRUE(again.ok()) << again.error().message();
  std::vector<model::Frame> frames;
  for (model::StackId at = again->samples.stack[0]; at; at = again->stacks[at].parent) {
    frames.push_back(again->frames[again->stacks[at].frame]);
  }
  ASSERT_EQ(frames.size(), 5u);
  EXPECT_FALSE(frames[4].function);
  EXPECT_EQ(frames[4].address, 0x3000u);
  EXPECT_EQ(again->mappings[frames[0].mapping].kind, model::CodeKind::kKernel);
  EXPECT_EQ(again->text(again->functions[frames[0].function].name), "do_syscall");
  EXPECT_FALSE(frames[1].function);
  EXPECT_EQ(frames[1].address, 0x2000u);
  EXPECT_TRUE(frames[2].inlined);
  EXPECT_FALSE(frames[3].inlined);
  EXPECT_EQ(frames[3].address, 0x1233u);
  EXPECT_EQ(frames[2].address, 0x1233u);
  EXPECT_EQ(frames[3].line, 17u);
  EXPECT_EQ(again->text(frames[3].file), "outer.cpp");
  EXPECT_EQ(again->functions[frames[3].function].start_line, 10u);
  const model::Mapping& mapping = again->mappings[frames[3].mapping];
  EXPECT_EQ(mapping.kind, model::CodeKind::kFile);
  EXPECT_EQ(mapping.build_id, build_id);
  EXPECT_EQ(again->text(mapping.path), "/usr/lib/ld.so");
}

std::string processed(std::string_view samples, std::string_view tables = "") {
  return fmt::format(
      R"({{"meta":{{"preprocessedProfileVersion":55}},"libs":[],"threads":[{{"name":"t","pid":"3","tid":4,
    "stringArray":["a","b"],"funcTable":{{"name":[0,1],"resource":[-1,-1],"length":2}},
    "frameTable":{{"func":[0,1],"address":[-1,-1],"length":2}},
    "stackTable":{{"frame":[0,1],"prefix":[null,0],"length":2}},
    "resourceTable":{{"length":0,"lib":[],"name":[]}},{}"samples":{}}}]}})",
      tables, samples);
}

TEST(Firefox, ReadsWeightsOfEveryType) {
  const std::map<std::string, model::Totals> types{{R"("samples","weight":[2,1])", {3, 3}},
                                                   {R"("samples","weight":null)", {2, 2}},
                                                   {R"("tracing-ms","weight":[0.5,2])", {2, 2'500'000}},
                                                   {R"("bytes","weight":[100,28])", {2, 128}}};
  for (const auto& [type, totals] : types) {
    const auto profile =
        read_text(kFirefox, processed(R"({"length":2,"stack":[1,null],"time":[1,2.5],"weightType":)" + type + "}"));
    ASSERT_TRUE(profile.ok()) << profile.error().message();
    EXPECT_EQ(model::totals(*profile), totals) << type;
    EXPECT_EQ(stack_text(*profile, profile->samples.stack[0]), "a;b");
    EXPECT_FALSE(profile->samples.stack[1]);
    EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{1'000'000, 2'500'000}));
    EXPECT_EQ(profile->threads[model::ThreadId{0}].pid, 3);
    EXPECT_EQ(profile->threads[model::ThreadId{0}].tid, 4);
  }
}

// What is known of the program is looked up once, wherever it stands.
TEST(Firefox, ManyThreadsAndMembersOfTheProgram) {
  std::string members;
  for (int i = 0; i < 100'000; ++i) members += fmt::format(R"("m{}":0,)", i);
  std::string threads;
  for (int i = 0; i < 100'000; ++i) {
    threads += fmt::format(R"({}{{"name":"GeckoMain","processName":"p","tid":{}}})", i == 0 ? "" : ",", i);
  }
  for (const std::string_view kind : {R"("preprocessedProfileVersion":55)", R"("version":9)"}) {
    const bool gecko = kind.find("preprocessed") == std::string_view::npos;
    const std::string rest = gecko ? R"(,"processes":[{"threads":[]}])" : "";
    const auto profile = read_text(kFirefox, fmt::format(R"({{"libs":[],{}"meta":{{{}{},"product":"Firefox"}},
      "threads":[{}]{}}})",
                                                         members, members, kind, threads, rest));
    ASSERT_TRUE(profile.ok()) << profile.error().message();
    ASSERT_EQ(profile->threads.size(), 100'000u);
    EXPECT_EQ(profile->text(profile->threads[model::ThreadId{7}].comm), "GeckoMain");
  }
}

// What all threads share is not taken apart for each of them.
TEST(Firefox, ManyThreadsShareManyTexts) {
  constexpr size_t kThreads = 100'000;
  std::string threads;
  for (size_t i = 0; i < kThreads; ++i) threads += "{},";
  std::string texts;
  for (int i = 0; i < 300'000; ++i) texts += "\"\",";
  const auto profile = read_text(
      kFirefox,
      fmt::format(R"({{"meta":{{}},"libs":[],"shared":{{"stringArray":[{}"a"],"sources":{{"filename":[300000]}}}},
    "threads":[{}{{"name":"t","funcTable":{{"name":[300000],"source":[0]}},"frameTable":{{"func":[0]}},
    "stackTable":{{"frame":[0],"prefix":[null]}},"samples":{{"stack":[0],"time":[1]}}}}]}})",
                  texts, threads));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  ASSERT_EQ(profile->samples.size(), 1u);
  EXPECT_EQ(stack_text(*profile, profile->samples.stack[0]), "a");
  const model::Frame& frame = profile->frames[profile->stacks[profile->samples.stack[0]].frame];
  EXPECT_EQ(profile->text(frame.file), "a");
}

TEST(Firefox, AddsTimeDeltasUp) {
  const auto profile = read_text(kFirefox, processed(R"({"length":3,"stack":[0,0,1],"timeDeltas":[1,0,2.5]})"));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{1'000'000, 1'000'000, 3'500'000}));
}

TEST(Firefox, RefusesIndicesOfNothingAndDifferences) {
  const std::map<std::string, std::string> files{
      {processed(R"({"stack":[2],"time":[1]})"), "a stack that is not there"},
      {processed(R"({"stack":[-2],"time":[1]})"), "a stack that is not there"},
      {processed(R"({"stack":[0],"time":[1,2]})"), "one length"},
      {processed(R"({"stack":[0],"time":[1],"weight":[-1]})"), "difference"},
      {processed(R"({"stack":[0],"time":[1]})", R"("x":0},{"stackTable":{"frame":[0],"prefix":[0]},)"),
       "is not made of"},
      {processed(R"({"stack":[0],"time":[1]})", R"("x":0},{"frameTable":{"func":[7]},)"),
       "a function that is not there"},
      {R"({"meta":{},"threads":3})", "no list of threads"}};
  for (const auto& [text, why] : files) {
    const auto profile = read_text(kFirefox, text);
    ASSERT_FALSE(profile.ok()) << text;
    EXPECT_NE(profile.error().why.find(why), std::string::npos) << profile.error().why;
  }
}

// Return addresses of callers and the instruction of the leaf are told apart, and found in the libraries of the
// process.
TEST(Firefox, FindsAddressesOfTheGeckoFormatInLibraries) {
  const auto profile = read_text(kFirefox, R"json({"meta":{"version":9,"startTime":1000},
    "libs":[{"name":"x","path":"/lib/x.so","start":4096,"end":8192,"offset":512}],
    "threads":[{"name":"t","pid":1,"tid":1,"stringTable":["0x1010","0x9999","f (file.js:3:1)","g (in /lib/y.so)"],
      "frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1],[2,5],[3]]},
      "stackTable":{"schema":{"frame":1,"prefix":0},"data":[[null,0],[0,0],[1,1],[2,2],[3,3]]},
      "samples":{"schema":{"stack":0,"time":1},"data":[[1,1],[4,2]]}}],
    "processes":[{"meta":{"startTime":1001},"threads":[{"name":"u","pid":2,"tid":2,"stringTable":["h"],
      "frameTable":{"schema":{"location":0},"data":[[0]]},
      "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
      "samples":{"schema":{"time":0,"stack":1},"data":[[3,0]]}}]}]})json");
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  ASSERT_EQ(profile->samples.size(), 3u);
  const model::Stack leaf = profile->stacks[profile->samples.stack[0]];
  const model::Stack caller = profile->stacks[leaf.parent];
  EXPECT_EQ(profile->frames[leaf.frame].kind, model::AddressKind::kInstruction);
  EXPECT_EQ(profile->frames[caller.frame].kind, model::AddressKind::kReturn);
  EXPECT_EQ(profile->frames[leaf.frame].address, 0x210u);
  EXPECT_EQ(profile->text(profile->mappings[profile->frames[leaf.frame].mapping].path), "/lib/x.so");
  EXPECT_EQ(stack_text(*profile, profile->samples.stack[1]), "+528;+528;0x9999;f;g");
  const model::Stack g = profile->stacks[profile->samples.stack[1]];
  const model::Frame& f = profile->frames[profile->stacks[g.parent].frame];
  EXPECT_EQ(profile->text(f.file), "file.js");
  EXPECT_EQ(f.line, 5u);
  EXPECT_EQ(profile->functions[f.function].start_line, 3u);
  EXPECT_EQ(profile->text(profile->mappings[profile->frames[g.frame].mapping].path), "/lib/y.so");
  EXPECT_EQ(profile->samples.time, (std::vector<uint64_t>{1'000'000, 2'000'000, 4'000'000}));
}

struct Expected {
  const char* file;
  uint64_t samples;
  uint64_t count;
  size_t threads;    // that differ in ids or name
  const char* leaf;  // that most samples have
  uint64_t leaf_count;
};

// Numbers of samples are those of the files' own tables, counted apart.
TEST(FirefoxFixtures, EveryFileHasItsSamples) {
  const auto folder = json_fixtures("firefox");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  const std::vector<Expected> files{
      {"firefox/firefox-devtools-profiler/processed-1.json", 21, 21, 3, "", 0},
      {"firefox/firefox-devtools-profiler/processed-3.json", 21, 21, 2, "", 0},
      {"firefox/firefox-devtools-profiler/gecko-1.json", 21, 21, 2, "", 0},
      {"firefox/firefox-devtools-profiler/argument-values.json", 32, 32, 1, "", 0},
      {"firefox/jlfwong-speedscope/59/simple-firefox.json", 38, 38, 1, "d", 32},
      {"firefox/jlfwong-speedscope/61/recursion.json", 15, 15, 1, "gamma", 10},
      {"firefox/mstange-samply/ls-profile.json", 5130, 13083, 2, "", 0},
      {"firefox/mstange-samply/profile_without_js.snap", 4, 4, 1, "", 0},
      {"perf-data/aosp-simpleperf/perf_with_jit_symbol.gecko.json", 151, 151, 1,
       "com.android.simpleperf.debuggable.MainActivity$1.run", 128},
      {"perf-data/aosp-simpleperf/perf_with_tracepoint_event.gecko.json", 45, 45, 1, "__schedule", 31},
  };
  for (const Expected& expected : files) {
    SCOPED_TRACE(expected.file);
    const auto profile = read_path(kFirefox, json_fixtures(expected.file));
    ASSERT_TRUE(profile.ok()) << profile.error().message();
    EXPECT_EQ(profile->samples.size(), expected.samples);
    EXPECT_EQ(profile->samples.time.size(), expected.samples);
    EXPECT_EQ(model::totals(*profile).count, expected.count);
    EXPECT_EQ(profile->threads.size(), expected.threads);
    uint64_t leaves = 0;
    for (const model::StackId stack : profile->samples.stack) {
      leaves += stack && profile->function_name(profile->stacks[stack].frame) == expected.leaf;
    }
    if (expected.leaf_count != 0) {
      EXPECT_EQ(leaves, expected.leaf_count);
    }
    const auto written = kFirefox.write(*profile);
    ASSERT_TRUE(written.ok());
    check_structure(*written);
    const auto again = read_text(kFirefox, *written);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(model::totals(*again), model::totals(*profile));
  }
}

// samply's recording of a program on ARM64 is not symbolicated: addresses are in files with their build ids.
TEST(FirefoxFixtures, AddressesWithoutNamesAreInFilesWithBuildIds) {
  const auto path = json_fixtures("firefox") / "mstange-samply/ls-profile.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no fixtures: set TEPHRA_FIXTURES";
  const auto profile = read_path(kFirefox, path);
  ASSERT_TRUE(profile.ok());
  std::map<std::string, std::string> build_ids;
  for (const model::Mapping& mapping : profile->mappings) {
    if (mapping.kind == model::CodeKind::kFile)
      build_ids[std::string(profile->text(mapping.path))] = mapping.build_id.hex();
  }
  EXPECT_EQ(build_ids["/usr/bin/ls"], "63260a3e6e46db57abf718f6a3562c6eedccf269");
  EXPECT_EQ(build_ids["/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"], "9a9c6aeba5df4178de168e26fe30ddcdab47d374");
  // The commonest leaf outside of the kernel, counted apart in the tables of the file.
  uint64_t count = 0;
  for (size_t i = 0; i < profile->samples.size(); ++i) {
    if (!profile->samples.stack[i]) continue;
    const model::Frame& leaf = profile->frames[profile->stacks[profile->samples.stack[i]].frame];
    const bool in_libc = profile->text(profile->mappings[leaf.mapping].path).ends_with("/libc.so.6");
    if (in_libc && leaf.address == 731048 && !leaf.function) count += profile->samples.count[i];
  }
  EXPECT_EQ(count, 11938u);
}

}  // namespace
}  // namespace tephra::formats
