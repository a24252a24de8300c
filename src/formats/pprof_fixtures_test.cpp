#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "base/unpack.h"
#include "formats/fixtures_for_tests.h"
#include "formats/input_file.h"
#include "formats/pprof.h"
#include "formats/pprof_writer.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;

// What `go tool pprof -raw` says of a file: the samples, and the sums by type of value.
struct Case {
  const char* file;
  size_t samples;
  std::map<std::string, uint64_t> sums;
};

const Case kCases[] = {
    {"parca-dev-parca/alloc_objects.pb.gz",
     4650,
     {{"alloc_objects", 310797348},
      {"alloc_space", 116044559690},
      {"inuse_objects", 74172},
      {"inuse_space", 14730706}}},
    {"parca-dev-parca/fgprof.pb.gz", 175, {{"samples", 208335}, {"time", 2104393918350}}},
    {"parca-dev-parca/profile1.pb.gz", 32, {{"samples", 48}, {"cpu", 480000000}}},
    {"parca-dev-parca/no-python.pb.gz", 3, {{"samples", 4}}},
    {"parca-dev-parca/two-stacks.pb.gz", 2, {{"cpu", 368421046}}},
    {"parca-dev-parca/single-stack.pb.gz", 1, {{"cpu", 52631578}}},
    {"parca-dev-parca/normalizer-profile.pb.gz", 39, {{"", 53}}},
    {"parca-dev-parca/symbolizer-normal-cpu.stripped.pprof", 56, {{"samples", 907}, {"cpu", 9070000000}}},
    {"parca-dev-parca/many/1644509272337470000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509275338070000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509281339135000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509284338649000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509290338056000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509293338714000.pb.gz",
     18,
     {{"alloc_objects", 83487}, {"alloc_space", 51965338}, {"inuse_objects", 73788}, {"inuse_space", 48928729}}},
    {"parca-dev-parca/many/1644509299337903000.pb.gz",
     35,
     {{"alloc_objects", 112767}, {"alloc_space", 149359340}, {"inuse_objects", 82373}, {"inuse_space", 143698391}}},
    {"google-pprof/large.cpu", 20430, {{"samples", 24029}, {"cpu", 240290000000}}},
    {"google-pprof/sample.cpu", 76, {{"samples", 176}, {"cpu", 1760000000}}},
};

std::map<std::string, uint64_t> sums(const model::Profile& profile) {
  std::map<std::string, uint64_t> sums;
  for (uint32_t i = 0; i < profile.events.size(); ++i) {
    const model::Event& event = profile.events[model::EventId{i}];
    const model::Totals totals = model::totals(profile, model::EventId{i});
    const std::string counted(event.counted ? profile.text(event.counted) : "samples");
    const bool has_count_of_its_own = !event.uncounted && profile.text(event.unit) != "count";
    if (has_count_of_its_own) sums[counted] += totals.count;
    sums[std::string(profile.text(event.name))] += totals.value;
  }
  return sums;
}

// As pprof counts: samples that agree in everything are one, and those of nothing are none.
size_t sample_count(const model::Profile& profile) {
  std::set<std::tuple<model::StackId, model::ThreadId, model::LabelSetId>> distinct;
  const model::Samples& samples = profile.samples;
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples.count[row] == 0 && samples.value[row] == 0) continue;
    distinct.emplace(samples.stack[row], samples.thread[row],
                     samples.labels.empty() ? model::LabelSetId{} : samples.labels[row]);
  }
  return distinct.size();
}

class PprofFixturesTest : public testing::TestWithParam<Case> {};

TEST_P(PprofFixturesTest, CountsAsGoDoes) {
  const fs::path path = fixture_folder("pprof") / GetParam().file;
  SKIP_WITHOUT_FIXTURE_FOLDER(path);
  const auto file = InputFile::open(path.string());
  ASSERT_TRUE(file.ok()) << file.error().message();
  const auto profile = read_profile(file.value().bytes(), path.string(), {});
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  EXPECT_EQ(profile.value().facts.format, "pprof");
  EXPECT_EQ(sample_count(*profile), GetParam().samples);
  EXPECT_EQ(sums(*profile), GetParam().sums);
}

// What is written says the same, and is written the same again.
TEST_P(PprofFixturesTest, IsWrittenAsItWasRead) {
  const fs::path path = fixture_folder("pprof") / GetParam().file;
  SKIP_WITHOUT_FIXTURE_FOLDER(path);
  const auto file = InputFile::open(path.string());
  ASSERT_TRUE(file.ok());
  const auto first = kPprof.read(file.value().bytes());
  ASSERT_TRUE(first.ok());
  const auto written = write_pprof(*first);
  ASSERT_TRUE(written.ok());
  const auto unpacked = base::unpack(base::as_bytes(*written), 1 << 30);
  ASSERT_TRUE(unpacked.ok());
  const auto second = kPprof.read(base::as_bytes(*unpacked));
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_EQ(sums(*second), GetParam().sums);
  EXPECT_EQ(second->facts.default_event, first->facts.default_event);
  EXPECT_EQ(second->facts.comments, first->facts.comments);
  EXPECT_EQ(second->facts.period, first->facts.period);
  EXPECT_EQ(second->mappings.size(), first->mappings.size());
  const auto again = write_pprof(*second);
  ASSERT_TRUE(again.ok());
  const auto third = kPprof.read(base::as_bytes(*base::unpack(base::as_bytes(*again), 1 << 30)));
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->samples.size(), second->samples.size());
  EXPECT_EQ(third->stacks.size(), second->stacks.size());
}

INSTANTIATE_TEST_SUITE_P(Files, PprofFixturesTest, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = test.param.file;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace tephra::formats
