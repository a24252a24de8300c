#include "kernel/event_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "kernel/near_match.h"

namespace tephra::kernel {
namespace {

constexpr std::array<std::string_view, 6> kCommonTerms{"config", "config1", "config2", "freq", "name", "period"};
// What perf takes for one event and tephra for the whole recording.
constexpr std::array<std::string_view, 9> kRecordingTerms{"branch_type", "call-graph",   "inherit",
                                                          "max-stack",   "no-inherit",   "overwrite",
                                                          "stack-size",  "no-overwrite", "time"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

std::string text_of(const EventTerm& term) { return term.has_value ? term.name + "=" + term.value : term.name; }

base::Result<uint64_t> number_of(const EventSpec& event, const EventTerm& term) {
  if (const auto number = parse_number(term.value)) return *number;
  return base::usage_error("cannot read a term of event", event.name,
                           fmt::format("'{}' is not a number of 64 bits", text_of(term)),
                           fmt::format("Write {}=100 or {}=0x64.", term.name, term.name));
}

base::Result<uint64_t> rate_of(const EventSpec& event, const EventTerm& term) {
  TEPHRA_TRY(const uint64_t rate, number_of(event, term));
  if (rate == 0 || rate > INT64_MAX) {
    return base::usage_error("cannot read a term of event", event.name,
                             fmt::format("'{}' is not from 1 to 2^63-1", text_of(term)));
  }
  return rate;
}

base::Status apply_common(EventSpec& event, const EventTerm& term) {
  if (term.name == "name") {
    if (term.value.empty()) return base::usage_error("a term has no value", event.name, "name=");
    event.name = term.value;
    return {};
  }
  if (term.name == "period" || term.name == "freq") {
    TEPHRA_TRY(const uint64_t rate, rate_of(event, term));
    event.period.reset();
    event.frequency.reset();
    (term.name == "period" ? event.period : event.frequency) = rate;
    return {};
  }
  TEPHRA_TRY(const uint64_t number, number_of(event, term));
  (term.name == "config" ? event.config : term.name == "config1" ? event.config1 : event.config2) = number;
  return {};
}

base::Error unknown_term(const EventSpec& event, const EventTerm& term, const std::vector<std::string>& known) {
  if (holds(kRecordingTerms, term.name)) {
    return base::usage_error("cannot set for one event", event.name, term.name,
                             "The options of the recording hold for all its events.");
  }
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  std::string fix = did_you_mean(near_matches(term.name, known));
  return base::usage_error("unknown term of event", event.name, "'" + term.name + "'",
                           (fix.empty() ? "" : fix + " ") + "Terms are " + list + ".");
}

std::vector<std::string> terms_of(const Pmu& pmu) {
  std::vector<std::string> known;
  for (const auto& [name, bits] : pmu.terms) known.push_back(name);
  known.insert(known.end(), pmu.events.begin(), pmu.events.end());
  known.insert(known.end(), kCommonTerms.begin(), kCommonTerms.end());
  return known;
}

// Named events stand for the terms of their definition; "?" in one is a parameter that the user gives.
base::Result<std::vector<EventTerm>> expand(const EventSpec& event, const std::vector<EventTerm>& terms, const Pmu& pmu,
                                            const Pmus& pmus) {
  std::vector<EventTerm> expanded;
  for (const EventTerm& term : terms) {
    const bool named =
        (!term.has_value || term.value == "1") && std::binary_search(pmu.events.begin(), pmu.events.end(), term.name);
    if (!named) {
      expanded.push_back(term);
      continue;
    }
    TEPHRA_TRY(const std::string definition, pmus.definition(pmu, term.name));
    TEPHRA_TRY(std::vector<EventTerm> parts, split_terms(definition));
    for (EventTerm& part : parts) {
      if (part.value == "?") {
        const auto given = std::find_if(terms.begin(), terms.end(), [&](const EventTerm& each) {
          return each.name == part.name && each.has_value && each.value != "?";
        });
        if (given == terms.end()) {
          return base::usage_error("a parameter is missing", event.name,
                                   fmt::format("{} needs a value for {}", term.name, part.name),
                                   fmt::format("Write {}/{},{}=VALUE/.", pmu.name, term.name, part.name));
        }
        part = *given;
      }
      expanded.push_back(std::move(part));
    }
  }
  return expanded;
}

base::Status place(EventSpec& event, const EventTerm& term, const TermBits& bits) {
  uint64_t value = 1;
  if (term.has_value) {
    TEPHRA_TRY(value, number_of(event, term));
  }
  if (value > bits.largest()) {
    return base::usage_error(
        "a value is too large in event", event.name, text_of(term),
        fmt::format("The largest for {} is {} ({:#x}).", term.name, bits.largest(), bits.largest()));
  }
  if (bits.word > 2) {
    return base::usage_error("cannot set a term of event", event.name,
                             fmt::format("{} is in config{}, which tephra does not use yet", term.name, bits.word));
  }
  (bits.word == 0 ? event.config : bits.word == 1 ? event.config1 : event.config2) |= bits.place(value);
  return {};
}

}  // namespace

std::optional<uint64_t> raw_code(std::string_view text) {
  if (text.size() < 2 || text.size() > 17 || text[0] != 'r') return std::nullopt;
  text.remove_prefix(1);
  uint64_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return code;
}

base::Status apply_terms(EventSpec& event, const std::vector<EventTerm>& terms) {
  for (const EventTerm& term : terms) {
    if (!holds(kCommonTerms, term.name)) {
      return unknown_term(event, term, {kCommonTerms.begin(), kCommonTerms.end()});
    }
    TEPHRA_CHECK_OK(apply_common(event, term));
  }
  return {};
}

base::Status apply_pmu_terms(EventSpec& event, const std::vector<EventTerm>& terms, const Pmu& pmu, const Pmus& pmus) {
  TEPHRA_TRY(const std::vector<EventTerm> expanded, expand(event, terms, pmu, pmus));
  const auto common = [&](const EventTerm& term) { return holds(kCommonTerms, term.name); };
  // Whole words first, whatever the order, and then the bits that add to them.
  for (const EventTerm& term : expanded) {
    if (common(term)) TEPHRA_CHECK_OK(apply_common(event, term));
  }
  for (const EventTerm& term : expanded) {
    if (common(term)) continue;
    const auto bits = pmu.terms.find(term.name);
    if (bits != pmu.terms.end()) {
      TEPHRA_CHECK_OK(place(event, term, bits->second));
    } else if (const auto code = term.has_value ? std::nullopt : raw_code(term.name)) {
      event.config |= *code;
    } else {
      return unknown_term(event, term, terms_of(pmu));
    }
  }
  return {};
}

}  // namespace tephra::kernel
