#include "model/profile_assembler.h"

#include <algorithm>

namespace tephra::model {
namespace {

uint64_t hash_words(std::initializer_list<uint64_t> words) {
  uint64_t hash = 0;
  for (const uint64_t word : words) hash = base::mix(hash, word);
  return hash;
}

}  // namespace

ProfileAssembler::ProfileAssembler() {
  mapping(Mapping{});
  function(Function{});
  frame(Frame{});
  profile_.stacks.add(Stack{});
  labels({});
}

template <class Row, class RowId>
RowId ProfileAssembler::intern(Table<Row, RowId>& table, std::unordered_multimap<uint64_t, RowId>& index, uint64_t hash,
                               const Row& row) {
  const auto [begin, end] = index.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (table[at->second] == row) return at->second;
  }
  const RowId id = table.add(row);
  index.emplace(hash, id);
  return id;
}

MappingId ProfileAssembler::mapping(const Mapping& row) {
  const uint64_t hash = hash_words({row.path.value, row.file.inode, row.file.device, row.base,
                                    static_cast<uint64_t>(row.pid), static_cast<uint64_t>(row.kind)});
  return intern(profile_.mappings, mapping_index_, base::hash_bytes(row.build_id.bytes(), hash), row);
}

FunctionId ProfileAssembler::function(const Function& row) {
  return intern(profile_.functions, function_index_, hash_words({row.name.value, row.system_name.value, row.named}),
                row);
}

FrameId ProfileAssembler::frame(const Frame& row) {
  const uint64_t hash =
      hash_words({row.mapping.value, row.address, row.function.value, row.line, row.file.value,
                  static_cast<uint64_t>(row.kind) | static_cast<uint64_t>(row.inlined) << 8 | row.facts << 16});
  return intern(profile_.frames, frame_index_, hash, row);
}

StackId ProfileAssembler::stack(StackId parent, FrameId frame) {
  // The slots are kept half empty at least. Row 0 is in none.
  if (profile_.stacks.size() * 2 >= stack_slots_.size()) grow_stack_slots();
  const size_t mask = stack_slots_.size() - 1;
  for (size_t slot = base::mix(parent.value, frame.value) & mask;; slot = (slot + 1) & mask) {
    if (stack_slots_[slot] == 0) {
      const StackId added = profile_.stacks.add(Stack{parent, frame});
      stack_slots_[slot] = added.value;
      return added;
    }
    const StackId known{stack_slots_[slot]};
    if (profile_.stacks[known].parent == parent && profile_.stacks[known].frame == frame) return known;
  }
}

void ProfileAssembler::grow_stack_slots() {
  size_t size = 1024;
  while (size < profile_.stacks.size() * 4) size *= 2;
  stack_slots_.assign(size, 0);
  for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
    const Stack& row = profile_.stacks[StackId{i}];
    size_t slot = base::mix(row.parent.value, row.frame.value) & (size - 1);
    while (stack_slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    stack_slots_[slot] = i;
  }
}

EventId ProfileAssembler::event(const Event& row) {
  return intern(profile_.events, event_index_,
                hash_words({row.name.value, row.unit.value, row.counted.value, row.uncounted}), row);
}

ThreadId ProfileAssembler::thread(const Thread& row) {
  const uint64_t hash = hash_words({static_cast<uint64_t>(row.pid), static_cast<uint64_t>(row.tid), row.comm.value});
  return intern(profile_.threads, thread_index_, hash, row);
}

LabelSetId ProfileAssembler::labels(std::vector<Label> labels) {
  std::sort(labels.begin(), labels.end());
  uint64_t hash = 0;
  for (const Label& label : labels) {
    hash = hash_words({hash, label.key.value, label.text.value, static_cast<uint64_t>(label.number), label.unit.value});
  }
  return intern(profile_.label_sets, label_index_, hash, {std::move(labels)});
}

void ProfileAssembler::sample(const Sample& row) {
  Samples& samples = profile_.samples;
  samples.stack.push_back(row.stack);
  samples.event.push_back(row.event);
  samples.thread.push_back(row.thread);
  samples.count.push_back(row.count);
  samples.value.push_back(row.value);
  if (row.time) samples.time.push_back(*row.time);
  if (row.cpu) samples.cpu.push_back(*row.cpu);
  if (row.walk_end) samples.walk_end.push_back(*row.walk_end);
  // The column is there from the first sample with labels on.
  if (row.labels || !samples.labels.empty()) {
    samples.labels.resize(samples.size());
    samples.labels.back() = row.labels;
  }
}

Profile ProfileAssembler::finish() && { return std::move(profile_); }

}  // namespace tephra::model
