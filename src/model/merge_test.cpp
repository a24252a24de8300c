#include "model/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>

#include "model/joined_events.h"
#include "model/profile_assembler.h"

namespace tephra::model {
namespace {

// What a profile holds, whatever the order of its rows: sums by everything that tells samples apart.
using Content = std::map<std::string, std::pair<uint64_t, uint64_t>>;

std::string described(const Profile& profile, size_t row) {
  std::string text;
  for (StackId stack = profile.samples.stack[row]; stack; stack = profile.stacks[stack].parent) {
    const Frame& frame = profile.frames[profile.stacks[stack].frame];
    text = std::string(profile.function_name(profile.stacks[stack].frame)) + "@" +
           std::string(profile.text(profile.mappings[frame.mapping].path)) + ":" + std::to_string(frame.line) + ";" +
           text;
  }
  const Event& event = profile.events[profile.samples.event[row]];
  const Thread& thread = profile.threads[profile.samples.thread[row]];
  text += " of " + std::string(profile.text(event.name)) + "/" + std::string(profile.text(event.unit)) + "/" +
          std::string(profile.text(event.counted)) + " in " + std::string(profile.text(thread.comm)) +
          std::to_string(thread.pid) + "/" + std::to_string(thread.tid);
  if (profile.samples.labels.empty()) return text;
  for (const Label& label : profile.label_sets[profile.samples.labels[row]].labels) {
    text += " " + std::string(profile.text(label.key)) + "=" + std::string(profile.text(label.text)) +
            std::to_string(label.number) + std::string(profile.text(label.unit));
  }
  return text;
}

Content content(const Profile& profile) {
  Content sums;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    auto& [count, value] = sums[described(profile, row)];
    count += profile.samples.count[row];
    value += profile.samples.value[row];
  }
  return sums;
}

Profile random_profile(unsigned seed, bool with_time) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  ProfileAssembler to;
  const auto name = [&](const char* prefix, uint32_t limit) {
    return to.string(prefix + std::to_string(below(limit)));
  };
  for (int i = 0; i < 60; ++i) {
    StackId stack;
    for (uint32_t depth = below(5); depth > 0; --depth) {
      const MappingId mapping = to.mapping({.path = name("lib", 2), .kind = CodeKind::kFile});
      const FunctionId function = to.function({.name = name("f", 4), .named = true});
      stack = to.stack(stack, to.frame({.mapping = mapping, .function = function, .line = below(2)}));
    }
    const LabelSetId labels = below(2) == 0 ? LabelSetId{} : to.labels({{.key = name("k", 2), .number = below(3)}});
    const auto tid = static_cast<int32_t>(below(3));
    ProfileAssembler::Sample sample{.stack = stack,
                                    .event = to.event({.name = name("e", 2), .unit = to.string("ns")}),
                                    .thread = to.thread({1, tid, name("t", 2)}),
                                    .count = below(5),
                                    .value = below(1000),
                                    .labels = labels};
    if (with_time) sample.time = below(1000);
    to.sample(sample);
  }
  to.facts().duration_ns = seed;
  to.facts().host = "host";
  to.facts().arch = "arch" + std::to_string(seed % 2);
  to.quality()[Reason::no_symbol] = seed;
  return std::move(to).finish();
}

Profile merged(const Profile& a, const Profile& b) {
  const Profile both[] = {a, b};
  return merge(both).value();
}

TEST(Merge, SumsAreKeptByEverythingThatTellsSamplesApart) {
  for (unsigned seed = 1; seed < 20; ++seed) {
    const Profile a = random_profile(seed, false);
    const Profile b = random_profile(seed + 100, false);
    Content expected = content(a);
    for (const auto& [key, sums] : content(b)) {
      expected[key].first += sums.first;
      expected[key].second += sums.second;
    }
    const Profile both = merged(a, b);
    EXPECT_EQ(content(both), expected);
    EXPECT_EQ(both.quality[Reason::no_symbol], 2 * seed + 100);
    EXPECT_LE(both.samples.size(), a.samples.size() + b.samples.size());
  }
}

TEST(Merge, OrderAndGroupingDoNotMatter) {
  const Profile a = random_profile(1, false);
  const Profile b = random_profile(2, false);
  const Profile c = random_profile(3, false);
  EXPECT_EQ(content(merged(merged(a, b), c)), content(merged(a, merged(b, c))));
  EXPECT_EQ(content(merged(a, b)), content(merged(b, a)));
  const Profile all[] = {a, b, c};
  EXPECT_EQ(content(merge(all).value()), content(merged(merged(a, b), c)));
}

