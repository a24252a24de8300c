#include "model/profile_assembler.h"

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
  const uint64_t key = static_cast<uint64_t>(parent.value) << 32 | frame.value;
  const auto [at, fresh] = stack_index_.try_emplace(key);
  if (fresh) at->second = profile_.stacks.add(Stack{parent, frame});
  return at->second;
}

EventId ProfileAssembler::event(const Event& row) {
  return intern(profile_.events, event_index_, hash_words({row.name.value, row.unit.value}), row);
}

ThreadId ProfileAssembler::thread(const Thread& row) {
  const uint64_t hash = hash_words({static_cast<uint64_t>(row.pid), static_cast<uint64_t>(row.tid), row.comm.value});
  return intern(profile_.threads, thread_index_, hash, row);
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
}

Profile ProfileAssembler::finish() && { return std::move(profile_); }

}  // namespace tephra::model
