#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "analysis/activity_frames.h"
#include "analysis/call_summary.h"
#include "analysis/tcp_summary.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"
#include "stream/sample_reading.h"
#include "views/calls_text.h"
#include "views/tcp_text.h"

// Whatever samples of system calls and of connections carry, they can be read, get the frames that say what happened,
// and are summed up and printed. The first byte chooses between the two.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  constexpr uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  constexpr size_t kPiece = 68;  // a record, and what fills it up to whole words behind its size
  if (size == 0) return 0;
  stream::TestRecording test(kFields);
  test.events()[0].name = data[0] % 2 == 0 ? "syscalls" : "tcp";
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    std::string raw = bytes.substr(at, kPiece);
    raw.resize((raw.size() + 4 + 7) / 8 * 8 - 4);
    test.sample({.time = at + 1, .raw = raw});
  }
  stream::Recording recording = test.recording();
  recording.recorder.emplace();
  recording.facts.arch = "x86_64";
  if (!stream::add_readings(recording, {}).ok()) __builtin_trap();
  const model::Profile profile = analysis::with_activity_frames(stream::build_profile(recording, {}));
  const auto calls = analysis::call_summary(profile, 3);
  const auto connections = analysis::tcp_summary(profile);
  if (!calls.rows.empty() && !connections.empty()) __builtin_trap();
  views::calls_text(calls, true);
  views::tcp_text(connections, 3);
  return 0;
}