TEST(Merge, EqualSamplesBecomeOneRow) {
  const Profile a = random_profile(7, false);
  const Profile once = merged(a, {});
  const Profile twice = merged(a, a);
  EXPECT_EQ(twice.samples.size(), once.samples.size());
  EXPECT_EQ(twice.stacks.size(), once.stacks.size());
  EXPECT_EQ(totals(twice).value, 2 * totals(a).value);
}

TEST(Merge, SamplesWithTimesStaySingleAndInOrder) {
  const Profile both = merged(random_profile(1, true), random_profile(2, true));
  ASSERT_EQ(both.samples.time.size(), 120u);
  EXPECT_TRUE(std::is_sorted(both.samples.time.begin(), both.samples.time.end()));
  // Where one of them has none, none is kept.
  EXPECT_TRUE(merged(random_profile(1, true), random_profile(2, false)).samples.time.empty());
}

TEST(Merge, FactsAreThoseThatAllAgreeOn) {
  const Profile both = merged(random_profile(1, false), random_profile(2, false));
  EXPECT_EQ(both.facts.host, "host");
  EXPECT_EQ(both.facts.arch, "");
  EXPECT_EQ(both.facts.duration_ns, 3);
}

TEST(Merge, StacksOfUnknownOriginMakeTheirsOfAll) {
  Profile recorded = random_profile(1, false);
  Profile imported = random_profile(2, false);
  recorded.facts.engine = kEngineInKernel;
  imported.facts.engine = kEngineImported;
  EXPECT_EQ(merged(recorded, imported).facts.engine, kEngineImported);
  EXPECT_EQ(merged(imported, recorded).facts.engine, kEngineImported);
  EXPECT_EQ(merged(recorded, recorded).facts.engine, kEngineInKernel);
}

// One sample of an event.
Profile measured(const char* name, const char* unit, uint64_t value, const char* counted = "", bool uncounted = false) {
  ProfileAssembler to;
  const EventId event = to.event({to.string(name), to.string(unit), to.string(counted), uncounted});
  to.sample({.stack = {}, .event = event, .thread = to.thread({}), .count = 1, .value = value});
  return std::move(to).finish();
}

// Its events as "name/unit: value", in order.
std::string sums_by_event(const Profile& profile) {
  std::string text;
  for_each_id(profile.events, [&](EventId id) {
    const Event& event = profile.events[id];
    text += std::string(profile.text(event.name)) + "/" + std::string(profile.text(event.unit)) + ": " +
            std::to_string(totals(profile, id).value) + " ";
  });
  return text;
}

TEST(Merge, CountsOfOneNameAreOneEventWhateverTheyAreCalled) {
  for (const char* const a : {"samples", "count", "events", ""}) {
    for (const char* const b : {"samples", "count", "events", ""}) {
      const Profile both = merged(measured("samples", a, 5), measured("samples", b, 7));
      const std::string unit = std::string_view(a) == b ? a : "count";
      EXPECT_EQ(sums_by_event(both), "samples/" + unit + ": 12 ") << a << " and " << b;
    }
  }
}

