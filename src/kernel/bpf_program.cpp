#include "kernel/bpf_program.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "base/file.h"
#include "kernel/bpf_config.h"
#include "kernel/grant.h"
#include "kernel/privileges.h"

#if TEPHRA_BPF
#include <bpf/libbpf.h>
#endif

namespace tephra::kernel {

base::Error built_without_bpf(std::string what) {
  return base::failed(std::move(what), {}, "this tephra was built without BPF",
                      "Build it with clang, bpftool and libbpf, and without -DTEPHRA_BPF=OFF.");
}

#if TEPHRA_BPF

namespace {

constexpr size_t kMostLogBytes = 256 << 10;

// libbpf has one callback for the process and no room for an object in it.
thread_local std::string* t_log = nullptr;

int print_to_log(libbpf_print_level level, const char* format, va_list arguments) {
  if (t_log == nullptr || level == LIBBPF_DEBUG || t_log->size() > kMostLogBytes) return 0;
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  if (size > 0) {
    const size_t at = t_log->size();
    t_log->resize(at + static_cast<size_t>(size) + 1);
    std::vsnprintf(t_log->data() + at, static_cast<size_t>(size) + 1, format, again);
    t_log->pop_back();
  }
  va_end(again);
  return 0;
}

// The line of libbpf's log that says most: the verifier's last words before the summary.
std::string telling_line(const std::string& log) {
  std::string best;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    std::string line = log.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.starts_with("processed ") || line.starts_with("-- ") || line.starts_with("arg#")) continue;
    if (line.starts_with("libbpf: failed to load object")) continue;
    if (!best.empty() && line.starts_with("libbpf: ")) continue;
    best = std::move(line);
  }
  return best;
}

// Whether this process may open fewer descriptors than a program and its maps take. libbpf says little of it: where its
// trials of what the kernel can do find none, it goes on without, and fails later for another reason.
bool descriptors_are_short() {
  constexpr size_t kEnough = 32;
  std::vector<base::FileDescriptor> taken;
  while (taken.size() < kEnough) {
    base::FileDescriptor next(::eventfd(0, EFD_CLOEXEC));
    if (!next) return errno == EMFILE;
    taken.push_back(std::move(next));
  }
  return false;
}

}  // namespace

BpfLog::BpfLog() {
  static const auto previous = libbpf_set_print(print_to_log);
  (void)previous;
  t_log = &text_;
}

BpfLog::~BpfLog() { t_log = nullptr; }

base::Error explain_bpf(std::string what, int error_number, const std::string& log) {
  if (error_number == EMFILE || descriptors_are_short()) {
    return base::failed(std::move(what), {}, fmt::format("too many open files (ulimit -n is {})", open_file_limit()),
                        "Raise the limit: ulimit -n 4096.");
  }
  if (error_number == EPERM || error_number == EACCES) {
    if (::geteuid() != 0) {
      return base::failed(
          std::move(what), {}, "BPF programs may not be loaded by this user",
          fmt::format("Run as root, or give tephra the rights: sudo {} $(which tephra)", kGrantCommand));
    }
  }
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    return base::failed(std::move(what), {}, "the kernel does not describe its types (/sys/kernel/btf/vmlinux)",
                        "Use a kernel built with CONFIG_DEBUG_INFO_BTF=y.");
  }
  auto error =
      base::system_error(std::move(what), {}, error_number,
                         "The kernel must allow BPF (CONFIG_BPF_SYSCALL=y, no lockdown, and in a container the "
                         "capabilities CAP_BPF and CAP_PERFMON).");
  if (const std::string line = telling_line(log); !line.empty()) error.why += ": " + line;
  return error;
}

base::Status start_bpf(bpf_object_skeleton* skeleton, const std::string& what) {
  const BpfLog log;
  int error = bpf_object__load_skeleton(skeleton);
  if (error == 0) error = bpf_object__attach_skeleton(skeleton);
  if (error != 0) return explain_bpf(what, -error, log.text());
  return {};
}

base::Result<size_t> possible_cpus(const std::string& what) {
  const BpfLog log;
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return explain_bpf(what, -cpus, log.text());
  return static_cast<size_t>(cpus);
}

base::Result<std::unique_ptr<BpfRing>> BpfRing::open(int map_fd, OnRecord on_record) {
  const BpfLog log;
  std::unique_ptr<BpfRing> ring(new BpfRing);
  ring->on_record_ = std::move(on_record);
  const auto hand_over = [](void* context, void* data, size_t size) {
    static_cast<BpfRing*>(context)->on_record_(base::Bytes(static_cast<const std::byte*>(data), size));
    return 0;
  };
  ring->ring_ = ring_buffer__new(map_fd, hand_over, ring.get(), nullptr);
  if (ring->ring_ == nullptr) return explain_bpf("cannot read what a BPF program sends", errno, log.text());
  return ring;
}

BpfRing::~BpfRing() { ring_buffer__free(static_cast<ring_buffer*>(ring_)); }

int BpfRing::fd() const { return ring_buffer__epoll_fd(static_cast<ring_buffer*>(ring_)); }

// Consuming leaves the descriptor's readiness as it is, and polling sees records only that came with a wake-up.
void BpfRing::consume() {
  ring_buffer__consume(static_cast<ring_buffer*>(ring_));
  ring_buffer__poll(static_cast<ring_buffer*>(ring_), 0);
}

#else

BpfLog::BpfLog() = default;
BpfLog::~BpfLog() = default;
base::Error explain_bpf(std::string what, int, const std::string&) { return built_without_bpf(std::move(what)); }
base::Status start_bpf(bpf_object_skeleton*, const std::string& what) { return built_without_bpf(what); }
base::Result<size_t> possible_cpus(const std::string& what) { return built_without_bpf(what); }
base::Result<std::unique_ptr<BpfRing>> BpfRing::open(int, OnRecord) {
  return built_without_bpf("cannot read what a BPF program sends");
}
BpfRing::~BpfRing() = default;
int BpfRing::fd() const { return -1; }
void BpfRing::consume() {}

#endif

}  // namespace tephra::kernel
