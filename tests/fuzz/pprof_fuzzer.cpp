#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/unpack.h"
#include "formats/pprof.h"
#include "formats/pprof_writer.h"

namespace {

// Sorted: types that a reader might take for a pair are written in another order.
std::vector<uint64_t> sums_of_events(const tephra::model::Profile& profile) {
  std::vector<uint64_t> sums;
  for (uint32_t i = 0; i < profile.events.size(); ++i) {
    sums.push_back(tephra::model::totals(profile, tephra::model::EventId{i}).value);
  }
  std::sort(sums.begin(), sums.end());
  return sums;
}

}  // namespace

// Any bytes are read or refused, and what is written of them is read again with the same sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kPprof.refusal(bytes);
  const auto profile = formats::kPprof.read(bytes);
  if (!profile.ok()) return 0;
  const auto written = formats::write_pprof(*profile);
  if (!written.ok()) return 0;
  const auto unpacked = base::unpack(base::as_bytes(*written), size_t{1} << 30);
  if (!unpacked.ok()) __builtin_trap();
  const auto again = formats::kPprof.read(base::as_bytes(*unpacked));
  if (!again.ok() || sums_of_events(*again) != sums_of_events(*profile)) __builtin_trap();
  return 0;
}
