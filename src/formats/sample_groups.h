#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_tape.h"
#include "base/json_writer.h"
#include "base/result.h"
#include "model/profile.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// The samples of one thread and event, as formats have them that keep threads apart and know one number a sample.
struct SampleGroup {
  model::ThreadId thread;
  model::EventId event;
  std::vector<uint32_t> rows;  // of Profile::samples; in the order of time where that is known, else as they are
  bool by_value = false;       // a sample's number is its value; else its count, which is the same or all there is
  bool valueless = false;      // all values of the event are zero
  uint64_t sum = 0;

  uint64_t weight(const model::Profile& profile, uint32_t row) const {
    return by_value ? profile.samples.value[row] : profile.samples.count[row];
  }
};

// By thread, then by event; none is empty.
std::vector<SampleGroup> sample_groups(const model::Profile& profile);

// The largest number that is read of a JSON format; beyond, files are damaged.
inline constexpr uint64_t kLargestNumber = 1'000'000'000'000'000'000;
// Fails where the numbers of groups exceed that, so that nothing is written that would not be read.
base::Status check_numbers(const model::Profile& profile, const std::vector<SampleGroup>& groups);

// What a group is called where one name is all: "python3 1200/1207 cpu-clock".
std::string name_of(const model::Profile& profile, const SampleGroup& group);

// What JSON formats have no place for, in a member that other readers pass over.
inline constexpr std::string_view kOriginMember = "tephra";

// Whose samples a group holds and what was counted, as an object.
void write_origin(base::JsonWriter& json, const model::Profile& profile, const SampleGroup& group);

// The same, read back.
struct SampleOrigin {
  model::EventId event;
  model::ThreadId thread;
  bool by_value = false;
  bool valueless = false;
  base::Json counts;  // how many samples each row stands for; null: 1 each

  // What write_origin wrote; nothing where `json` is not that.
  static std::optional<SampleOrigin> read(const base::Json& json, model::ProfileAssembler& assembler);
};

// The comments of a profile, its verdict among them, and how long was recorded, as an object; and read back, where that
// is an object.
void write_facts(base::JsonWriter& json, const model::Profile& profile);
void read_facts(const base::Json& json, model::RecordingFacts& facts);

}  // namespace tephra::formats
