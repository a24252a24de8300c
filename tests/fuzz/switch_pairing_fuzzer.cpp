#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "base/bytes.h"
#include "stream/switch_pairing.h"
#include "stream/tracepoint_fields.h"

namespace {

using namespace tephra;
using stream::SwitchStep;

// Small numbers, so that threads, CPUs and times meet.
SwitchStep read_step(base::ByteReader& reader, uint64_t position, uint64_t& time) {
  SwitchStep step;
  const uint8_t kind = reader.u8();
  time += reader.u8();
  step.kind = static_cast<SwitchStep::Kind>(kind % 3);
  step.time = kind & 0x80 ? time - kind % 64 : time;
  step.position = position;
  step.tid = reader.u8() % 8;
  step.next = reader.u8() % 8;
  step.seen_tid = kind & 0x40 ? step.tid + 100 : step.tid;
  step.cpu = static_cast<int32_t>(reader.u8() % 4) - 1;
  step.state = reader.u16();
  return step;
}

struct Begin {
  uint64_t time;
  int32_t tid;
};

// Waits are of switches, one each, in order, and those of a thread do not overlap.
void check(const std::vector<SwitchStep>& steps, uint64_t end) {
  std::map<uint64_t, Begin> switches;
  for (const SwitchStep& step : steps) {
    if (step.kind == SwitchStep::Kind::kSwitch) switches[step.position] = {step.time, step.tid};
  }
  const auto paired = stream::pair_switches(steps, {}, end);
  std::map<int32_t, std::map<uint64_t, uint64_t>> of_thread;
  uint64_t last = 0;
  bool first = true;
  for (const stream::PairedWait& wait : paired.waits) {
    if (!first && wait.position <= last) __builtin_trap();
    first = false;
    last = wait.position;
    const auto begin = switches.find(wait.position);
    if (begin == switches.end() || wait.state >= TEPHRA_WAIT_STATES) __builtin_trap();
    uint64_t& until = of_thread[begin->second.tid][begin->second.time];
    until = std::max(until, begin->second.time + wait.waited + wait.queued);
  }
  for (const auto& [tid, waits] : of_thread) {
    uint64_t until = 0;
    for (const auto& [begin, wait_end] : waits) {
      if (begin < until) __builtin_trap();
      until = wait_end;
    }
  }
  // With everything lost there is nothing to be sure of.
  if (!stream::pair_switches(steps, {{0, UINT64_MAX}}, end).waits.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes = std::as_bytes(std::span(data, size));
  const stream::TracepointFields fields(bytes);
  for (const uint64_t id : {uint64_t{0}, uint64_t{42}, uint64_t{314}}) {
    for (const std::string& name : fields.numbers(id)) {
      if (!fields.number(id, name)) __builtin_trap();
    }
  }
  base::ByteReader reader(bytes);
  std::vector<SwitchStep> steps;
  uint64_t time = 1000;
  while (reader.remaining() >= 7) steps.push_back(read_step(reader, steps.size(), time));
  check(steps, time);
  return 0;
}
