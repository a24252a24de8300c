#include "kernel/off_cpu_program.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>

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

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

// Which of two programs for the same are used: older kernels lack something of the first.
struct Variant {
  bool state_is_told = true;
  bool user_stacks_of_others = true;
};

uint32_t mode_of(const OffCpuProgram::Whom& whom) {
  if (whom.everything) return TEPHRA_WATCH_ALL;
  if (!whom.cgroup_folders.empty()) return TEPHRA_WATCH_CGROUPS;
  return whom.user ? TEPHRA_WATCH_USER : TEPHRA_WATCH_LISTED;
}

uint32_t stacks_of(OffCpuProgram::Stacks stacks) {
  switch (stacks) {
    case OffCpuProgram::Stacks::kWalked:
      return TEPHRA_STACKS_WALKED;
    case OffCpuProgram::Stacks::kFramePointers:
      return TEPHRA_STACKS_FRAME_POINTERS;
    default:
      return TEPHRA_STACKS_NONE;
  }
}

void set_constants(off_cpu& skeleton, const OffCpuProgram::Settings& settings) {
  auto& constants = *skeleton.rodata;
  constants.mode = mode_of(settings.whom);
  constants.stacks = stacks_of(settings.stacks);
  constants.max_frames = std::clamp(settings.max_frames, 1u, uint32_t{TEPHRA_WALK_MAX_FRAMES});
  constants.max_kernel_bytes =
      std::clamp(settings.max_kernel_frames, 1u, uint32_t{TEPHRA_WALK_MAX_KERNEL_FRAMES}) * sizeof(uint64_t);
  constants.states = settings.states;
  constants.watched_user = settings.whom.user.value_or(0);
  constants.min_ns = static_cast<uint64_t>(settings.shortest.count());
  constants.max_ns = static_cast<uint64_t>(settings.longest.count());
  constants.threshold_ns = static_cast<uint64_t>(settings.threshold.count());
  constants.budget_ns = static_cast<uint64_t>(settings.budget * 10e6);
  if (settings.budget > 0 && constants.budget_ns == 0) constants.budget_ns = 1;
  constants.wake_bytes = settings.ring_bytes / 4;
  constants.inherit = settings.whom.inherit;
  constants.kernel_stacks = settings.kernel_stacks && settings.stacks != OffCpuProgram::Stacks::kNone;
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
  const std::pair<bpf_map*, uint64_t> sizes[] = {
      {maps.sums_0, settings.max_sums},
      {maps.sums_1, settings.max_sums},
      {maps.unkept, settings.max_unkept},
      {maps.records, settings.ring_bytes},
      {maps.listed, settings.whom.processes.size() + settings.whom.threads.size() + 1},
      {maps.cgroups, settings.whom.cgroup_folders.size() + 1},
  };
  for (const auto& [map, size] : sizes) {
    if (const int error = bpf_map__set_max_entries(map, static_cast<uint32_t>(size)); error != 0) return error;
  }
  if (settings.walk_maps) {
    const StackProgram::Maps& shared = *settings.walk_maps;
    const std::pair<bpf_map*, int> same[] = {
        {maps.tables, shared.tables},     {maps.table_blocks, shared.table_blocks}, {maps.rules, shared.rules},
        {maps.mappings, shared.mappings}, {maps.processes, shared.processes},       {maps.answers, shared.answers}};
    for (const auto& [map, fd] : same) {
      if (const int error = bpf_map__reuse_fd(map, fd); error != 0) return error;
    }
    return 0;
  }
  // Nothing is walked: the maps of walks are there, and empty.
  for (bpf_map* map : {maps.tables, maps.table_blocks, maps.rules, maps.mappings, maps.processes, maps.answers}) {
    if (const int error = bpf_map__set_max_entries(map, 1); error != 0) return error;
  }
  return 0;
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

base::Status note_recorder(const off_cpu& skeleton) {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton.progs.note_recorder), &options) == 0) return {};
  return base::system_error(kWhat, "pid namespace", errno);
}

// Comes back when no program that had begun before runs any more.
base::Status wait_for_programs() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return {};
  return base::system_error(kWhat, "membarrier", errno);
}

class Loaded : public OffCpuProgram {
 public:
  Loaded(Skeleton skeleton, size_t cpus) : skeleton_(std::move(skeleton)), cpus_(cpus) {}

