#include "model/profile_assembler.h"

#include <algorithm>

#include "base/huge_pages.h"

namespace tephra::model {
namespace {

uint64_t hash_words(std::initializer_list<uint64_t> words) {
  uint64_t hash = 0;
  for (const uint64_t word : words) hash = base::mix(hash, word);
  return hash;
}

// Where a stack may be in the table of stacks. Those of parents that were made one after the other come close together,
// since deep stacks are made row by row: a few places there are tried first, so that most of them are in the
// processor's cache. Where a parent has more children, they are wherever parent and frame say. Nothing is ever removed,
// so a free place ends each search.
class StackPlaces {
 public:
  StackPlaces(StackId parent, FrameId frame, size_t slots)
      : mask_(slots - 1), far_(base::mix(parent.value, frame.value)) {
    const size_t block = (base::mix(parent.value / kParents, 0) * kBlock) & mask_;
    near_ = block;
    at_ = (parent.value % kParents) * (kBlock / kParents);
  }

  size_t next() {
    if (tried_ < kNear) return near_ + (at_ + tried_++) % kBlock;
    return far_++ & mask_;
  }

 private:
  static constexpr size_t kParents = 16;  // whose children share a block
  static constexpr size_t kBlock = 32;
  static constexpr size_t kNear = 6;

  size_t mask_;
  size_t far_;
  size_t near_;
  size_t at_;
  size_t tried_ = 0;
};

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
  // A stack that was just made is nobody's parent yet, so what is asked for is new: nothing needs to be compared.
  const bool is_new = parent && parent.value + 1 == profile_.stacks.size();
  StackPlaces places(parent, frame, stack_slots_.size());
  while (true) {
    uint32_t& slot = stack_slots_[places.next()];
    if (slot == 0) {
      const StackId added = profile_.stacks.add(Stack{parent, frame});
      slot = added.value;
      return added;
    }
    if (is_new) continue;
    const StackId known{slot};
    if (profile_.stacks[known].parent == parent && profile_.stacks[known].frame == frame) return known;
  }
}

void ProfileAssembler::grow_stack_slots() {
  size_t size = 1024;
  while (size < profile_.stacks.size() * 8) size *= 2;  // moving all of them is what takes time
  std::vector<uint32_t>().swap(stack_slots_);
  stack_slots_.reserve(size);
  base::prefer_huge_pages(stack_slots_.data(), size * sizeof(uint32_t));
  stack_slots_.resize(size);
  for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
    const Stack& row = profile_.stacks[StackId{i}];
    StackPlaces places(row.parent, row.frame, size);
    size_t slot = places.next();
    while (stack_slots_[slot] != 0) slot = places.next();
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
