#include "kernel/stack_program.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"
#include "kernel/perf_calls.h"
#include "kernel/walk_processes.h"
#include "kernel/walk_tables.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>

#include "bpf/stack_sample.skel.h"
#endif

namespace tephra::kernel {
namespace {

constexpr const char* kWhat = "cannot walk stacks inside the kernel";

#if TEPHRA_BPF

// Samples are handed over in pieces of about this size.
constexpr size_t kPieceBytes = 256 << 10;

struct Destroy {
  void operator()(stack_sample* skeleton) const { stack_sample__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<stack_sample, Destroy>;

// By identifier, and which optional fields records have.
using Variant = std::tuple<uint64_t, bool, bool, bool>;

StackProgram::Settings within_limits(StackProgram::Settings settings) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  settings.max_frames = std::clamp(settings.max_frames, 1u, uint32_t{TEPHRA_WALK_MAX_FRAMES});
  settings.max_kernel_frames = std::clamp(settings.max_kernel_frames, 1u, uint32_t{TEPHRA_WALK_MAX_KERNEL_FRAMES});
  settings.ring_bytes = std::clamp(std::bit_ceil(settings.ring_bytes), page, uint64_t{1} << 30);
  settings.max_tables = std::clamp(settings.max_tables, 1u, uint32_t{TEPHRA_WALK_MAX_TABLES});
  settings.max_mappings = std::clamp(settings.max_mappings, 1u, 1u << 20);
  settings.max_processes = std::clamp(settings.max_processes, 1u, 1u << 20);
  return settings;
}

void set_constants(stack_sample& skeleton, const StackProgram::Settings& settings) {
  auto& constants = *skeleton.rodata;
  constants.max_frames = settings.max_frames;
  constants.max_kernel_bytes = settings.max_kernel_frames * sizeof(uint64_t);
  constants.wake_bytes = settings.ring_bytes / 4;
  constants.kernel_stacks = settings.kernel_stacks;
  constants.user_stacks = settings.user_stacks;
  constants.also_raw = settings.also_raw;
  constants.page_faults = settings.page_faults;
  constants.copies_at_once = settings.copies_at_once;
}

// Lets the maps of `skeleton`, but for its constants and its event, be those of `first`.
int share_maps(const stack_sample& skeleton, const stack_sample& first) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton.obj) {
    if (map == skeleton.maps.rodata || map == skeleton.maps.data_event) continue;
    const bpf_map* shared = bpf_object__find_map_by_name(first.obj, bpf_map__name(map));
    if (shared == nullptr) return -ENOENT;
    if (const int error = bpf_map__reuse_fd(map, bpf_map__fd(shared)); error != 0) return error;
  }
  return 0;
}

int set_sizes(const stack_sample& skeleton, const StackProgram::Settings& settings) {
  const std::pair<bpf_map*, uint64_t> sizes[] = {
      {skeleton.maps.tables, settings.max_tables + 1}, {skeleton.maps.table_blocks, settings.max_tables + 1},
      {skeleton.maps.mappings, settings.max_mappings}, {skeleton.maps.processes, settings.max_processes},
      {skeleton.maps.records, settings.ring_bytes},
  };
  for (const auto& [map, size] : sizes) {
    if (const int error = bpf_map__set_max_entries(map, static_cast<uint32_t>(size)); error != 0) return error;
  }
  return 0;
}

base::Error explain(int error_number, const std::string& log) {
  auto error = explain_bpf(kWhat, error_number, log);
  const auto lockdown = base::read_small_file("/sys/kernel/security/lockdown");
  if (lockdown.ok() && lockdown->find("[confidentiality]") != std::string::npos) {
    error.why = "the kernel is locked down, and lets no program read its memory";
    error.fix = "Boot it without lockdown=confidentiality.";
  } else if (log.find("unknown func") != std::string::npos || log.find("invalid func") != std::string::npos) {
    error.why += " (the kernel is too old)";
    error.fix = "Linux 5.17 or newer is needed.";
  }
  return error;
}

// `first`: whose maps it shares; null for the first one, which makes them.
base::Result<Skeleton> load_instance(const StackProgram::Settings& settings, const stack_sample* first) {
  const BpfLog log;
  Skeleton skeleton(stack_sample__open());
  if (!skeleton) return explain(errno, log.text());
  set_constants(*skeleton, settings);
  bpf_program__set_autoload(skeleton->progs.note_namespace, first == nullptr);
  for (bpf_program* program : {skeleton->progs.note_user_fault, skeleton->progs.note_kernel_fault}) {
    bpf_program__set_autoload(program, first == nullptr && settings.page_faults);
  }
  // Its places are only needed there.
  if (first == nullptr && !settings.page_faults) bpf_map__set_max_entries(skeleton->maps.faults_begun, 1);
  int error = first != nullptr ? share_maps(*skeleton, *first) : set_sizes(*skeleton, settings);
  if (error == 0) error = stack_sample__load(skeleton.get());
  if (error != 0) return explain(-error, log.text());
  return skeleton;
}

// Where the machine's kernel has no such tracepoints, why it faulted is not told.
void note_faults(stack_sample& skeleton) {
  skeleton.links.note_user_fault = bpf_program__attach(skeleton.progs.note_user_fault);
  skeleton.links.note_kernel_fault = bpf_program__attach(skeleton.progs.note_kernel_fault);
}

// Process ids are told as our own pid namespace has them; a program finds out which that is.
base::Status note_namespace(const stack_sample& skeleton) {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton.progs.note_namespace), &options) == 0) return {};
  return base::system_error(kWhat, "pid namespace", errno);
}

