#include "analysis/resident_memory.h"

#include <algorithm>
#include <map>

namespace tephra::analysis {
namespace {

// What the labels of a sample say; views into the profile.
struct Told {
  std::string_view name;
  bool labelled = false;
  bool major = false;
  bool size_unknown = false;
};

Told told_by(const model::Profile& profile, model::LabelSetId set) {
  Told told;
  for (const model::Label& label : profile.label_sets[set].labels) {
    const std::string_view key = profile.text(label.key);
    const std::string_view text = profile.text(label.text);
    if (key == "class") told = {text, true, told.major, told.size_unknown};
    if (key == "fault") told.major = text == "major";
    if (key == "page") told.size_unknown = true;
  }
  return told;
}

void add(ResidentMemory::Row& row, uint64_t bytes, uint64_t faults, bool major) {
  row.bytes += bytes;
  row.faults += faults;
  if (major) row.major += faults;
}

}  // namespace

ResidentMemory resident_memory(const model::Profile& profile) {
  ResidentMemory memory;
  const model::Samples& samples = profile.samples;
  if (samples.labels.empty()) return memory;
  std::map<std::string_view, ResidentMemory::Row> rows;
  bool labelled = false;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Told told = told_by(profile, samples.labels[i]);
    labelled = labelled || told.labelled;
    add(rows[told.name], samples.value[i], samples.count[i], told.major);
    add(memory.all, samples.value[i], samples.count[i], told.major);
    if (told.size_unknown) memory.size_unknown += samples.count[i];
  }
  if (!labelled) return {};
  for (auto& [name, row] : rows) {
    row.name = std::string(name);
    memory.rows.push_back(std::move(row));
  }
  std::stable_sort(memory.rows.begin(), memory.rows.end(), [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.faults > b.faults;
  });
  return memory;
}

}  // namespace tephra::analysis
