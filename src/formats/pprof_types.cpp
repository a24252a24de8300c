#include "formats/pprof_types.h"

#include <algorithm>
#include <set>

#include "formats/pprof_fields.h"
#include "model/event_units.h"
#include "model/shown_event.h"

namespace tephra::formats::pprof {
namespace {

using model::Profile;

constexpr std::string_view kOwnSamples = "_samples";  // behind the name of an event whose samples are counted

// What the samples of an event are known to hold.
struct Use {
  bool sampled = false;
  bool valued = false;  // numbers beside the count of its samples
};

std::vector<Use> uses(const Profile& profile) {
  std::vector<Use> uses(profile.events.size());
  const model::Samples& samples = profile.samples;
  for (size_t row = 0; row < samples.size(); ++row) {
    Use& use = uses[samples.event[row].value];
    use.sampled = true;
    use.valued = use.valued || samples.value[row] != samples.count[row];
  }
  return uses;
}

std::string_view spelled(std::string_view unit) {
  for (const auto& [ours, theirs] : kUnits) {
    if (unit == ours) return theirs;
  }
  return unit == kSamples ? model::kCountUnit : unit;
}

// A name that none of `taken` is, which it joins then.
std::string own_name(const std::string& name, std::set<std::string>& taken) {
  std::string own = name;
  for (size_t number = 2; !taken.insert(own).second; ++number) own = name + "#" + std::to_string(number);
  return own;
}

}  // namespace

bool counts_samples_of(std::string_view name, std::string_view measured) {
  if (name == kSamples) return true;
  return name.size() == measured.size() + kOwnSamples.size() && name.starts_with(measured) &&
         name.ends_with(kOwnSamples);
}

bool is_pair(std::span<const NamedType> types, size_t index) {
  const auto counts = [&](size_t at) { return types[at].unit == model::kCountUnit; };
  return index + 1 < types.size() && counts(index) &&
         (!counts(index + 1) || counts_samples_of(types[index].name, types[index + 1].name));
}

WrittenTypes::WrittenTypes(const Profile& profile)
    : profile_(profile), written_(written_events()), places_(profile.events.size()) {
  name_counts();
  list_types();
  if (are_told_apart()) return;
  // Behind numbers that count nothing but themselves, none may stand that they would be taken to count.
  std::ranges::stable_sort(written_, {}, [](const Written& row) {
    if ((row.count && row.value) || row.unit != model::kCountUnit) return 0;
    const std::string& name = name_of(row);
    return name == kSamples ? 3 : name.ends_with(kOwnSamples) ? 2 : 1;
  });
  list_types();
}

// Events of recordings without samples are of no use; what a profile names is part of it.
std::vector<WrittenTypes::Written> WrittenTypes::written_events() const {
  const std::vector<Use> used = uses(profile_);
  const bool keep_all = profile_.facts.engine == model::kEngineImported;
  std::set<std::string> taken;
  std::vector<Written> written;
  model::for_each_id(profile_.events, [&](model::EventId id) {
    if (!used[id.value].sampled && !keep_all) return;
    const model::Event& event = profile_.events[id];
    const std::string name = own_name(std::string(profile_.text(event.name)), taken);
    const std::string_view unit = profile_.text(event.unit);
    const bool counts_itself = !event.counted || event.counted == event.name;
    const bool only_counts = !event.uncounted && counts_itself && !used[id.value].valued &&
                             (unit == model::kCountUnit || unit == kSamples || unit.empty());
    if (only_counts) written.push_back({id, name, std::nullopt, model::kCountUnit});
    if (!only_counts) written.push_back({id, std::nullopt, name, spelled(unit)});
  });
  return written;
}

// What counts beside a value is called by what it counts, and by its event too where another is called so.
void WrittenTypes::name_counts() {
  std::set<std::string> taken;
  for (const Written& row : written_) taken.insert(name_of(row));
  for (Written& row : written_) {
    const model::Event& event = profile_.events[row.event];
    if (event.uncounted || row.count) continue;
    const std::string counted(event.counted ? profile_.text(event.counted) : kSamples);
    row.count = own_name(taken.contains(counted) ? *row.value + "_" + counted : counted, taken);
  }
}

void WrittenTypes::list_types() {
  types_.clear();
  const auto add = [&](const std::optional<std::string>& name, std::string_view unit) {
    if (!name) return -1;
    types_.push_back({*name, unit});
    return static_cast<int>(types_.size() - 1);
  };
  for (const Written& row : written_) {
    const int count = add(row.count, model::kCountUnit);
    places_[row.event.value] = {count, add(row.value, row.unit)};
  }
}

bool WrittenTypes::are_told_apart() const {
  size_t at = 0;
  return std::ranges::all_of(written_, [&](const Written& row) {
    const bool pair = row.count && row.value;
    const bool as_meant = is_pair(types_, at) == pair;
    at += pair ? 2 : 1;
    return as_meant;
  });
}

std::string_view WrittenTypes::shown() const {
  const auto named = std::ranges::find(types_, profile_.facts.default_event, &NamedType::name);
  if (named != types_.end()) return named->name;
  const auto event = model::shown_event(profile_);
  if (!event) return {};
  const Places places = places_[event->value];
  return types_[static_cast<size_t>(places.value >= 0 ? places.value : places.count)].name;
}

}  // namespace tephra::formats::pprof
