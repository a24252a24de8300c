#include "collect/run_queue_trigger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "kernel/run_queue_program.h"

namespace tephra::collect {
namespace {

class RunQueueTrigger : public Trigger {
 public:
  RunQueueTrigger(std::unique_ptr<kernel::RunQueueProgram> program, std::chrono::milliseconds cooldown)
      : Trigger(cooldown), program_(std::move(program)) {}

  int wait_fd() const override { return program_->fd(); }
  uint64_t suppressed() const override { return Trigger::suppressed() + program_->not_told(); }

 protected:
  std::optional<std::string> check(Clock::time_point) override {
    const auto waits = program_->take();
    if (waits.empty()) return {};
    const auto longest = std::max_element(waits.begin(), waits.end(),
                                          [](const auto& a, const auto& b) { return a.wait_ns < b.wait_ns; });
    const std::string_view comm(longest->comm, ::strnlen(longest->comm, sizeof longest->comm));
    return fmt::format("run queue latency {} of thread {} ({})", base::duration_text(longest->wait_ns), longest->tid,
                       comm);
  }

 private:
  std::unique_ptr<kernel::RunQueueProgram> program_;
};

}  // namespace

base::Result<std::unique_ptr<Trigger>> open_run_queue_trigger(std::chrono::nanoseconds latency,
                                                              std::chrono::milliseconds cooldown) {
  TEPHRA_TRY(auto program, kernel::RunQueueProgram::start({.threshold = latency, .quiet = cooldown}));
  return std::unique_ptr<Trigger>(std::make_unique<RunQueueTrigger>(std::move(program), cooldown));
}

}  // namespace tephra::collect