  base::Status start(const Settings& settings) {
    TEPHRA_CHECK_OK(note_recorder(*skeleton_));
    TEPHRA_CHECK_OK(list(settings.whom));
    TEPHRA_TRY(ring_, BpfRing::open(bpf_map__fd(skeleton_->maps.records), [this](base::Bytes record) {
                 if (listener_ != nullptr) hand_over(record, *listener_);
               }));
    const auto& programs = skeleton_->progs;
    for (const bpf_program* program : {programs.process_fork, programs.process_exec, programs.waking,
                                       programs.switch_with_state, programs.switch_without_state}) {
      TEPHRA_CHECK_OK(attach(program));
    }
    return iterate(programs.watch_existing, nullptr);
  }

  void await(pid_t pid) override { skeleton_->bss->awaited = static_cast<uint32_t>(pid); }

  base::Status begin(Listener& listener) override {
    skeleton_->bss->begun = base::monotonic_ns();
    const auto& programs = skeleton_->progs;
    const bool all = bpf_program__autoload(programs.tell_stacks);
    return iterate(all ? programs.tell_stacks : programs.tell_kernel_stacks, &listener);
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
    const uint32_t full = skeleton_->bss->turn;
    skeleton_->bss->turn = full ^ 1;
    TEPHRA_CHECK_OK(wait_for_programs());
    read_ring(listener);
    return read_sums(full == 0 ? skeleton_->maps.sums_0 : skeleton_->maps.sums_1, listener);
  }

  base::Status stop(Listener& listener) override {
    if (skeleton_->bss->stopped == 0) skeleton_->bss->stopped = base::monotonic_ns();
    TEPHRA_CHECK_OK(wait_for_programs());
    links_.clear();
    read_ring(listener);
    TEPHRA_CHECK_OK(read_sums(skeleton_->maps.sums_0, listener));
    TEPHRA_CHECK_OK(read_sums(skeleton_->maps.sums_1, listener));
    if (skeleton_->bss->begun != 0) TEPHRA_CHECK_OK(iterate(skeleton_->progs.tell_open_waits, &listener));
    return read_unkept(listener);
  }

  uint64_t begun_ns() const override { return skeleton_->bss->begun; }
  uint64_t stopped_ns() const override { return skeleton_->bss->stopped; }
  Totals totals() const override;

 private:
  base::Status list(const Whom& whom) const;
  base::Status attach(const bpf_program* program);
  base::Status iterate(const bpf_program* program, Listener* listener) const;
  static void hand_over(base::Bytes record, Listener& listener);
  base::Status read_sums(const bpf_map* map, Listener& listener) const;
  base::Status read_unkept(Listener& listener) const;
  std::vector<tephra_off_cpu_totals> by_cpu() const;

  Skeleton skeleton_;
  size_t cpus_;
  std::vector<Link> links_;
  std::unique_ptr<BpfRing> ring_;
  Listener* listener_ = nullptr;
};

base::Status Loaded::list(const Whom& whom) const {
  const uint8_t one = 1;
  const auto add = [&](const tephra_watched& who) {
    return bpf_map_update_elem(bpf_map__fd(skeleton_->maps.listed), &who, &one, BPF_ANY) == 0;
  };
  for (const pid_t pid : whom.processes) {
    if (!add({static_cast<uint32_t>(pid), 0})) return base::system_error(kWhat, "list of processes", errno);
  }
  for (const pid_t tid : whom.threads) {
    if (!add({0, static_cast<uint32_t>(tid)})) return base::system_error(kWhat, "list of threads", errno);
  }
  for (const std::string& folder : whom.cgroup_folders) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return base::system_error("cannot open the control group", folder, errno);
    const uint64_t id = status.st_ino;
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.cgroups), &id, &one, BPF_ANY) != 0) {
      return base::system_error(kWhat, folder, errno);
    }
  }
  return {};
}

base::Status Loaded::attach(const bpf_program* program) {
  if (!bpf_program__autoload(program)) return {};
  const BpfLog log;
  Link link(bpf_program__attach(program));
  if (!link) return explain_bpf(kWhat, errno, log.text());
  links_.push_back(std::move(link));
  return {};
}

