#include "formats/joined_samples.h"

#include <algorithm>

namespace tephra::formats {

uint32_t& JoinedSamples::slot_of(const Row& row) {
  const size_t mask = slots_.size() - 1;
  const uint64_t who = uint64_t{row.thread.value} << 32 | row.event.value;
  for (size_t at = base::mix(row.stack.value ^ seed_, who ^ seed_);; ++at) {
    uint32_t& slot = slots_[at & mask];
    if (slot == 0) return slot;
    const Row& known = rows_[slot - 1];
    if (known.stack == row.stack && known.event == row.event && known.thread == row.thread) return slot;
  }
}

void JoinedSamples::grow() {
  constexpr size_t kSmallest = 1024;
  const size_t size = std::max(kSmallest, slots_.size() * 2);
  slots_.assign(size, 0);
  for (size_t i = 0; i < rows_.size(); ++i) slot_of(rows_[i]) = static_cast<uint32_t>(i + 1);
}

void JoinedSamples::add(const model::ProfileAssembler::Sample& sample) {
  if (rows_.size() * 2 >= slots_.size()) grow();
  const Row row{sample.stack, sample.event, sample.thread, sample.count, sample.value};
  uint32_t& slot = slot_of(row);
  uint64_t count = 0;
  uint64_t value = 0;
  // Sums that are too large are for whoever reads the profile to refuse.
  if (slot != 0 && !__builtin_add_overflow(rows_[slot - 1].count, row.count, &count) &&
      !__builtin_add_overflow(rows_[slot - 1].value, row.value, &value)) {
    rows_[slot - 1].count = count;
    rows_[slot - 1].value = value;
    return;
  }
  rows_.push_back(row);
  slot = static_cast<uint32_t>(rows_.size());
}

void JoinedSamples::move_to(model::ProfileAssembler& assembler) {
  std::vector<uint32_t>().swap(slots_);
  for (const Row& row : rows_) {
    assembler.sample(
        {.stack = row.stack, .event = row.event, .thread = row.thread, .count = row.count, .value = row.value});
  }
  std::vector<Row>().swap(rows_);
}

}  // namespace tephra::formats
