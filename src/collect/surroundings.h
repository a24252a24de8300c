#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "collect/event_attr.h"
#include "collect/record_writer.h"
#include "collect/sample_writer.h"
#include "collect/stack_engine.h"
#include "collect/target.h"
#include "kernel/watching.h"

namespace tephra::collect {

// What a collector (collector.h) is told of the recording that it is part of.
struct Surroundings {
  const Target& target;
  pid_t program = 0;              // that was forked for us, and is watched from its exec on
  StackEngine* stacks = nullptr;  // where stacks are walked in the kernel
  const SampleSettings& sampling;
  std::vector<FileEvent> events;  // those of the recording

  // How a program in the kernel watches the same tasks and takes their stacks.
  kernel::WatchSettings watching() const;
  // Of an event by name; nothing where there is no such event.
  std::optional<SampleWriter> writer_of(std::string_view name) const;
  // Whose it is where nobody knows whose it was; 0: nobody's.
  pid_t usual_pid() const;
};

}  // namespace tephra::collect
