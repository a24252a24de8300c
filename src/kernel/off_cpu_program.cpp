#include "kernel/off_cpu_program.h"

#include <errno.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>

#include "kernel/watching_object.h"
// Knows the types of the ones above.
#include "bpf/off_cpu.skel.h"
#endif

namespace tephra::kernel {
namespace {

constexpr const char* kWhat = "cannot time waits inside the kernel";

#if TEPHRA_BPF

struct Destroy {
  void operator()(off_cpu* skeleton) const { off_cpu__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<off_cpu, Destroy>;

// Which of two programs for the same are used: older kernels lack something of the first.
struct Variant {
  bool state_is_told = true;
  bool user_stacks_of_others = true;
};

void set_constants(off_cpu& skeleton, const OffCpuProgram::Settings& settings) {
  auto& constants = *skeleton.rodata;
  set_watching(settings, constants.watching);
  constants.states = settings.states;
  constants.min_ns = static_cast<uint64_t>(settings.shortest.count());
  constants.max_ns = static_cast<uint64_t>(settings.longest.count());
  constants.threshold_ns = static_cast<uint64_t>(settings.threshold.count());
  // What one stack too much costs is left over.
  constants.budget_ns = static_cast<uint64_t>(settings.budget * 0.95 * 10e6);
  if (settings.budget > 0 && constants.budget_ns == 0) constants.budget_ns = 1;
  constants.with_running = settings.running;
  constants.split_wakeups = settings.split_wakeups;
  constants.with_wakers = settings.wakers;
}

void choose_programs(const off_cpu& skeleton, const OffCpuProgram::Settings& settings, const Variant& variant) {
  const auto& programs = skeleton.progs;
  bpf_program__set_autoload(programs.switch_with_state, variant.state_is_told);
  bpf_program__set_autoload(programs.switch_without_state, !variant.state_is_told);
  bpf_program__set_autoload(programs.tell_stacks, variant.user_stacks_of_others);
  bpf_program__set_autoload(programs.tell_kernel_stacks, !variant.user_stacks_of_others);
  bpf_program__set_autoload(programs.waking, settings.split_wakeups || settings.wakers);
}

int set_maps(const off_cpu& skeleton, const OffCpuProgram::Settings& settings) {
  const auto& maps = skeleton.maps;
  const std::pair<bpf_map*, uint32_t> sizes[] = {
      {maps.sums_0, settings.max_sums}, {maps.sums_1, settings.max_sums}, {maps.unkept, settings.max_unkept}};
  for (const auto& [map, size] : sizes) {
    if (const int error = bpf_map__set_max_entries(map, size); error != 0) return error;
  }
  return set_watching_maps(skeleton.obj, settings);
}

base::Result<Skeleton> load_variant(const OffCpuProgram::Settings& settings, const Variant& variant) {
  const BpfLog log;
  Skeleton skeleton(off_cpu__open());
  if (!skeleton) return explain_bpf(kWhat, errno, log.text());
  set_constants(*skeleton, settings);
  choose_programs(*skeleton, settings, variant);
  int error = set_maps(*skeleton, settings);
  if (error == 0) error = off_cpu__load(skeleton.get());
  if (error != 0) return explain_bpf(kWhat, -error, log.text());
  return skeleton;
}

// The newest way that the kernel takes; the error is that of the first.
base::Result<Skeleton> load_any(const OffCpuProgram::Settings& settings) {
  auto first = load_variant(settings, {true, true});
  if (first.ok()) return first;
  for (const Variant variant : {Variant{true, false}, Variant{false, true}, Variant{false, false}}) {
    auto next = load_variant(settings, variant);
    if (next.ok()) return next;
  }
  return std::move(first).error();
}

class Loaded : public OffCpuProgram {
 public:
  Loaded(Skeleton skeleton, size_t cpus)
      : skeleton_(std::move(skeleton)), watching_(skeleton_->obj, kWhat), cpus_(cpus) {}

  base::Status start(const Settings& settings) {
    TEPHRA_CHECK_OK(watching_.list(settings.whom));
    TEPHRA_TRY(ring_, BpfRing::open(bpf_map__fd(skeleton_->maps.records), [this](base::Bytes record) {
                 if (listener_ != nullptr) hand_over(record, *listener_);
               }));
    const auto& programs = skeleton_->progs;
    for (const bpf_program* program : {programs.process_fork, programs.process_exec, programs.waking,
                                       programs.switch_with_state, programs.switch_without_state}) {
      TEPHRA_CHECK_OK(watching_.attach(program));
    }
    return watching_.iterate(programs.watch_existing, [](base::Bytes) {});
  }

  void await(pid_t pid) override { skeleton_->bss->watch_state.awaited = static_cast<uint32_t>(pid); }

  base::Status begin(Listener& listener) override {
    skeleton_->bss->watch_state.begun = base::monotonic_ns();
    const auto& programs = skeleton_->progs;
    const bool all = bpf_program__autoload(programs.tell_stacks);
    return iterate(all ? programs.tell_stacks : programs.tell_kernel_stacks, listener);
  }

  void take_one_stack_in(uint32_t n) override { skeleton_->data->take_one_in = std::max(n, 1u); }

  int fd() const override { return ring_->fd(); }

  void read_ring(Listener& listener) override {
    // Before reading: what comes from now on may wake us again.
    __atomic_store_n(&skeleton_->bss->woken, 0, __ATOMIC_SEQ_CST);
    listener_ = &listener;
    ring_->consume();
    listener_ = nullptr;
  }

  base::Status read_all(Listener& listener) override {
    const uint32_t full = skeleton_->bss->watch_state.turn;
    skeleton_->bss->watch_state.turn = full ^ 1;
    TEPHRA_CHECK_OK(watching_.wait_for_programs());
    read_ring(listener);
    return read_sums(full == 0 ? skeleton_->maps.sums_0 : skeleton_->maps.sums_1, listener);
  }

  base::Status stop(Listener& listener) override {
    if (skeleton_->bss->watch_state.stopped == 0) skeleton_->bss->watch_state.stopped = base::monotonic_ns();
    TEPHRA_CHECK_OK(watching_.wait_for_programs());
    watching_.detach();
    read_ring(listener);
    TEPHRA_CHECK_OK(read_sums(skeleton_->maps.sums_0, listener));
    TEPHRA_CHECK_OK(read_sums(skeleton_->maps.sums_1, listener));
    if (skeleton_->bss->watch_state.begun != 0) TEPHRA_CHECK_OK(iterate(skeleton_->progs.tell_open_waits, listener));
    return read_unkept(listener);
  }

  uint64_t begun_ns() const override { return skeleton_->bss->watch_state.begun; }
  uint64_t met_ns() const override { return skeleton_->bss->watch_state.met; }
  uint64_t stopped_ns() const override { return skeleton_->bss->watch_state.stopped; }
  Totals totals() const override;

 private:
  base::Status iterate(const bpf_program* program, Listener& listener) const {
    return watching_.iterate(program, [&](base::Bytes record) { hand_over(record, listener); });
  }
  static void hand_over(base::Bytes record, Listener& listener);
  base::Status read_sums(const bpf_map* map, Listener& listener) const;
  base::Status read_unkept(Listener& listener) const;
  template <typename T>
  std::vector<T> by_cpu(const bpf_map* map) const;

  Skeleton skeleton_;
  WatchingObject watching_;
  size_t cpus_;
  std::unique_ptr<BpfRing> ring_;
  Listener* listener_ = nullptr;
};

template <typename T>
std::vector<T> Loaded::by_cpu(const bpf_map* map) const {
  std::vector<T> values(cpus_);
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(map), &zero, values.data()) != 0) values.clear();
  return values;
}

void Loaded::hand_over(base::Bytes record, Listener& listener) {
  if (record.size() < sizeof(uint64_t) || hear_stack(record, listener)) return;
  const auto type = base::load<uint32_t>(record.data());
  if (type == TEPHRA_RECORD_WAIT && record.size() >= sizeof(tephra_wait_told)) {
    listener.hear(base::load<tephra_wait_told>(record.data()));
  } else if (type == TEPHRA_RECORD_WAKER && record.size() >= sizeof(tephra_waker_told)) {
    listener.hear(base::load<tephra_waker_told>(record.data()));
  }
}

// Nothing is added to the map meanwhile.
base::Status Loaded::read_sums(const bpf_map* map, Listener& listener) const {
  return watching_.take_all<tephra_wait_key, tephra_wait_sum>(
      bpf_map__fd(map), [&](const tephra_wait_key& key, const tephra_wait_sum& sum) { listener.hear(key, sum); });
}

base::Status Loaded::read_unkept(Listener& listener) const {
  const int map = bpf_map__fd(skeleton_->maps.unkept);
  tephra_unkept_key thread{};
  tephra_wait_sum sum{};
  const auto tell = [&](const tephra_unkept_key& whose, const tephra_wait_sum& what) {
    tephra_wait_key key{};
    key.pid = whose.pid;
    key.tid = whose.tid;
    key.state = whose.state;
    key.flags = TEPHRA_WAIT_NO_STACK;
    key.syscall = TEPHRA_NO_SYSCALL;
    listener.hear(key, what);
  };
  while (bpf_map_get_next_key(map, nullptr, &thread) == 0) {
    if (bpf_map_lookup_elem(map, &thread, &sum) == 0) tell(thread, sum);
    if (bpf_map_delete_elem(map, &thread) != 0) return base::system_error(kWhat, "sums without stacks", errno);
  }
  std::array<tephra_wait_sum, TEPHRA_OFF_CPU_STATES> by_state{};
  for (const auto& cpu : by_cpu<tephra_off_cpu_totals>(skeleton_->maps.totals)) {
    for (size_t state = 0; state < by_state.size(); ++state) {
      by_state[state].ns += cpu.unkept[state].ns;
      by_state[state].count += cpu.unkept[state].count;
      by_state[state].last = std::max(by_state[state].last, cpu.unkept[state].last);
    }
  }
  for (uint32_t state = 0; state < by_state.size(); ++state) {
    if (by_state[state].count > 0) tell({0, 0, state, 0}, by_state[state]);
  }
  return {};
}

OffCpuProgram::Totals Loaded::totals() const {
  Totals totals;
  uint64_t measured = 0;
  uint64_t measured_ns = 0;
  for (const auto& cpu : by_cpu<tephra_off_cpu_totals>(skeleton_->maps.totals)) {
    totals.switches += cpu.switches;
    totals.skipped += cpu.skipped;
    measured += cpu.measured;
    measured_ns += cpu.measured_ns;
  }
  for (const auto& cpu : by_cpu<tephra_stack_totals>(skeleton_->maps.stack_totals)) {
    totals.stacks_not_sent += cpu.not_sent;
    totals.stacks_copied += cpu.copied;
  }
  totals.not_watched = skeleton_->bss->not_watched;
  totals.missed = watching_.missed();
  if (measured > 0) totals.ns_per_switch = static_cast<double>(measured_ns) / static_cast<double>(measured);
  return totals;
}

#endif

}  // namespace

#if TEPHRA_BPF

base::Result<std::unique_ptr<OffCpuProgram>> OffCpuProgram::load(const Settings& wanted) {
  Settings settings = wanted;
  static_cast<WatchSettings&>(settings) = usable(wanted);
  TEPHRA_TRY(const size_t cpus, possible_cpus(kWhat));
  TEPHRA_TRY(Skeleton skeleton, load_any(settings));
  auto program = std::make_unique<Loaded>(std::move(skeleton), cpus);
  TEPHRA_CHECK_OK(program->start(settings));
  return std::unique_ptr<OffCpuProgram>(std::move(program));
}

#else

base::Result<std::unique_ptr<OffCpuProgram>> OffCpuProgram::load(const Settings&) { return built_without_bpf(kWhat); }

#endif

}  // namespace tephra::kernel
