#include "kernel/bpf_config.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/file.h"
#include "kernel/bpf_program.h"
#include "kernel/watching_object.h"

namespace tephra::kernel {
namespace {

uint32_t mode_of(const Whom& whom) {
  if (whom.everything) return TEPHRA_WATCH_ALL;
  if (!whom.cgroup_folders.empty()) return TEPHRA_WATCH_CGROUPS;
  return whom.user ? TEPHRA_WATCH_USER : TEPHRA_WATCH_LISTED;
}

uint32_t stacks_of(UserStacks stacks) {
  switch (stacks) {
    case UserStacks::kWalked:
      return TEPHRA_STACKS_WALKED;
    case UserStacks::kFramePointers:
      return TEPHRA_STACKS_FRAME_POINTERS;
    default:
      return TEPHRA_STACKS_NONE;
  }
}

bpf_map* map_of(bpf_object* object, const char* name) { return bpf_object__find_map_by_name(object, name); }

}  // namespace

WatchSettings usable(WatchSettings settings) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  settings.ring_bytes = std::clamp(std::bit_ceil(settings.ring_bytes), page, uint64_t{1} << 30);
  if (settings.stacks == UserStacks::kWalked && !settings.walk_maps) settings.stacks = UserStacks::kFramePointers;
  if (settings.stacks != UserStacks::kWalked) settings.walk_maps.reset();
  return settings;
}

void set_watching(const WatchSettings& settings, tephra_watch_settings& constants) {
  constants.mode = mode_of(settings.whom);
  constants.user = settings.whom.user.value_or(0);
  constants.inherit = settings.whom.inherit;
  constants.stacks = stacks_of(settings.stacks);
  constants.max_frames = std::clamp(settings.max_frames, 1u, uint32_t{TEPHRA_WALK_MAX_FRAMES});
  constants.max_kernel_bytes =
      std::clamp(settings.max_kernel_frames, 1u, uint32_t{TEPHRA_WALK_MAX_KERNEL_FRAMES}) * sizeof(uint64_t);
  constants.max_user_bytes = 127 * sizeof(uint64_t);  // as far as the kernel follows frame pointers
  constants.kernel_stacks = settings.kernel_stacks && settings.stacks != UserStacks::kNone;
  constants.wake_bytes = settings.ring_bytes / 4;
}

int set_watching_maps(bpf_object* object, const WatchSettings& settings) {
  const std::pair<const char*, uint64_t> sizes[] = {
      {"records", settings.ring_bytes},
      {"listed", settings.whom.processes.size() + settings.whom.threads.size() + 1},
      {"cgroups", settings.whom.cgroup_folders.size() + 1},
  };
  for (const auto& [name, size] : sizes) {
    const int error = bpf_map__set_max_entries(map_of(object, name), static_cast<uint32_t>(size));
    if (error != 0) return error;
  }
  const StackProgram::Maps shared = settings.walk_maps.value_or(StackProgram::Maps());
  const std::pair<const char*, int> of_walks[] = {
      {"tables", shared.tables},     {"table_blocks", shared.table_blocks}, {"rules", shared.rules},
      {"mappings", shared.mappings}, {"processes", shared.processes},       {"answers", shared.answers}};
  for (const auto& [name, fd] : of_walks) {
    bpf_map* const map = map_of(object, name);
    // Where nothing is walked they are there, and empty.
    const int error = settings.walk_maps ? bpf_map__reuse_fd(map, fd) : bpf_map__set_max_entries(map, 1);
    if (error != 0) return error;
  }
  return 0;
}

int WatchingObject::map(const char* name) const { return bpf_map__fd(map_of(object_, name)); }

base::Status WatchingObject::list(const Whom& whom) const {
  LIBBPF_OPTS(bpf_test_run_opts, options);
  const bpf_program* const note_recorder = bpf_object__find_program_by_name(object_, "note_recorder");
  if (bpf_prog_test_run_opts(bpf_program__fd(note_recorder), &options) != 0) {
    return base::system_error(what_, "pid namespace", errno);
  }
  const uint8_t one = 1;
  const auto add = [&](const tephra_watched& who) {
    return bpf_map_update_elem(map("listed"), &who, &one, BPF_ANY) == 0;
  };
  for (const pid_t pid : whom.processes) {
    if (!add({static_cast<uint32_t>(pid), 0})) return base::system_error(what_, "list of processes", errno);
  }
  for (const pid_t tid : whom.threads) {
    if (!add({0, static_cast<uint32_t>(tid)})) return base::system_error(what_, "list of threads", errno);
  }
  for (const std::string& folder : whom.cgroup_folders) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return base::system_error("cannot open the control group", folder, errno);
    const uint64_t id = status.st_ino;
    if (bpf_map_update_elem(map("cgroups"), &id, &one, BPF_ANY) != 0) return base::system_error(what_, folder, errno);
  }
  return {};
}

base::Status WatchingObject::attach(const bpf_program* program) {
  if (!bpf_program__autoload(program)) return {};
  const BpfLog log;
  BpfLink link(bpf_program__attach(program));
  if (!link) return explain_bpf(what_, errno, log.text());
  links_.push_back(std::move(link));
  return {};
}

base::Status WatchingObject::iterate(const bpf_program* program, const std::function<void(base::Bytes)>& hear) const {
  const BpfLog log;
  const BpfLink link(bpf_program__attach_iter(program, nullptr));
  if (!link) return explain_bpf(what_, errno, log.text());
  const base::FileDescriptor iteration(bpf_iter_create(bpf_link__fd(link.get())));
  if (!iteration) return explain_bpf(what_, errno, log.text());
  std::vector<std::byte> waiting;
  std::array<std::byte, 64 << 10> piece;
  for (;;) {
    const ssize_t got = ::read(iteration.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return base::system_error(what_, "list of tasks", errno);
    if (got == 0) return {};
    waiting.insert(waiting.end(), piece.begin(), piece.begin() + got);
    size_t at = 0;
    while (waiting.size() - at >= sizeof(tephra_taken_stack)) {
      const auto size = base::load<tephra_taken_stack>(waiting.data() + at).size;
      if (size == 0 || waiting.size() - at < size) break;
      hear({waiting.data() + at, size});
      at += size;
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(at));
  }
}

base::Status WatchingObject::wait_for_programs() const {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return {};
  return base::system_error(what_, "membarrier", errno);
}

uint64_t WatchingObject::missed() const {
  uint64_t missed = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    if (bpf_program__fd(program) < 0) continue;  // it was not loaded
    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) missed += info.recursion_misses;
  }
  return missed;
}

int WatchingObject::take_batch(int map, bool first, Place& place, void* keys, void* sums, uint32_t& count) {
  const int error =
      bpf_map_lookup_and_delete_batch(map, first ? nullptr : place.data(), place.data(), keys, sums, &count, nullptr);
  return error == 0 ? 0 : errno;
}

}  // namespace tephra::kernel
#endif
