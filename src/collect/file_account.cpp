#include "collect/file_account.h"

#include <unistd.h>

namespace tephra::collect {
namespace {

// Sizes only come to the end, so those of the beginning are the first.
std::vector<model::CopySize> since(const std::vector<model::CopySize>& before, std::vector<model::CopySize> now) {
  for (size_t at = 0; at < before.size() && at < now.size(); ++at) {
    now[at].samples -= before[at].samples;
    now[at].cut -= before[at].cut;
  }
  std::erase_if(now, [](const model::CopySize& size) { return size.samples == 0; });
  return now;
}

}  // namespace

stream::RecorderFacts FileAccount::facts(const Totals& now, const std::vector<int>& cpus) const {
  stream::RecorderFacts facts;
  facts.recorder_pid = ::getpid();
  facts.recorder_cpu_seconds = meter_.own_cpu_seconds();
  facts.wakeups = now.wakeups - begun_.wakeups;
  facts.steal_seconds = meter_.steal_seconds(cpus);
  facts.cpu_seconds_total = meter_.cpu_seconds(cpus);
  if (!now.losses || !first_) facts.counters_run_on = 1;
  if (now.losses) {
    const auto before = begun_.losses.value_or(Destination::Losses{});
    facts.lost_ring_full = now.losses->lost - before.lost;
    facts.late_writes = now.losses->late_writes - before.late_writes;
  }
  if (now.stacks) {
    const auto before = begun_.stacks.value_or(StackEngine::Totals{}).program;
    facts.stacks_walked = now.stacks->program.walked - before.walked;
    facts.stacks_copied = now.stacks->program.left_to_perf - before.left_to_perf;
    facts.stacks_lost = now.stacks->program.lost - before.lost;
    facts.table_bytes = now.stacks->program.table_bytes;
    facts.tables_refused = now.stacks->processes.tables.refused;
  }
  if (const auto copies = since(begun_.copies, now.copies); !copies.empty()) {
    facts.copy_sizes = stream::print_copy_sizes(copies);
  }
  return facts;
}

void FileAccount::begin_next(const Totals& now) {
  meter_ = RunMeter();
  begun_ = now;
  first_ = false;
}

}  // namespace tephra::collect
