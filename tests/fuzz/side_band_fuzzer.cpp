#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collect/side_band_keeper.h"
#include "stream/records.h"

// Whatever records come, those that are told again are whole, and no more of them than came and were inherited.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  collect::SideBandKeeper keeper(
      [](pid_t) {
        return std::vector<collect::AddressRange>{{0x1000, 0x2000}};
      },
      {.mappings_per_process = 3, .most_per_process = 6, .bytes = 20'000, .cgroups = 2});
  const auto bytes = std::as_bytes(std::span(data, size));
  for (size_t at = 0; at < bytes.size(); at += 512) {
    keeper.take(bytes.subspan(at, std::min<size_t>(512, bytes.size() - at)));
    keeper.end_round();
    keeper.forget_before(at * 8);
  }
  std::string told;
  const auto collect_told = [&told](base::Bytes block) -> base::Status {
    told += base::as_text(block);
    return {};
  };
  if (!keeper.write_to(collect_told).ok()) __builtin_trap();
  stream::RecordWalker walker(base::as_bytes(told));
  stream::Record record;
  while (walker.next(record)) {
  }
  if (walker.damaged() || told.size() > 64 * size) __builtin_trap();
  keeper.forget_vanished([](pid_t) { return false; }, UINT64_MAX - 1);
  keeper.forget_before(UINT64_MAX - 1);
  return 0;
}
