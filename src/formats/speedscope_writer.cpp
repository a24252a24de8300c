#include "formats/speedscope_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/json_writer.h"
#include "formats/sample_groups.h"
#include "model/shown_event.h"

namespace tephra::formats {
namespace {

using base::JsonWriter;
using model::Profile;

std::string_view unit_of(std::string_view unit) {
  if (unit == "ns") return "nanoseconds";
  for (const std::string_view known : {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}) {
    if (unit == known) return known;
  }
  return "none";
}

class Writer {
 public:
  explicit Writer(const Profile& profile)
      : profile_(profile), groups_(sample_groups(profile)), numbers_(profile.frames.size(), kNone) {}

  base::Result<std::string> write() && {
    TEPHRA_CHECK_OK(check_numbers(profile_, groups_));
    number_frames();
    std::string text;
    JsonWriter json(text);
    json.begin_object().member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json.member("exporter", "tephra@" TEPHRA_VERSION).member("name", title());
    if (!groups_.empty()) json.member("activeProfileIndex", first_shown());
    json.key(kOriginMember);
    write_facts(json, profile_);
    json.key("shared").begin_object().key("frames").begin_array();
    for (const model::FrameId frame : frames_) write_frame(json, frame);
    json.end_array().end_object().key("profiles").begin_array();
    for (const SampleGroup& group : groups_) write_group(json, group);
    json.end_array().end_object();
    return text;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::string title() const {
    const model::RecordingFacts& facts = profile_.facts;
    return facts.command_line.empty() ? facts.format : facts.command_line;
  }

  // The largest of the event that is shown first.
  size_t first_shown() const {
    const auto event = model::shown_event(profile_);
    size_t best = groups_.size();
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].event != event) continue;
      if (best == groups_.size() || groups_[i].sum > groups_[best].sum) best = i;
    }
    return best;
  }

  // A frame there is a function: those that differ in address or line alone are one, or they would be drawn apart.
  void number_frames() {
    std::map<std::pair<model::FunctionId, model::StringId>, uint32_t> known;
    for (uint32_t i = 1; i < profile_.frames.size(); ++i) {
      const model::FrameId id{i};
      const model::Frame& frame = profile_.frames[id];
      if (!frame.function) {
        numbers_[i] = add(id);
        continue;
      }
      const auto [at, fresh] = known.try_emplace({frame.function, frame.file}, 0);
      if (fresh) at->second = add(id);
      numbers_[i] = at->second;
    }
  }

  uint32_t add(model::FrameId frame) {
    frames_.push_back(frame);
    return static_cast<uint32_t>(frames_.size() - 1);
  }

  void write_frame(JsonWriter& json, model::FrameId id) const {
    const model::Frame& frame = profile_.frames[id];
    const model::Function& function = profile_.functions[frame.function];
    const std::string_view name = profile_.text(function.name);
    json.begin_object().member("name", name.empty() ? fmt::format("0x{:x}", frame.address) : std::string(name));
    if (frame.file) json.member("file", profile_.text(frame.file));
    if (function.start_line != 0) json.member("line", function.start_line);
    json.end_object();
  }

  void write_group(JsonWriter& json, const SampleGroup& group) {
    const std::string_view unit = group.by_value ? unit_of(profile_.text(profile_.events[group.event].unit)) : "none";
    json.begin_object().member("type", "sampled").member("name", name_of(profile_, group)).member("unit", unit);
    json.member("startValue", 0).member("endValue", group.sum).key(kOriginMember);
    write_origin(json, profile_, group);
    json.key("samples").begin_array();
    for (const uint32_t row : group.rows) write_stack(json, profile_.samples.stack[row]);
    json.end_array().key("weights").begin_array();
    for (const uint32_t row : group.rows) json.value(group.weight(profile_, row));
    json.end_array().end_object();
  }

  void write_stack(JsonWriter& json, model::StackId stack) {
    path_.clear();
    for (; stack; stack = profile_.stacks[stack].parent) path_.push_back(numbers_[profile_.stacks[stack].frame.value]);
    json.begin_array();
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) json.value(*at);
    json.end_array();
  }

  const Profile& profile_;
  const std::vector<SampleGroup> groups_;
  std::vector<uint32_t> numbers_;  // by frame of the profile: which of frames_ stands for it
  std::vector<model::FrameId> frames_;
  std::vector<uint32_t> path_;
};

}  // namespace

base::Result<std::string> write_speedscope(const Profile& profile) { return Writer(profile).write(); }

}  // namespace tephra::formats