// Runs the program for every task; what it writes is handed over.
base::Status Loaded::iterate(const bpf_program* program, Listener* listener) const {
  const BpfLog log;
  const Link link(bpf_program__attach_iter(program, nullptr));
  if (!link) return explain_bpf(kWhat, errno, log.text());
  const base::FileDescriptor iteration(bpf_iter_create(bpf_link__fd(link.get())));
  if (!iteration) return explain_bpf(kWhat, errno, log.text());
  std::vector<std::byte> waiting;
  std::array<std::byte, 64 << 10> piece;
  for (;;) {
    const ssize_t got = ::read(iteration.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return base::system_error(kWhat, "list of tasks", errno);
    if (got == 0) return {};
    waiting.insert(waiting.end(), piece.begin(), piece.begin() + got);
    size_t at = 0;
    while (waiting.size() - at >= sizeof(tephra_wait_stack)) {
      const auto size = base::load<tephra_wait_stack>(waiting.data() + at).size;
      if (size == 0 || waiting.size() - at < size) break;
      if (listener != nullptr) hand_over({waiting.data() + at, size}, *listener);
      at += size;
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(at));
  }
}

void Loaded::hand_over(base::Bytes record, Listener& listener) {
  if (record.size() < sizeof(uint64_t)) return;
  const auto type = base::load<uint32_t>(record.data());
  if (type == TEPHRA_RECORD_WAIT && record.size() >= sizeof(tephra_wait_told)) {
    listener.hear(base::load<tephra_wait_told>(record.data()));
  } else if (type == TEPHRA_RECORD_WAKER && record.size() >= sizeof(tephra_waker_told)) {
    listener.hear(base::load<tephra_waker_told>(record.data()));
  } else if (type == TEPHRA_RECORD_WAIT_WANTED && record.size() >= sizeof(tephra_walk_wanted)) {
    listener.hear(base::load<tephra_walk_wanted>(record.data()));
  } else if (type == TEPHRA_RECORD_WAIT_STACK && record.size() >= sizeof(tephra_wait_stack)) {
    const auto head = base::load<tephra_wait_stack>(record.data());
    const size_t chain = size_t{head.chain_words} * 8;
    base::Bytes rest = record.subspan(sizeof head);
    if (rest.size() < chain || rest.size() - chain < head.copy_bytes) return;
    const size_t registers = head.copy_bytes == 0 ? 0 : rest.size() - chain - head.copy_bytes;
    listener.hear(Stack{head, rest.first(chain), rest.subspan(chain, registers),
                        rest.subspan(chain + registers, head.copy_bytes)});
  }
}

// Nothing is added to the map meanwhile.
base::Status Loaded::read_sums(const bpf_map* map, Listener& listener) const {
  constexpr uint32_t kAtOnce = 1024;
  std::vector<tephra_wait_key> keys(kAtOnce);
  std::vector<tephra_wait_sum> sums(kAtOnce);
  std::array<std::byte, 256> place{};
  bool first = true;
  for (;;) {
    auto count = static_cast<uint32_t>(keys.size());
    const int error = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), first ? nullptr : place.data(), place.data(),
                                                      keys.data(), sums.data(), &count, nullptr);
    const int error_number = error == 0 ? 0 : errno;
    if (error_number == ENOSPC) {  // more in one bucket than there is room for
      keys.resize(keys.size() * 2);
      sums.resize(keys.size());
      continue;
    }
    if (error_number != 0 && error_number != ENOENT) return base::system_error(kWhat, "sums of waits", error_number);
    for (uint32_t at = 0; at < count; ++at) listener.hear(keys[at], sums[at]);
    if (error_number == ENOENT) return {};
    first = false;
  }
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
  for (const auto& cpu : by_cpu()) {
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

std::vector<tephra_off_cpu_totals> Loaded::by_cpu() const {
  std::vector<tephra_off_cpu_totals> values(cpus_);
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.totals), &zero, values.data()) != 0) values.clear();
  return values;
}

OffCpuProgram::Totals Loaded::totals() const {
  Totals totals;
  uint64_t measured = 0;
  uint64_t measured_ns = 0;
  for (const auto& cpu : by_cpu()) {
    totals.switches += cpu.switches;
    totals.stacks_not_sent += cpu.stacks_not_sent;
    totals.stacks_copied += cpu.stacks_copied;
    totals.not_watched += cpu.not_watched;
    totals.skipped += cpu.skipped;
    measured += cpu.measured;
    measured_ns += cpu.measured_ns;
  }
  if (measured > 0) totals.ns_per_switch = static_cast<double>(measured_ns) / static_cast<double>(measured);
  return totals;
}

#endif

}  // namespace

#if TEPHRA_BPF

base::Result<std::unique_ptr<OffCpuProgram>> OffCpuProgram::load(const Settings& wanted) {
  Settings settings = wanted;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  settings.ring_bytes = std::clamp(std::bit_ceil(settings.ring_bytes), page, uint64_t{1} << 30);
  if (settings.stacks == Stacks::kWalked && !settings.walk_maps) settings.stacks = Stacks::kFramePointers;
  if (settings.stacks != Stacks::kWalked) settings.walk_maps.reset();
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
