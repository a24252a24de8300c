#include "kernel/activity_program.h"

#include <errno.h>

#include <functional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/watching_object.h"
// Know the types of the ones above.
#include "bpf/io.skel.h"
#include "bpf/syscalls.skel.h"
#include "bpf/tcp.skel.h"
#endif

namespace tephra::kernel {
namespace {

constexpr const char* kWhat = "cannot sum up calls inside the kernel";

#if TEPHRA_BPF

// What the skeletons of all activities have.
struct Opened {
  bpf_object* object = nullptr;
  tephra_watch_settings* constants = nullptr;
  volatile tephra_watch_state* state = nullptr;
  uint32_t* woken = nullptr;
  const uint64_t* not_watched = nullptr;
  std::function<int()> load;
  std::shared_ptr<void> skeleton;  // owns all of it
};

template <typename Skeleton>
Opened open_skeleton(Skeleton* (*open)(), int (*load)(Skeleton*), void (*destroy)(Skeleton*)) {
  Skeleton* const skeleton = open();
  if (skeleton == nullptr) return {};
  Opened opened;
  opened.skeleton = std::shared_ptr<void>(skeleton, [destroy](void* old) { destroy(static_cast<Skeleton*>(old)); });
  opened.object = skeleton->obj;
  opened.constants = &skeleton->rodata->watching;
  opened.state = &skeleton->bss->watch_state;
  opened.woken = &skeleton->bss->woken;
  opened.not_watched = reinterpret_cast<const uint64_t*>(&skeleton->bss->not_watched);
  opened.load = [skeleton, load] { return load(skeleton); };
  return opened;
}

// Which tracepoint tells that requests are asked for depends on the kernel.
Opened open_io() {
  Opened opened = open_skeleton(io__open, io__load, io__destroy);
  if (!opened.skeleton) return opened;
  auto* const skeleton = static_cast<io*>(opened.skeleton.get());
  const bool starts = libbpf_find_vmlinux_btf_id("block_io_start", BPF_TRACE_RAW_TP) > 0;
  skeleton->rodata->has_starts = starts;
  bpf_program__set_autoload(starts ? skeleton->progs.request_queued : skeleton->progs.request_started, false);
  return opened;
}

Opened open_activity(Activity activity) {
  switch (activity) {
    case Activity::kSyscalls:
      return open_skeleton(syscalls__open, syscalls__load, syscalls__destroy);
    case Activity::kIo:
      return open_io();
    case Activity::kTcp:
      return open_skeleton(tcp__open, tcp__load, tcp__destroy);
    default:
      errno = ENOTSUP;
      return {};
  }
}

int set_maps(bpf_object* object, const ActivityProgram::Settings& settings) {
  const std::pair<const char*, uint32_t> sizes[] = {
      {"sums_0", settings.max_sums}, {"sums_1", settings.max_sums}, {"unkept", settings.max_unkept}};
  for (const auto& [name, size] : sizes) {
    const int error = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, name), size);
    if (error != 0) return error;
  }
  return set_watching_maps(object, settings);
}

bool is_iteration(const bpf_program* program) {
  return std::string_view(bpf_program__section_name(program)).starts_with("iter");
}

// Tracepoints that older kernels do not have: what they would tell is missing there, which the type says.
void leave_out_missing(bpf_object* object) {
  for (const char* const name : {"sent", "received"}) {
    bpf_program* const program = bpf_object__find_program_by_name(object, name);
    if (program == nullptr) continue;
    const std::string_view section = bpf_program__section_name(program);
    const std::string tracepoint(section.substr(section.find('/') + 1));
    if (!has_tracepoint(tracepoint.c_str())) bpf_program__set_autoload(program, false);
  }
}

bool is_run_once(const bpf_program* program) { return std::string_view(bpf_program__name(program)) == "note_recorder"; }

class Loaded : public ActivityProgram {
 public:
  Loaded(Opened opened, size_t cpus) : opened_(std::move(opened)), watching_(opened_.object, kWhat), cpus_(cpus) {}

