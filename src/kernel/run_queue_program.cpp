#include "kernel/run_queue_program.h"

#include <errno.h>

#include <cstring>
#include <utility>

#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"

#if TEPHRA_BPF
#include "bpf/run_queue.skel.h"
#endif

namespace tephra::kernel {
namespace {

constexpr const char* kWhat = "cannot watch the scheduler";

#if TEPHRA_BPF

struct Destroy {
  void operator()(run_queue* skeleton) const { run_queue__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<run_queue, Destroy>;

class Loaded : public RunQueueProgram {
 public:
  Loaded(Skeleton skeleton, bool table) : skeleton_(std::move(skeleton)), table_(table) {}

  base::Status open_ring() {
    TEPHRA_TRY(ring_, BpfRing::open(bpf_map__fd(skeleton_->maps.waits), [this](base::Bytes record) {
                 if (record.size() < sizeof(tephra_run_queue_wait)) return;
                 waits_.push_back(base::load<tephra_run_queue_wait>(record.data()));
               }));
    return {};
  }

  int fd() const override { return ring_->fd(); }
  std::vector<tephra_run_queue_wait> take() override {
    ring_->consume();
    return std::exchange(waits_, {});
  }
  uint64_t not_told() const override {
    return __atomic_load_n(&skeleton_->bss->suppressed, __ATOMIC_RELAXED) +
           __atomic_load_n(&skeleton_->bss->dropped, __ATOMIC_RELAXED);
  }
  bool uses_table() const override { return table_; }

 private:
  Skeleton skeleton_;
  bool table_;
  std::unique_ptr<BpfRing> ring_;
  std::vector<tephra_run_queue_wait> waits_;
};

base::Result<Skeleton> open_skeleton(const RunQueueProgram::Settings& settings, bool table) {
  const BpfLog log;
  Skeleton skeleton(run_queue__open());
  if (!skeleton) return explain_bpf(kWhat, errno, log.text());
  skeleton->rodata->threshold_ns = static_cast<uint64_t>(settings.threshold.count());
  skeleton->rodata->quiet_ns = static_cast<uint64_t>(settings.quiet.count());
  bpf_program__set_autoload(skeleton->progs.task_switch, !table);
  for (bpf_program* program : {skeleton->progs.raw_wakeup, skeleton->progs.raw_wakeup_new, skeleton->progs.raw_switch})
    bpf_program__set_autoload(program, table);
  // A map of a type that the kernel lacks would keep all from loading, and the table takes memory.
  bpf_map__set_autocreate(table ? skeleton->maps.waited_before : skeleton->maps.ready_since, false);
  return skeleton;
}

#endif

}  // namespace

#if TEPHRA_BPF

base::Result<std::unique_ptr<RunQueueProgram>> RunQueueProgram::start(const Settings& settings) {
  bool table = settings.table;
  TEPHRA_TRY(Skeleton skeleton, open_skeleton(settings, table));
  base::Status started = start_bpf(skeleton->skeleton, kWhat);
  if (!started && !table) {
    table = true;
    TEPHRA_TRY(skeleton, open_skeleton(settings, table));
    if (start_bpf(skeleton->skeleton, kWhat).ok()) started = {};
  }
  if (!started) return std::move(started).error();
  auto program = std::make_unique<Loaded>(std::move(skeleton), table);
  TEPHRA_CHECK_OK(program->open_ring());
  return std::unique_ptr<RunQueueProgram>(std::move(program));
}

#else

base::Result<std::unique_ptr<RunQueueProgram>> RunQueueProgram::start(const Settings&) {
  return built_without_bpf(kWhat);
}

#endif

}  // namespace tephra::kernel
