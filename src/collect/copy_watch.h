#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collect/copy_sizes.h"
#include "collect/record_writer.h"
#include "collect/stack_ends.h"
#include "kernel/ring_buffer.h"
#include "stream/decoder.h"
#include "stream/recording.h"
#include "unwind/machine.h"

namespace tephra::collect {

// Looks at copies of stacks as they pass, without walking them: how far each stack goes beyond its copy.
class CopyWatch {
 public:
  CopyWatch(uint32_t first_bytes, StackEnds ends);

  // The events whose samples come; to be told again when there are more.
  void know(const std::vector<FileEvent>& events);
  // Records as they stand in a ring.
  void heard(const kernel::Pending& pending);

  CopySizes& sizes() { return sizes_; }
  const CopySizes& sizes() const { return sizes_; }

 private:
  void see(const stream::Record& record);

  CopySizes sizes_;
  StackEnds ends_;
  std::optional<unwind::Machine> machine_;
  stream::Recording layout_;  // the events alone
  std::optional<stream::Decoder> decoder_;
  std::vector<std::byte> wrapped_;  // a record that lies at both ends of a ring
};

}  // namespace tephra::collect
