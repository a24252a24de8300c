#include "collect/copy_watch.h"

#include <sys/utsname.h>

#include <utility>

#include "formats/perf_data_features.h"
#include "kernel/perf_event.h"
#include "unwind/leaf_registers.h"

namespace tephra::collect {
namespace {

std::optional<unwind::Machine> this_machine() {
  utsname names{};
  return ::uname(&names) == 0 ? unwind::machine_named(names.machine) : std::nullopt;
}

// The record at `offset`; copied to `room` where the ring's end splits it.
base::Bytes record_bytes(const kernel::Pending& pending, size_t offset, size_t size, std::vector<std::byte>& room) {
  const base::Bytes& first = pending.parts[0];
  if (offset + size <= first.size()) return first.subspan(offset, size);
  if (offset >= first.size()) return pending.parts[1].subspan(offset - first.size(), size);
  room.resize(size);
  pending.copy(offset, room.data(), size);
  return room;
}

}  // namespace

CopyWatch::CopyWatch(uint32_t first_bytes, StackEnds ends)
    : sizes_(first_bytes), ends_(std::move(ends)), machine_(this_machine()) {}

void CopyWatch::know(const std::vector<FileEvent>& events) {
  decoder_.reset();
  layout_.events.clear();
  for (const FileEvent& event : events) {
    const base::Bytes attr(reinterpret_cast<const std::byte*>(&event.attr), kernel::kAttrSize);
    layout_.events.push_back({event.name, formats::read_attribute(attr), event.ids});
  }
  decoder_.emplace(layout_);
}

void CopyWatch::heard(const kernel::Pending& pending) {
  if (!decoder_ || !machine_) return;
  for (size_t offset = 0, size = 0; (size = pending.record_size(offset)) > 0; offset += size) {
    const uint64_t header = pending.word(offset);
    if (static_cast<uint32_t>(header) != PERF_RECORD_SAMPLE) continue;
    see({PERF_RECORD_SAMPLE, static_cast<uint16_t>(header >> 32), record_bytes(pending, offset, size, wrapped_)});
  }
}

void CopyWatch::see(const stream::Record& record) {
  stream::Sample sample;
  if (!decoder_->decode_sample(record, sample) || sample.user_stack_room == 0) return;
  const uint64_t mask = layout_.events[sample.origin.event].layout.sample_regs_user;
  const stream::RawStack raw{sample.user_registers_abi, mask, sample.user_registers, sample.user_stack};
  const auto stack_pointer = unwind::stack_pointer(*machine_, raw);
  StackCopy copy{sample.user_stack_room, sample.user_stack.size(), {}};
  if (stack_pointer) {
    const auto end = ends_.end_of(sample.origin.pid, *stack_pointer, sample.origin.time);
    if (end) copy.needed = *end - *stack_pointer;
  }
  sizes_.saw(copy);
}

}  // namespace tephra::collect
