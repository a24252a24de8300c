#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::formats::pprof {

// A type of value, as profile.proto has it.
struct NamedType {
  std::string_view name;
  std::string_view unit;
};

// Whether numbers of a type that precedes the type `measured` count its samples.
bool counts_samples_of(std::string_view name, std::string_view measured);

// Whether the type at `index` counts what the next one measures. Profiles do not say that; it is the custom.
bool is_pair(std::span<const NamedType> types, size_t index);

// The types of value that a profile is written with. No two have one name, and is_pair() tells which belong together.
class WrittenTypes {
 public:
  explicit WrittenTypes(const model::Profile& profile);

  // Where an event's numbers are among the values of a sample; -1: it has none.
  struct Places {
    int count = -1;
    int value = -1;
  };
  Places places(model::EventId event) const { return places_[event.value]; }
  const std::vector<NamedType>& all() const { return types_; }
  // Which to look at first; empty where there is none.
  std::string_view shown() const;

 private:
  // An event as it is written: by a count, by a value or by both.
  struct Written {
    model::EventId event;
    std::optional<std::string> count;  // their names, where they are written
    std::optional<std::string> value;
    std::string_view unit;
  };

  static const std::string& name_of(const Written& row) { return row.value ? *row.value : *row.count; }
  std::vector<Written> written_events() const;
  void name_counts();
  void list_types();
  bool are_told_apart() const;

  const model::Profile& profile_;
  std::vector<Written> written_;
  std::vector<NamedType> types_;
  std::vector<Places> places_;  // by event
};

}  // namespace tephra::formats::pprof
