#include "collect/copy_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace tephra::collect {
namespace {

// Over all CPUs. More than at the start (stack_bytes_for), since these are known to be needed.
constexpr uint64_t kCopiedBytesASecond = 128 << 20;

}  // namespace

CopyAdapter::CopyAdapter(RecordedEvents& recorded, Note note)
    : recorded_(recorded), note_(std::move(note)), watch_(recorded.sampling().stack_bytes, StackEnds()) {
  watch_.know(recorded_.events().file_events());
}

CopySizes::Limits CopyAdapter::limits() const {
  CopySizes::Limits limits{kCopiedBytesASecond, recorded_.events().rings().bytes(), 0};
  for (const PlannedEvent& event : recorded_.events().plan()) {
    if (event.tracking) continue;
    limits.rate += event.attr.sample_freq;
    // What a period amounts to is seen in the samples alone.
    if (!event.attr.freq) return {limits.bytes_a_second, limits.ring_bytes, UINT64_MAX};
  }
  return limits;
}

base::Status CopyAdapter::look(Destination& destination) {
  const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  const auto decision = watch_.sizes().decide(now, limits());
  if (!decision) return {};
  if (decision->wanted > decision->bytes) tell_limit(*decision);
  return decision->bytes == sizes().bytes() ? base::Status() : change(*decision, destination);
}

base::Status CopyAdapter::hear(Destination& destination) {
  TEPHRA_CHECK_OK(destination.take_rings());
  recorded_.take_births(destination.counts());
  return {};
}

base::Status CopyAdapter::change(const Decision& decision, Destination& destination) {
  CopySizes& sizes = watch_.sizes();
  const uint32_t before = sizes.bytes();
  base::Status drained;
  const auto hear = [&] { return drained = this->hear(destination); };
  const auto status = recorded_.resize_copies(decision.bytes, hear);
  if (!drained) return drained;
  if (!status) {
    sizes.keep();
    note_(fmt::format("copies of stacks stay at {}{}: {}", base::bytes_text(before),
                      decision.smaller() ? "" : fmt::format(", {:.0f} % are cut", 100 * decision.cut),
                      status.error().message()));
    return {};
  }
  sizes.changed(decision.bytes);
  watch_.know(recorded_.events().file_events());
  tell_change(before, decision);
  return destination.tell_events();
}

void CopyAdapter::tell_change(uint32_t before, const Decision& decision) {
  const std::string now = base::bytes_text(decision.bytes);
  if (decision.smaller()) {
    note_(fmt::format("copies of stacks are {} from now on: so little is used of {}", now, base::bytes_text(before)));
  } else {
    note_(fmt::format("copies of stacks are {} from now on: {:.0f} % were cut at {}", now, 100 * decision.cut,
                      base::bytes_text(before)));
  }
}

void CopyAdapter::tell_limit(const Decision& decision) {
  if (std::exchange(said_limit_, true)) return;
  note_(fmt::format(
      "{:.0f} % of the stacks go on beyond their copies: whole ones take {}, which is too much at {:.0f} samples a "
      "second. Sample less often (-F), or take --call-graph dwarf,{} and larger rings (-m)",
      100 * decision.cut, base::bytes_text(decision.wanted), decision.rate, decision.wanted));
}

}  // namespace tephra::collect