TEST(Merge, UnitsOfOneKindAreBroughtTogether) {
  EXPECT_EQ(sums_by_event(merged(measured("cpu", "ns", 10'000'000), measured("cpu", "microseconds", 10'000))),
            "cpu/ns: 20000000 ");
  EXPECT_EQ(sums_by_event(merged(measured("cpu", "milliseconds", 3), measured("cpu", "s", 2))), "cpu/ns: 2003000000 ");
  EXPECT_EQ(sums_by_event(merged(measured("heap", "kilobytes", 2), measured("heap", "MB", 1))), "heap/bytes: 1050624 ");
  // What agrees stays as it is.
  EXPECT_EQ(sums_by_event(merged(measured("cpu", "us", 1), measured("cpu", "us", 2))), "cpu/us: 3 ");
}

TEST(Merge, EventsOfUnitsThatCannotBeBroughtTogetherHaveTheirOwnNames) {
  EXPECT_EQ(sums_by_event(merged(measured("cpu", "ns", 1), measured("cpu", "count", 2))),
            "cpu/ns: 1 cpu_count/count: 2 ");
  const Profile three[] = {measured("x", "apples", 1), measured("x", "pears", 2), measured("x_pears", "ns", 4)};
  EXPECT_EQ(sums_by_event(merge(three).value()), "x/apples: 1 x_pears/pears: 2 x_pears_ns/ns: 4 ");
}

TEST(Merge, CountsOfOtherThingsCountNothingTogether) {
  const auto event_of = [](const Profile& profile) { return profile.events[EventId{0}]; };
  const Profile same = merged(measured("heap", "bytes", 1, "objects"), measured("heap", "bytes", 2, "objects"));
  EXPECT_EQ(same.text(event_of(same).counted), "objects");
  EXPECT_FALSE(event_of(same).uncounted);
  for (const Profile& other : {measured("heap", "bytes", 2), measured("heap", "bytes", 2, "", true)}) {
    const Profile both = merged(measured("heap", "bytes", 1, "objects"), other);
    EXPECT_EQ(sums_by_event(both), "heap/bytes: 3 ");
    EXPECT_TRUE(event_of(both).uncounted);
    EXPECT_FALSE(event_of(both).counted);
  }
}

TEST(Merge, SumsThatExceed64BitsAreRefused) {
  const Profile half = measured("cpu", "ns", uint64_t{1} << 63);
  const Profile runs[] = {half, measured("cpu", "ns", 1), half};
  const auto sum = merge(runs);
  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.error().why, "their sums exceed 64 bits");
  // Apart they fit, in one unit they do not.
  const Profile units[] = {measured("cpu", "ns", 1), measured("cpu", "s", uint64_t{1} << 60)};
  EXPECT_FALSE(merge(units).ok());
}

TEST(Merge, EventsOfAProfileAreToldApart) {
  Profile profile = measured("cpu", "ns", 1);
  const StringId name = profile.strings.add("cpu");
  profile.events.add({name, profile.strings.add("count"), {}, false});
  profile.events.add({name, profile.strings.add("count"), {}, true});
  tell_events_apart(profile);
  EXPECT_EQ(sums_by_event(profile), "cpu/ns: 1 cpu_count/count: 0 cpu_count#2/count: 0 ");
}

// A run of a program that is mapped at `base`, with one sample in it.
Profile run_at(uint64_t base, const char* build_id, uint64_t count = 1, uint64_t size = 0x1000) {
  ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.path = assembler.string("/bin/prog"),
                                          .build_id = *BuildId::from_hex(build_id),
                                          .kind = CodeKind::kFile,
                                          .base = base,
                                          .size = size});
  const auto frame = assembler.frame({.mapping = mapping, .address = 0x123});
  assembler.sample({.stack = assembler.stack({}, frame),
                    .event = assembler.event({assembler.string("cpu"), assembler.string("ns"), {}, false}),
                    .thread = assembler.thread({}),
                    .count = count,
                    .value = 10 * count});
  return std::move(assembler).finish();
}

TEST(Merge, AFileAtTwoAddressesIsOneFile) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x66660000, "aa11", 2)};
  const Profile both = merge(runs).value();
  EXPECT_EQ(both.mappings.size(), 2u);
  ASSERT_EQ(both.samples.size(), 1u);
  EXPECT_EQ(totals(both), (Totals{3, 30}));
  EXPECT_EQ(both.mappings[MappingId{1}].base, 0x55550000u);
}

TEST(Merge, BuildsStayApart) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x55550000, "bb22")};
  EXPECT_EQ(merge(runs).value().mappings.size(), 3u);
  EXPECT_EQ(merge(runs).value().samples.size(), 2u);
}

TEST(Merge, PartsOfAFileStayApart) {
  const Profile runs[] = {run_at(0x55550000, "aa11"), run_at(0x66660000, "aa11", 1, 0x5000)};
  EXPECT_EQ(merge(runs).value().mappings.size(), 3u);
}

// What nothing is known of is not at the beginning of time, and has no length.
TEST(Merge, TimesAreThoseOfWhoHasThem) {
  const auto facts = [](uint64_t first, uint64_t last, int64_t duration) {
    Profile profile = random_profile(1, false);
    profile.facts.first_time = first;
    profile.facts.last_time = last;
    profile.facts.duration_ns = duration;
    return profile;
  };
  const Profile unknown = facts(0, 0, 0);
  const Profile early = facts(100, 150, 0);
  const Profile late = facts(400, 500, 0);
  const Profile told = facts(0, 0, 1000);
  const auto merged = [](const std::vector<Profile>& profiles) {
    const RecordingFacts joined = merge(profiles).value().facts;
    return std::array<int64_t, 3>{static_cast<int64_t>(joined.first_time), static_cast<int64_t>(joined.last_time),
                                  joined.duration_ns};
  };
  using Times = std::array<int64_t, 3>;
  EXPECT_EQ(merged({unknown, early}), (Times{100, 150, 50}));
  EXPECT_EQ(merged({early, unknown}), (Times{100, 150, 50}));
  EXPECT_EQ(merged({late, early, unknown}), (Times{100, 500, 150}));
  EXPECT_EQ(merged({told, late}), (Times{400, 500, 1100}));
  EXPECT_EQ(merged({unknown, unknown}), (Times{0, 0, 0}));
  // From zero on, where times are those since the beginning.
  EXPECT_EQ(merged({facts(0, 70, 0), early}), (Times{0, 150, 120}));
  EXPECT_EQ(merged({facts(0, 0, INT64_MAX), told}), (Times{0, 0, INT64_MAX}));
}

}  // namespace
}  // namespace tephra::model