class Loaded : public StackProgram {
 public:
  Loaded(const Settings& settings, size_t cpus, Skeleton first, WalkTables tables, WalkProcesses processes)
      : settings_(settings),
        cpus_(cpus),
        first_(std::move(first)),
        tables_(std::move(tables)),
        processes_(std::move(processes)) {}

  base::Status open_ring() {
    TEPHRA_TRY(ring_, BpfRing::open(bpf_map__fd(first_->maps.records), [this](base::Bytes record) { take(record); }));
    return {};
  }

  base::Status attach(int event_fd, uint64_t identifier, bool with_address, bool with_period, bool with_page) override {
    TEPHRA_TRY(const int program, program_of({identifier, with_address, with_period, with_page}));
    if (calls::control_event(event_fd, PERF_EVENT_IOC_SET_BPF, static_cast<unsigned long>(program)) == 0) return {};
    return base::system_error("cannot walk the stacks of an event inside the kernel", {}, errno,
                              "Use --call-graph auto, fp or dwarf.");
  }

  base::Result<uint32_t> add_table(std::span<const tephra_frame_block> blocks,
                                   std::span<const tephra_frame_rule> rules) override {
    return tables_.add(blocks, rules);
  }
  void remove_table(uint32_t table) override { tables_.remove(table); }

  base::Status set_process(pid_t pid, uint64_t start_stack, uint64_t start_code,
                           std::span<const tephra_walk_mapping> mappings) override {
    TEPHRA_CHECK_OK(tables_.publish());
    return processes_.set(pid, start_stack, start_code, mappings);
  }
  void forget_process(pid_t pid) override { processes_.forget(pid); }
  void answered(pid_t pid) override {
    auto& places = first_->bss->answered;
    const auto number = static_cast<uint32_t>(pid);
    __atomic_store_n(&places[number % std::size(places)], number, __ATOMIC_RELAXED);
  }

  Maps maps() const override {
    const auto& maps = first_->maps;
    return {bpf_map__fd(maps.tables),   bpf_map__fd(maps.table_blocks), bpf_map__fd(maps.rules),
            bpf_map__fd(maps.mappings), bpf_map__fd(maps.processes),    bpf_map__fd(maps.answers)};
  }

  int fd() const override { return ring_->fd(); }
  void consume(const std::function<void(base::Bytes)>& on_samples,
               const std::function<void(const tephra_walk_wanted&)>& on_wanted) override {
    on_samples_ = &on_samples;
    wanted_.clear();
    // Before reading: what comes from now on may wake us again.
    __atomic_store_n(&first_->bss->woken, 0, __ATOMIC_SEQ_CST);
    ring_->consume();
    hand_over();
    for (const auto& wanted : wanted_) on_wanted(wanted);
  }

  Totals totals() const override;

 private:
  base::Result<int> program_of(const Variant& variant) {
    auto it = variants_.find(variant);
    if (it == variants_.end()) {
      TEPHRA_TRY(stack_sample* const instance, unused_instance());
      const auto& [identifier, with_address, with_period, with_page] = variant;
      instance->data_event->event = {identifier, with_address, with_period, with_page, 0};
      it = variants_.emplace(variant, instance).first;
    }
    return bpf_program__fd(it->second->progs.stack_sample);
  }

