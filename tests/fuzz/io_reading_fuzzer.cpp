#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "analysis/io_summary.h"
#include "stream/io_reading.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"
#include "views/io_text.h"

// Whatever samples of input and output carry, they can be read, summed up and printed, and both measures of a half count
// the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  constexpr uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  constexpr size_t kPiece = 84;  // a record, and what fills it up to whole words behind its size
  stream::TestRecording test(kFields);
  test.events()[0].name = stream::kIoEvent;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    std::string raw = bytes.substr(at, kPiece);
    raw.resize((raw.size() + 4 + 7) / 8 * 8 - 4);
    test.sample({.time = at + 1, .raw = raw});
  }
  stream::Recording recording = test.recording();
  recording.recorder.emplace();
  if (!stream::add_readings(recording, {}).ok()) __builtin_trap();
  const model::Profile profile = stream::build_profile(recording, {});
  uint64_t times = 0;
  uint64_t sizes = 0;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const std::string_view event = profile.text(profile.events[profile.samples.event[i]].name);
    (event.ends_with("-time") ? times : sizes) += profile.samples.count[i];
  }
  if (times != sizes) __builtin_trap();
  views::io_text(analysis::io_summary(profile, 3), true);
  return 0;
}
