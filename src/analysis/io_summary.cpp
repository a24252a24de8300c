#include "analysis/io_summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/telling_frames.h"
#include "stream/io_events.h"

namespace tephra::analysis {
namespace {

using Part = IoSummary::Part;
using Place = IoSummary::Place;
using Row = IoSummary::Row;
using Sums = IoSummary::Sums;

enum class Measure : uint8_t { kOther, kRequestTime, kRequestBytes, kCallTime, kCallBytes };

constexpr bool is_time(Measure measure) { return measure == Measure::kRequestTime || measure == Measure::kCallTime; }
constexpr bool is_request(Measure measure) {
  return measure == Measure::kRequestTime || measure == Measure::kRequestBytes;
}

Measure measure_of(std::string_view event) {
  if (event == stream::kBlockTimeEvent) return Measure::kRequestTime;
  if (event == stream::kBlockBytesEvent) return Measure::kRequestBytes;
  if (event == stream::kFileTimeEvent) return Measure::kCallTime;
  if (event == stream::kFileBytesEvent) return Measure::kCallBytes;
  return Measure::kOther;
}

// What the labels of a sample say; views into the profile.
struct Told {
  std::string_view device;
  std::string_view operation;
  uint64_t longest = 0;
  bool failed = false;
  bool open = false;
};

Told told_by(const model::Profile& profile, model::LabelSetId set) {
  Told told;
  for (const model::Label& label : profile.label_sets[set].labels) {
    const std::string_view key = profile.text(label.key);
    const std::string_view text = profile.text(label.text);
    if (key == stream::kDeviceLabel) told.device = text;
    if (key == stream::kOperationLabel) told.operation = text;
    if (key == stream::kLongestLabel) told.longest = static_cast<uint64_t>(label.number);
    if (key == stream::kErrorLabel) told.failed = true;
    if (key == stream::kIoOpenLabel) told.open = true;
  }
  return told;
}

// The same requests are told by time and by bytes: they are counted with their bytes, which are known in any case.
void add(Sums& sums, bool time, uint64_t value, uint64_t count) {
  if (time) {
    sums.nanoseconds += value;
  } else {
    sums.bytes += value;
    sums.count += count;
  }
}

bool more(const Sums& a, const Sums& b) {
  return std::tie(a.nanoseconds, a.bytes, a.count) > std::tie(b.nanoseconds, b.bytes, b.count);
}

// Sums up one half of a profile.
class PartBuilder {
 public:
  explicit PartBuilder(const model::Profile& profile) : profile_(profile) {}

  void add_sample(size_t at, bool time, model::FrameId frame) {
    const model::Samples& samples = profile_.samples;
    const Told told = samples.labels.empty() ? Told{} : told_by(profile_, samples.labels[at]);
    const uint64_t value = samples.value[at];
    const uint64_t count = samples.count[at];
    part_.timed = part_.timed || time;
    add(part_.all, time, value, count);
    Row& row = rows_[{told.device, told.operation}];
    add(row.sums, time, value, count);
    if (time) row.longest = std::max(row.longest, told.longest);
    if (!time && told.failed) row.failed += count;
    if (!time && told.open) row.open += count;
    add(place_of(told.operation, frame, samples.thread[at]).sums, time, value, count);
  }

  Part finish(size_t limit) && {
    for (auto& [key, row] : rows_) {
      std::tie(row.device, row.operation) = key;
      part_.rows.push_back(row);
    }
    for (auto& [key, place] : places_) part_.places.push_back(place);
    std::ranges::stable_sort(part_.rows, [](const Row& a, const Row& b) { return more(a.sums, b.sums); });
    std::ranges::stable_sort(part_.places, [](const Place& a, const Place& b) { return more(a.sums, b.sums); });
    part_.places.resize(std::min(part_.places.size(), limit));
    return std::move(part_);
  }

 private:
  // Work that threads of the kernel do is all done in the same few functions: their names tell more.
  std::string_view name_of(model::FrameId frame, model::ThreadId thread) const {
    if (!profile_.in_kernel(frame)) return profile_.function_name(frame);
    const std::string_view name = profile_.text(profile_.threads[thread].comm);
    return name.starts_with("kworker/") ? name.substr(0, name.find('/')) : name;
  }

  Place& place_of(std::string_view operation, model::FrameId frame, model::ThreadId thread) {
    Place place{.operation = operation, .function = {}, .module = {}, .sums = {}};
    if (frame) {
      place.function = name_of(frame, thread);
      place.module = profile_.text(profile_.mappings[profile_.frames[frame].mapping].path);
    }
    return places_.try_emplace({operation, place.function, place.module}, place).first->second;
  }

  const model::Profile& profile_;
  Part part_;
  std::map<std::tuple<std::string_view, std::string_view>, Row> rows_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Place> places_;
};

}  // namespace

IoSummary io_summary(const model::Profile& profile, size_t limit) {
  std::vector<Measure> measures;
  for (const model::Event& event : profile.events) measures.push_back(measure_of(profile.text(event.name)));
  const std::vector<model::FrameId> frames = telling_frames(profile);
  PartBuilder requests(profile);
  PartBuilder calls(profile);
  for (size_t at = 0; at < profile.samples.size(); ++at) {
    const Measure measure = measures[profile.samples.event[at].value];
    if (measure == Measure::kOther) continue;
    PartBuilder& part = is_request(measure) ? requests : calls;
    part.add_sample(at, is_time(measure), frames[profile.samples.stack[at].value]);
  }
  return {std::move(requests).finish(limit), std::move(calls).finish(limit)};
}

}  // namespace tephra::analysis
