#include "formats/byte_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "formats/byte_order_for_tests.h"
#include "formats/perf_data.h"
#include "stream/profile_builder.h"
#include "stream/profile_for_tests.h"
#include "stream/records.h"

namespace tephra::formats {
namespace {

// All that is read of a file, as text.
std::string read(const std::string& file) {
  const auto recording = kPerfData.open(base::as_bytes(file));
  if (!recording.ok()) return recording.error().message();
  const auto profile = stream::build_profile(*recording, {.keep_every_sample = true});
  std::string text = fmt::format("{} {} {} lost {} throttled {}\n", profile.facts.host, profile.facts.arch,
                                 profile.facts.command_line, profile.quality.lost, profile.quality.throttled);
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const auto& event = profile.events[profile.samples.event[i]];
    text += fmt::format("{} {} at {} on {}: {}\n", profile.text(event.name), profile.samples.value[i],
                        profile.samples.time[i], profile.samples.cpu[i], stream::row_text(profile, i));
  }
  for (const auto& mapping : profile.mappings)
    text += mapping.build_id.hex() + fmt::format(" {}\n", mapping.file.inode);
  stream::for_each_sample(*recording, {}, [&](const stream::Sample& sample) {
    for (size_t i = 0; i < sample.branches.size(); ++i) {
      text += fmt::format("{:x}->{:x} {:x} ", sample.branches.from(i), sample.branches.to(i), sample.branches.flags(i));
    }
    text += base::as_text(sample.raw);
  });
  for (const auto count : profile.quality.reasons) text += fmt::format(" {}", count);
  return text;
}

TEST(ByteOrder, RecordingsOfOtherMachinesAreReadAsOurs) {
  const OrderedRecording ours(false);
  const OrderedRecording theirs(true);
  const std::string expected = read(ours.file());
  EXPECT_NE(expected.find("there s390x perf record lost 6 throttled 1"), std::string::npos) << expected;
  EXPECT_NE(expected.find("event1 9000 at 11 on 3: worker /bin/other+30r;/bin/other+20"), std::string::npos)
      << expected;
  EXPECT_EQ(read(theirs.file()), expected);
  EXPECT_EQ(read(theirs.pipe()), read(ours.pipe()));
}

TEST(ByteOrder, CutFilesAreReadInPart) {
  const std::string whole = OrderedRecording(true).file();
  for (size_t size = 8; size < whole.size(); ++size) {
    const auto recording = kPerfData.open(base::as_bytes(whole).first(size));
    if (!recording.ok()) continue;
    EXPECT_LE(model::totals(stream::build_profile(*recording, {})).count, 3u);
  }
}

TEST(ByteOrder, CompressedRecordsAreRefused) {
  const OrderedRecording big(true);
  const std::string file = big.pipe() + big.record(stream::kRecordCompressed, 0, std::string(16, 'x'));
  EXPECT_NE(read(file).find("compressed"), std::string::npos);
}

}  // namespace
}  // namespace tephra::formats
