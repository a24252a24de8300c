#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "collect/features.h"
#include "collect/jit_sign.h"
#include "kernel/ring_buffer.h"

namespace tephra::collect {

// A task whose birth or end was recorded.
struct TaskIds {
  pid_t pid = 0;
  pid_t tid = 0;
  pid_t parent_tid = 0;
  uint64_t time = 0;
};

// What is counted while bytes pass from a ring to the file. Only record headers are read, and the few fields named
// here.
struct RecordCounts {
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t first_time = 0;  // of a sample; 0: none yet
  uint64_t last_time = 0;

  bool want_tasks = false;  // collect the next two
  std::vector<TaskIds> born;
  std::vector<TaskIds> ended;
  std::function<void(base::Bytes record)> on_mapping;  // told of mappings and forks; may be empty

  bool want_jit_signs = false;  // collect the next
  std::vector<JitSign> jit_signs;
};

// Adds the records of a ring's pending bytes to `counts`, and the code objects they name to `files`.
void scan_records(const kernel::Pending& pending, RecordCounts& counts, BuildIds& files);

}  // namespace tephra::collect
