#include "model/shown_event.h"

#include <gtest/gtest.h>

#include "base/unpack.h"
#include "formats/firefox.h"
#include "formats/format.h"
#include "formats/perf_script.h"
#include "formats/pprof.h"
#include "formats/script_fold.h"
#include "formats/speedscope.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using model::Profile;

// Samples of three events of one thread, in this order; `first` is the one that was asked for first.
Profile three_events(std::string_view first, std::string_view default_event) {
  model::ProfileAssembler assembler;
  assembler.facts().engine = model::kEngineImported;
  assembler.facts().default_event = default_event;
  const auto event = [&](std::string_view name) {
    return assembler.event({assembler.string(name), assembler.string("bytes")});
  };
  event(first);
  const auto mapping = assembler.mapping({.kind = model::CodeKind::kImported});
  const auto thread = assembler.thread({7, 7, assembler.string("prog")});
  uint64_t value = 1000;
  for (const std::string_view name : {"alloc_space", "inuse_space", "peak_space"}) {
    const auto function = assembler.function({.name = assembler.string(name), .named = true});
    const auto stack = assembler.stack({}, assembler.frame({.mapping = mapping, .function = function}));
    assembler.sample({.stack = stack, .event = event(name), .thread = thread, .value = value -= 10});
  }
  return std::move(assembler).finish();
}

std::string shown(const Profile& profile) {
  const auto event = model::shown_event(profile);
  return event ? std::string(profile.text(profile.events[*event].name)) : "none";
}

TEST(ShownEvent, IsNamedOrTheFirstThatHasSamples) {
  EXPECT_EQ(shown(Profile{}), "none");
  EXPECT_EQ(shown(three_events("inuse_space", "")), "inuse_space");
  EXPECT_EQ(shown(three_events("dummy", "")), "alloc_space");
  EXPECT_EQ(shown(three_events("alloc_space", "inuse_space")), "inuse_space");
  EXPECT_EQ(shown(three_events("alloc_space", "gone")), "alloc_space");
}

TEST(ShownEvent, StaysTheSameInEveryFormat) {
  for (const Format* format : {&kPprof, &kSpeedscope, &kFirefox, &kPerfScript}) {
    for (const Profile& profile : {three_events("inuse_space", ""), three_events("alloc_space", "inuse_space"),
                                   three_events("alloc_space", "")}) {
      SCOPED_TRACE(std::string(format->name) + " " + shown(profile));
      const auto text = format->write(profile);
      ASSERT_TRUE(text.ok());
      const auto unpacked = format == &kPprof ? base::unpack(base::as_bytes(*text), 1 << 20) : text;
      ASSERT_TRUE(unpacked.ok());
      const auto again = format->read(base::as_bytes(*unpacked));
      ASSERT_TRUE(again.ok()) << again.error().message();
      EXPECT_EQ(again->samples.size(), 3u);
      EXPECT_EQ(shown(*again), shown(profile));
    }
  }
}

TEST(ShownEvent, IsWhatIsFolded) {
  const auto text = kPerfScript.write(three_events("alloc_space", "inuse_space"));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(fold_script(*text, {}).event, "inuse_space");
  EXPECT_EQ(fold_script(*kPerfScript.write(three_events("alloc_space", "")), {}).event, "alloc_space");
}

// What other tools wrote shows first what they name.
TEST(ShownEvent, OfSpeedscopeIsTheActiveProfile) {
  const std::string text = R"({"$schema":"https://www.speedscope.app/file-format-schema.json","activeProfileIndex":1,
    "shared":{"frames":[{"name":"f"}]},"profiles":[
    {"type":"sampled","name":"a","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]},
    {"type":"sampled","name":"b","unit":"bytes","startValue":0,"endValue":9,"samples":[[0]],"weights":[9]}]})";
  const auto profile = kSpeedscope.read(base::as_bytes(text));
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(shown(*profile), "bytes");
}

}  // namespace
}  // namespace tephra::formats