  base::Status start(const Settings& settings) {
    TEPHRA_CHECK_OK(watching_.list(settings.whom));
    TEPHRA_TRY(ring_, BpfRing::open(watching_.map("records"), [this](base::Bytes record) {
                 if (listener_ != nullptr) hear_stack(record, *listener_);
               }));
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, opened_.object) {
      if (!is_iteration(program) && !is_run_once(program)) TEPHRA_CHECK_OK(watching_.attach(program));
    }
    return watching_.iterate(iteration("watch_existing"), [](base::Bytes) {});
  }

  void await(pid_t pid) override { opened_.state->awaited = static_cast<uint32_t>(pid); }
  void begin() override { opened_.state->begun = base::monotonic_ns(); }
  int fd() const override { return ring_->fd(); }

  void read_ring(Listener& listener) override {
    // Before reading: what comes from now on may wake us again.
    __atomic_store_n(opened_.woken, 0, __ATOMIC_SEQ_CST);
    listener_ = &listener;
    ring_->consume();
    listener_ = nullptr;
  }

  base::Status read_all(Listener& listener) override {
    const uint32_t full = opened_.state->turn;
    opened_.state->turn = full ^ 1;
    TEPHRA_CHECK_OK(watching_.wait_for_programs());
    read_ring(listener);
    return read_sums(full == 0 ? "sums_0" : "sums_1", 0, listener);
  }

  base::Status stop(Listener& listener) override {
    if (opened_.state->stopped == 0) opened_.state->stopped = base::monotonic_ns();
    TEPHRA_CHECK_OK(watching_.wait_for_programs());
    watching_.detach();
    read_ring(listener);
    TEPHRA_CHECK_OK(read_sums("sums_0", 0, listener));
    TEPHRA_CHECK_OK(read_sums("sums_1", 0, listener));
    if (opened_.state->begun != 0) {
      TEPHRA_CHECK_OK(read_open(listener));
      TEPHRA_CHECK_OK(read_requests(listener));
    }
    TEPHRA_CHECK_OK(read_sums("unkept", TEPHRA_ACTIVITY_NO_STACK, listener));
    tell_unkept(listener);
    return {};
  }

  uint64_t begun_ns() const override { return opened_.state->begun; }
  uint64_t stopped_ns() const override { return opened_.state->stopped; }
  Totals totals() const override;

 private:
  const bpf_program* iteration(const char* name) const {
    return bpf_object__find_program_by_name(opened_.object, name);
  }

  // `flags` are added to those of the sums.
  base::Status read_sums(const char* name, uint32_t flags, Listener& listener) const {
    return watching_.take_all<tephra_activity_key, tephra_activity_sum>(
        watching_.map(name), [&](tephra_activity_key key, const tephra_activity_sum& sum) {
          key.flags |= flags;
          listener.hear(key, sum);
        });
  }

  base::Status read_open(Listener& listener) const {
    const bpf_program* const program = iteration("tell_open");
    if (program == nullptr) return {};
    return watching_.iterate(program, [&](base::Bytes record) {
      if (record.size() < sizeof(tephra_activity_told)) return;
      const auto told = base::load<tephra_activity_told>(record.data());
      if (told.type == TEPHRA_RECORD_ACTIVITY) listener.hear(told.key, told.sum);
    });
  }

  // What was under way by an address of the kernel, where there is such.
  base::Status read_requests(Listener& listener) const {
    if (bpf_object__find_map_by_name(opened_.object, "requests") == nullptr) return {};
    return watching_.take_all<uint64_t, tephra_activity_begun>(
        watching_.map("requests"), [&](uint64_t, tephra_activity_begun begun) {
          if (begun.since == 0) return;
          begun.key.flags |= TEPHRA_ACTIVITY_OPEN;
          const uint64_t stopped = opened_.state->stopped;
          const uint64_t ns = stopped > begun.since ? stopped - begun.since : 0;
          listener.hear(begun.key, {1, begun.bytes, ns, ns, stopped});
        });
  }

  void tell_unkept(Listener& listener) const {
    for (const auto& cpu : by_cpu<tephra_activity_totals>("totals")) {
      for (uint32_t kind = 0; kind < TEPHRA_ACTIVITY_KINDS; ++kind) {
        tephra_activity_key key{};
        key.kind = kind;
        key.flags = TEPHRA_ACTIVITY_NO_STACK;
        const tephra_activity_sum& sum = cpu.unkept[kind];
        if (sum.count > 0 || sum.bytes > 0 || sum.ns > 0) listener.hear(key, sum);
      }
    }
  }

  template <typename T>
  std::vector<T> by_cpu(const char* name) const {
    std::vector<T> values(cpus_);
    const uint32_t zero = 0;
    if (bpf_map_lookup_elem(watching_.map(name), &zero, values.data()) != 0) values.clear();
    return values;
  }

  Opened opened_;
  WatchingObject watching_;
  size_t cpus_;
  std::unique_ptr<BpfRing> ring_;
  Listener* listener_ = nullptr;
};

ActivityProgram::Totals Loaded::totals() const {
  Totals totals;
  uint64_t measured = 0;
  uint64_t measured_ns = 0;
  for (const auto& cpu : by_cpu<tephra_activity_totals>("totals")) {
    totals.stacks += cpu.stacks;
    totals.no_walk += cpu.no_walk;
    totals.unmatched += cpu.unmatched;
    totals.untimed += cpu.untimed;
    totals.not_attributed += cpu.not_attributed;
    measured += cpu.measured;
    measured_ns += cpu.measured_ns;
  }
  for (const auto& cpu : by_cpu<tephra_stack_totals>("stack_totals")) totals.stacks_not_sent += cpu.not_sent;
  totals.not_watched = *opened_.not_watched;
  totals.missed = watching_.missed();
  if (measured > 0) totals.ns_per_stack = static_cast<double>(measured_ns) / static_cast<double>(measured);
  return totals;
}

#endif

}  // namespace

#if TEPHRA_BPF

bool has_tracepoint(const char* name) { return libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP) > 0; }

base::Result<std::unique_ptr<ActivityProgram>> ActivityProgram::load(const Settings& wanted) {
  Settings settings = wanted;
  static_cast<WatchSettings&>(settings) = usable(wanted);
  TEPHRA_TRY(const size_t cpus, possible_cpus(kWhat));
  const BpfLog log;
  Opened opened = open_activity(settings.activity);
  if (!opened.skeleton) return explain_bpf(kWhat, errno, log.text());
  set_watching(settings, *opened.constants);
  leave_out_missing(opened.object);
  int error = set_maps(opened.object, settings);
  if (error == 0) error = opened.load();
  if (error != 0) return explain_bpf(kWhat, -error, log.text());
  auto program = std::make_unique<Loaded>(std::move(opened), cpus);
  TEPHRA_CHECK_OK(program->start(settings));
  return std::unique_ptr<ActivityProgram>(std::move(program));
}

#else

bool has_tracepoint(const char*) { return false; }

base::Result<std::unique_ptr<ActivityProgram>> ActivityProgram::load(const Settings&) {
  return built_without_bpf(kWhat);
}

#endif

}  // namespace tephra::kernel
