// Makes the machine that TEPHRA_FAKE_MACHINE describes before the program begins.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "attr_check.h"
#include "fake_machine.h"
#include "wall_clock.h"

namespace tephra::fake {
namespace {

bool is_of_kind(const perf_event_attr& attr, int group_fd, const std::string& kind) {
  if (kind.empty()) return true;
  if (kind == "hardware") return uses_counter(attr);
  if (kind == "software") return attr.type == PERF_TYPE_SOFTWARE;
  if (kind == "tracepoint") return attr.type == PERF_TYPE_TRACEPOINT;
  if (kind == "branches") return (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
  if (kind == "precise") return attr.precise_ip > 0;
  if (kind == "group") return group_fd >= 0;
  return false;
}

void refuse(FakeMachine& machine, const Refusal& refusal) {
  const auto left = std::make_shared<uint64_t>(refusal.after);
  const auto late = [left] { return *left == 0 || (--*left, false); };
  if (refusal.call == "perf_event_open") {
    machine.fail_open(
        [=](const OpenCall& call) { return is_of_kind(call.attr, call.group_fd, refusal.event) && late(); },
        refusal.error, refusal.times);
  } else if (refusal.call == "mmap") {
    machine.fail_map([=](size_t) { return late(); }, refusal.error, refusal.times);
  } else {
    for (const unsigned long request : {PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_ENABLE}) {
      machine.fail_control(request, refusal.error, refusal.times);
    }
  }
}

class Environment {
 public:
  Environment() {
    const char* text = std::getenv("TEPHRA_FAKE_MACHINE");
    const auto config = parse_machine(text == nullptr ? "" : text);
    if (!config) {
      fmt::print(stderr, "{}\n", config.error().message());
      std::_Exit(2);
    }
    machine().reset(*config);
    for (const Refusal& refusal : config->refusals) refuse(machine(), refusal);
    clock_ = std::make_unique<WallClock>(machine());
  }

 private:
  std::unique_ptr<WallClock> clock_;
};

const Environment kEnvironment;

}  // namespace
}  // namespace tephra::fake
