#include <cstdint>
#include <span>

#include "formats/perf_data.h"
#include "formats/perf_data_folder.h"
#include "formats/perf_data_writer.h"
#include "stream/profile_builder.h"

namespace {

using namespace tephra;

void read(base::Bytes file) {
  auto recording = formats::kPerfData.open(file);
  if (!recording.ok() || !stream::add_readings(*recording, {}).ok()) return;
  const auto counted = stream::build_profile(*recording, {});
  if (!model::sums_fit(counted)) return;  // refused by whoever reads a profile
  const auto every = stream::build_profile(*recording, {.keep_every_sample = true});
  uint64_t visited = 0;
  stream::for_each_sample(*recording, {}, [&](const stream::Sample& sample) { visited += sample.count; });
  if (model::totals(counted).count != visited || model::totals(every) != model::totals(counted)) __builtin_trap();
  // What was read can be written, and reading that gives the same sums.
  const auto written = formats::write_perf_data(every);
  if (!written.ok()) return;
  const auto again = formats::kPerfData.open(base::as_bytes(*written));
  if (!again.ok()) __builtin_trap();
  if (model::totals(stream::build_profile(*again, {})) != model::totals(every)) __builtin_trap();
}

}  // namespace

// A recording of any bytes is refused, or read to its end with the same samples in every way of reading.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes file = std::as_bytes(std::span(data, size));
  read(file);
  // As the header of a folder, with the file's end as the records of a thread.
  const base::Bytes part = file.last(file.size() / 4);
  if (const auto joined = formats::join_perf_data(file, std::span(&part, 1)); joined.ok()) {
    read(base::as_bytes(*joined));
  }
  return 0;
}