  // The first one is that with which it was tried whether the kernel takes the program.
  base::Result<stack_sample*> unused_instance() {
    if (variants_.empty()) return first_.get();
    TEPHRA_TRY(Skeleton loaded, load_instance(settings_, first_.get()));
    more_.push_back(std::move(loaded));
    return more_.back().get();
  }

  void take(base::Bytes record) {
    if (record.size() < sizeof(perf_event_header)) return;
    if (base::load<perf_event_header>(record.data()).type != TEPHRA_RECORD_WANTED) {
      if (piece_.size() + record.size() > kPieceBytes) hand_over();
      piece_.insert(piece_.end(), record.begin(), record.end());
    } else if (record.size() >= sizeof(tephra_walk_wanted)) {
      wanted_.push_back(base::load<tephra_walk_wanted>(record.data()));
    }
  }
  void hand_over() {
    if (!piece_.empty()) (*on_samples_)(piece_);
    piece_.clear();
  }

  Settings settings_;
  size_t cpus_;     // that there may be
  Skeleton first_;  // has the maps
  std::vector<Skeleton> more_;
  std::map<Variant, stack_sample*> variants_;
  WalkTables tables_;
  WalkProcesses processes_;
  std::unique_ptr<BpfRing> ring_;
  const std::function<void(base::Bytes)>* on_samples_ = nullptr;
  std::vector<std::byte> piece_;
  std::vector<tephra_walk_wanted> wanted_;
};

StackProgram::Totals Loaded::totals() const {
  Totals totals;
  totals.tables = tables_.count();
  totals.table_bytes = tables_.bytes();
  totals.rules = tables_.rules();
  std::vector<tephra_walk_totals> by_cpu(cpus_);
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(first_->maps.totals), &zero, by_cpu.data()) == 0) {
    for (const auto& cpu : by_cpu) {
      totals.walked += cpu.walked;
      totals.left_to_perf += cpu.left_to_perf;
      totals.lost += cpu.lost;
      totals.asked += cpu.asked;
      totals.not_asked += cpu.not_asked;
    }
  }
  for (const auto& [variant, skeleton] : variants_) {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(bpf_program__fd(skeleton->progs.stack_sample), &info, &size) != 0) continue;
    totals.run_ns += info.run_time_ns;
    totals.runs += info.run_cnt;
    totals.verified_instructions = std::max<uint64_t>(totals.verified_instructions, info.verified_insns);
  }
  return totals;
}

#endif

}  // namespace

#if TEPHRA_BPF

base::Result<std::unique_ptr<StackProgram>> StackProgram::load(const Settings& wanted) {
  const Settings settings = within_limits(wanted);
  TEPHRA_TRY(const size_t cpus, possible_cpus(kWhat));
  TEPHRA_TRY(Skeleton skeleton, load_instance(settings, nullptr));
  TEPHRA_CHECK_OK(note_namespace(*skeleton));
  if (settings.page_faults) note_faults(*skeleton);
  const auto& maps = skeleton->maps;
  const WalkTables::Limits limits{.tables = settings.max_tables, .bytes = settings.max_table_bytes, .cpus = cpus};
  TEPHRA_TRY(WalkTables tables, WalkTables::open({.tables = bpf_map__fd(maps.tables),
                                                  .table_blocks = bpf_map__fd(maps.table_blocks),
                                                  .rules = bpf_map__fd(maps.rules),
                                                  .answers = bpf_map__fd(maps.answers)},
                                                 limits));
  TEPHRA_TRY(WalkProcesses processes,
             WalkProcesses::open({.processes = bpf_map__fd(maps.processes), .mappings = bpf_map__fd(maps.mappings)},
                                 settings.max_mappings));
  auto program = std::make_unique<Loaded>(settings, cpus, std::move(skeleton), std::move(tables), std::move(processes));
  TEPHRA_CHECK_OK(program->open_ring());
  return std::unique_ptr<StackProgram>(std::move(program));
}

#else

base::Result<std::unique_ptr<StackProgram>> StackProgram::load(const Settings&) { return built_without_bpf(kWhat); }

#endif

}  // namespace tephra::kernel
