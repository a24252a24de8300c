#include "collect/trigger.h"

#include <fmt/format.h>

#include "collect/run_queue_trigger.h"
#include "collect/share_trigger.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

base::Result<ReadShare> share_of(const TriggerSpec& spec) {
  switch (spec.kind) {
    case TriggerSpec::Kind::kProcessCpu:
      return process_cpu_share(spec.pid);
    case TriggerSpec::Kind::kPressure:
      return pressure_share(spec.resource);
    default:
      return machine_cpu_share();
  }
}

std::string name_of(const TriggerSpec& spec) {
  switch (spec.kind) {
    case TriggerSpec::Kind::kProcessCpu: {
      const auto task = kernel::task_status(spec.pid);
      return fmt::format("CPU use of process {} ({})", spec.pid, task ? task->comm : "?");
    }
    case TriggerSpec::Kind::kPressure:
      return fmt::format("{} pressure", spec.resource);
    default:
      return "CPUs busy";
  }
}

}  // namespace

std::optional<std::string> Trigger::fired(Clock::time_point now) {
  auto what = check(now);
  if (!what) return {};
  if (last_ && now - *last_ < cooldown_) {
    ++suppressed_;
    return {};
  }
  last_ = now;
  return what;
}

base::Result<std::unique_ptr<Trigger>> open_trigger(const TriggerSpec& spec, std::chrono::milliseconds cooldown) {
  if (spec.kind == TriggerSpec::Kind::kRunQueueLatency) return open_run_queue_trigger(spec.latency, cooldown);
  TEPHRA_TRY(ReadShare read, share_of(spec));
  ShareTrigger::Condition condition{spec.percent, spec.window, name_of(spec)};
  return std::unique_ptr<Trigger>(std::make_unique<ShareTrigger>(std::move(condition), std::move(read), cooldown));
}

base::Result<std::unique_ptr<Trigger>> parse_trigger(std::string_view text, std::chrono::milliseconds cooldown) {
  TEPHRA_TRY(const TriggerSpec spec, parse_trigger_spec(text));
  return open_trigger(spec, cooldown);
}

}  // namespace tephra::collect
