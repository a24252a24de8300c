#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

struct bpf_object_skeleton;

namespace tephra::kernel {

// What every BPF program of ours needs of libbpf. A program's own class (run_queue_program.h) has its skeleton.

// The error of a build without BPF.
base::Error built_without_bpf(std::string what);

// Collects what libbpf says in this thread while it lives, instead of its printing it.
class BpfLog {
 public:
  BpfLog();
  ~BpfLog();
  BpfLog(const BpfLog&) = delete;
  BpfLog& operator=(const BpfLog&) = delete;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Loads and attaches the programs of an opened skeleton. Where the kernel still counts BPF memory against
// RLIMIT_MEMLOCK, libbpf raises that limit. `what` begins the error: "cannot watch the scheduler".
base::Status start_bpf(bpf_object_skeleton* skeleton, const std::string& what);

// Why BPF programs cannot be loaded, from the errno and what libbpf said, with what to do about it.
base::Error explain_bpf(std::string what, int error_number, const std::string& log);

// How many CPUs there may be, for each of which a map by CPU (BPF_MAP_TYPE_PERCPU_…) has a value. The kernel copies that
// many whatever room there is for them, so a number that cannot be read must never become a guess.
base::Result<size_t> possible_cpus(const std::string& what);

// The consumer of a ring of records (BPF_MAP_TYPE_RINGBUF).
class BpfRing {
 public:
  using OnRecord = std::function<void(base::Bytes)>;
  static base::Result<std::unique_ptr<BpfRing>> open(int map_fd, OnRecord on_record);
  ~BpfRing();
  BpfRing(const BpfRing&) = delete;
  BpfRing& operator=(const BpfRing&) = delete;

  // Readable when records wait.
  int fd() const;
  // Hands over the records that wait, without waiting for more.
  void consume();

 private:
  BpfRing() = default;
  void* ring_ = nullptr;
  OnRecord on_record_;
};

}  // namespace tephra::kernel
