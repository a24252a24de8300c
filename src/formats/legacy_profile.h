#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "formats/memory_map.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// Functions that measure rather than work, as the regular expressions that profiles carry for pprof.
extern const std::string_view kAllocatorFrames;
extern const std::string_view kAllocatorFramesToKeep;
extern const std::string_view kLockFrames;
extern const std::string_view kProfilerFrames;

// Collects the samples of a format that knows addresses and, at its end, what was mapped where.
class LegacyProfile {
 public:
  explicit LegacyProfile(std::string_view format);

  // What a stack's first address is; the others are return addresses. kPlaces: none is an address, but a number that
  // the file explains.
  enum class Leaf { kInstruction, kCall, kPlaces };
  struct Amount {
    uint64_t count = 0;
    uint64_t value = 0;
  };

  // A type of value with what counts it: "inuse_space", "bytes", "inuse_objects". Without the latter the value is the
  // count.
  void add_event(std::string_view name, std::string_view unit, std::string_view counted = {});
  // Addresses are leaf first; there is an amount for each event.
  void add_sample(std::span<const uint64_t> addresses, Leaf leaf, std::span<const Amount> amounts,
                  std::vector<model::Label> labels = {});
  // Repeats the sample before; nothing where there is none.
  void repeat_sample();
  bool empty() const { return samples_.empty(); }

  // What the file says an address is, where it does: the innermost of inlined functions first. `address` is one in the
  // call, not the one it returns to.
  void add_name(uint64_t address, std::string_view function, std::string_view file, uint32_t line);
  // "#	0x401234	main.work+0x14	/src/main.go:42", as Go writes below a stack; other comments are ignored.
  void add_name_comment(std::string_view comment);

  model::Label text_label(std::string_view key, std::string_view text);
  model::Label number_label(std::string_view key, int64_t number);
  model::RecordingFacts& facts() { return assembler_.facts(); }
  model::Quality& quality() { return assembler_.quality(); }

  model::Profile finish(std::vector<MappedRange> ranges) &&;

 private:
  struct Sample {
    size_t first_address = 0;
    size_t address_count = 0;
    Leaf leaf = Leaf::kInstruction;
    uint64_t times = 1;
    size_t first_amount = 0;
    model::LabelSetId labels;
  };
  struct Name {
    model::FunctionId function;
    model::StringId file;
    uint32_t line = 0;
  };
  class Places;

  std::vector<model::FrameId> frames_at(const Places& places, uint64_t address, model::AddressKind kind);
  model::StackId stack_of(const Places& places, const Sample& sample);
  void add_rows(const Sample& sample, model::StackId stack);

  model::ProfileAssembler assembler_;
  model::ThreadId thread_;
  std::vector<model::EventId> events_;
  std::vector<Sample> samples_;
  std::vector<uint64_t> addresses_;
  std::vector<Amount> amounts_;
  std::unordered_map<uint64_t, std::vector<Name>, base::NumberHash> names_;
  // By address and kind: the frames there, outer before inner.
  std::unordered_map<uint64_t, std::vector<model::FrameId>, base::NumberHash> frames_[2];
};

}  // namespace tephra::formats
