#include "model/kept_samples.h"

namespace tephra::model {
namespace {

template <class Value>
void keep(const std::vector<char>& kept, std::vector<Value>& column) {
  if (column.empty()) return;
  size_t to = 0;
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row] != 0) column[to++] = column[row];
  }
  column.resize(to);
}

}  // namespace

void keep_samples(const std::vector<char>& kept, Samples& samples) {
  keep(kept, samples.stack);
  keep(kept, samples.event);
  keep(kept, samples.thread);
  keep(kept, samples.count);
  keep(kept, samples.value);
  keep(kept, samples.time);
  keep(kept, samples.cpu);
  keep(kept, samples.labels);
  keep(kept, samples.walk_end);
}

std::vector<char> samples_of(const Profile& profile, std::string_view event) {
  std::vector<char> is_named;
  for (const Event& row : profile.events) is_named.push_back(profile.text(row.name) == event);
  std::vector<char> rows;
  rows.reserve(profile.samples.size());
  for (const EventId id : profile.samples.event) rows.push_back(is_named[id.value]);
  return rows;
}

}  // namespace tephra::model
