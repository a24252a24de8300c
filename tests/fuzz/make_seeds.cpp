// Writes the seeds of perf_data_fuzzer: small recordings of many kinds. They are kept in seeds/perf_data_fuzzer; run
// this again when the reader learns something new: `make_seeds tests/fuzz/seeds/perf_data_fuzzer`. For a folder called
// sched_fuzzer, the seeds of that one.
#include <cstdio>
#include <string>

#include "base/file.h"
#include "formats/byte_order_for_tests.h"
#include "formats/folded.h"
#include "formats/perf_data_for_tests.h"
#include "formats/perf_data_writer.h"
#include "stream/random_recording_for_tests.h"
#include "stream/sched_recording_for_tests.h"
#include "stream/switches_for_tests.h"

namespace {

using namespace tephra;
using stream::TestRecording;

TestRecording wide_recording() {
  TestRecording test(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                     PERF_SAMPLE_STACK_USER);
  test.layout().read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
  test.layout().branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
  test.layout().sample_regs_user = 0x101;
  stream::TestSample sample{.time = 5, .ip = 0x5001, .callchain = {stream::kTestUserMarker, 0x5001}};
  sample.read = {1, 2, 100, 0};
  sample.raw = std::string(12, 'r');
  sample.branches = {1, 2, 3};
  sample.registers = {1, 0x5001};
  sample.stack = std::string(16, 's');
  sample.stack_filled = 8;
  return test.sample(sample).ksymbol(6, 0xffffffffc0000000, 64, false, "bpf_prog").lost(7, 3).lost_samples(8, 3);
}

// What simpleperf adds, in both of its layouts.
formats::TestFileOptions simpleperf_sections() {
  stream::TestBytes file;
  file.raw(std::string_view("/lib/1\0", 7)).put(uint32_t{2}).put(uint64_t{0x1000}).put(uint32_t{1});
  file.put(uint64_t{0x1100}).put(uint32_t{0x2000}).raw(std::string_view("symbol\0", 7)).put(uint64_t{0x400});
  const std::string message = "\x0a\x06/lib/2\x10\x02\x18\x05\x22\x07\x08\x07\x10\x7f\x1a\x01\x66\x32\x02\x08\x09";
  const auto sized = [](const std::string& bytes) {
    return stream::TestBytes().put(static_cast<uint32_t>(bytes.size())).raw(bytes).text();
  };
  formats::TestFileOptions options;
  options.features[stream::kFeatureSimpleperfFiles] = sized(file.text());
  options.features[stream::kFeatureSimpleperfMeta] = std::string("event_type_info\0cpu-cycles,0,0\0", 31);
  options.features[stream::kFeatureSimpleperfFileMessages] = sized(message);
  return options;
}

// Context switches, which are read as waits.
std::string switches() {
  stream::TestSwitches switches(true);
  switches.from_to(1000, 7, 1, 8).from_to(1500, 8, 0, 7).wake(1700, 8).from_to(2000, 7, 2, 8);
  switches.test().lost(2500, 3);
  switches.from_to(2600, 8, 1, 0).from_to(2700, 0, 0, 7).from_to(3000, 7, 1, 0);
  formats::TestFileOptions options;
  options.features[stream::kFeatureTracingData] = switches.tracing_data();
  options.features[stream::kFeatureEventDescription] = formats::test_event_descriptions(switches.test(), 112);
  return formats::test_file(switches.test(), options);
}

// A file that was written from a profile.
std::string converted() {
  const auto profile = formats::kFolded.read(base::as_bytes("main;work;inner 30\nmain;wait 5\n"));
  return profile.ok() ? formats::write_perf_data(*profile).value() : "";
}

// Every event of the scheduler, a loss, and a number that is used again.
std::string scheduler(bool with_loss, bool records_alone) {
  using stream::TestSched;
  TestSched test;
  test.switched(100, 0, 5, TestSched::kSleeping, 6).woken(TestSched::kWaking, 110, 0, 6, 5, 1);
  test.migrated(111, 0, 6, 5, 0, 1).woken(TestSched::kWakeup, 112, 0, 6, 5, 1);
  test.switched(120, 1, 0, TestSched::kRunnable, 5).accounted(125, 1, 5, 5);
  test.interrupt(TestSched::kSoftEntry, 126, 1, 5, 1).interrupt(TestSched::kIrqEntry, 127, 1, 5, 40);
  test.interrupt(TestSched::kIrqExit, 128, 1, 5, 40).interrupt(TestSched::kSoftExit, 130, 1, 5, 1);
  test.interrupt(TestSched::kTimerEntry, 131, 0, 6, 236).interrupt(TestSched::kTimerExit, 132, 0, 6, 236);
  if (with_loss) test.lost(140, 1, 2);
  test.switched(150, 1, 5, TestSched::kDead, 0).forked(160, 0, 6, 5).woken(TestSched::kNew, 161, 0, 6, 5, 0);
  test.switched(170, 0, 6, TestSched::kPreempted, 5).switched(180, 0, 5, TestSched::kRunnable, 6);
  if (records_alone) return test.records().data();
  formats::TestFileOptions options;
  options.features[stream::kFeatureTracingData] = test.tracing_data();
  return formats::test_file(test.records(), options);
}

bool write(const std::string& folder, const std::string& name, const std::string& bytes) {
  const auto status = base::write_file(folder + "/" + name, bytes);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  if (folder.find("sched_fuzzer") != std::string::npos) {
    const bool ok = write(folder, "whole", scheduler(false, false)) && write(folder, "lost", scheduler(true, false)) &&
                    write(folder, "records", scheduler(true, true));
    return ok ? 0 : 1;
  }
  TestRecording test = stream::random_recording({.seed = 4, .samples = 12, .events = 2});
  formats::TestFileOptions options;
  options.features[stream::kFeatureHostname] = formats::test_text("host");
  options.features[stream::kFeatureArch] = formats::test_text("x86_64");
  options.features[stream::kFeatureEventDescription] = formats::test_event_descriptions(test, 112);
  options.features[stream::kFeatureBuildId] = formats::test_build_id_record("01234567890123456789", "/lib/1", 2);
  const bool ok = write(folder, "file", formats::test_file(test, options)) &&
                  write(folder, "pipe", formats::test_pipe(test, options)) &&
                  write(folder, "wide", formats::test_file(wide_recording())) &&
                  write(folder, "simpleperf", formats::test_file(test, simpleperf_sections())) &&
                  write(folder, "converted", converted()) && write(folder, "switches", switches()) &&
                  write(folder, "big_endian", formats::OrderedRecording(true).file()) &&
                  write(folder, "big_endian_pipe", formats::OrderedRecording(true).pipe()) &&
                  write(folder, "killed", formats::test_file(wide_recording(), {.without_data_size = true}));
  return ok ? 0 : 1;
}
