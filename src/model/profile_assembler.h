#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "model/profile.h"

namespace tephra::model {

// Builds a Profile row by row; equal rows get one id. Not thread-safe. After finish() the assembler is spent.
class ProfileAssembler {
 public:
  ProfileAssembler();

  StringId string(std::string_view text) { return profile_.strings.add(text); }
  MappingId mapping(const Mapping& row);
  FunctionId function(const Function& row);
  FrameId frame(const Frame& row);
  // `parent` must be a stack of this assembler; StackId{} is the empty stack.
  StackId stack(StackId parent, FrameId frame);
  EventId event(const Event& row);
  ThreadId thread(const Thread& row);
  // In any order.
  LabelSetId labels(std::vector<Label> labels);

  struct Sample {
    StackId stack;
    EventId event;
    ThreadId thread;
    uint64_t count = 1;
    uint64_t value = 0;
    std::optional<uint64_t> time;     // kept for all samples or for none
    std::optional<int32_t> cpu;       // likewise
    std::optional<uint8_t> walk_end;  // likewise
    LabelSetId labels;
  };
  // Appends a row; the caller merges equal samples where that matters.
  void sample(const Sample& row);

  Quality& quality() { return profile_.quality; }
  RecordingFacts& facts() { return profile_.facts; }
  // What was built so far.
  const Profile& so_far() const { return profile_; }

  Profile finish() &&;

 private:
  template <class Row, class RowId>
  RowId intern(Table<Row, RowId>& table, std::unordered_multimap<uint64_t, RowId>& index, uint64_t hash,
               const Row& row);

  void grow_stack_slots();

  Profile profile_;
  std::unordered_multimap<uint64_t, MappingId> mapping_index_;
  std::unordered_multimap<uint64_t, FunctionId> function_index_;
  std::unordered_multimap<uint64_t, FrameId> frame_index_;
  std::vector<uint32_t> stack_slots_;  // stacks by parent and frame: open addressing, 0 is free
  std::unordered_multimap<uint64_t, EventId> event_index_;
  std::unordered_multimap<uint64_t, ThreadId> thread_index_;
  std::unordered_multimap<uint64_t, LabelSetId> label_index_;
};

}  // namespace tephra::model
