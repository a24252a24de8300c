#include "views/script_fields.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace tephra::views {
namespace {

using base::usage_error;

struct FieldWord {
  std::string_view word;
  uint32_t bit;
  uint64_t needs;  // PERF_SAMPLE_*, 0: nothing
};
constexpr std::array kFieldWords{
    FieldWord{"comm", kFieldComm, 0},
    FieldWord{"tid", kFieldTid, PERF_SAMPLE_TID},
    FieldWord{"pid", kFieldPid, PERF_SAMPLE_TID},
    FieldWord{"time", kFieldTime, PERF_SAMPLE_TIME},
    FieldWord{"cpu", kFieldCpu, PERF_SAMPLE_CPU},
    FieldWord{"event", kFieldEvent, 0},
    FieldWord{"trace", kFieldTrace, 0},
    FieldWord{"ip", kFieldIp, PERF_SAMPLE_IP},
    FieldWord{"sym", kFieldSym, PERF_SAMPLE_IP},
    FieldWord{"dso", kFieldDso, PERF_SAMPLE_IP},
    FieldWord{"symoff", kFieldSymoff, PERF_SAMPLE_IP},
    FieldWord{"srcline", kFieldSrcline, PERF_SAMPLE_IP},
    FieldWord{"period", kFieldPeriod, 0},
};

constexpr uint32_t kPlace = kFieldIp | kFieldSym | kFieldSymoff | kFieldDso;
constexpr uint32_t kWho = kFieldComm | kFieldTid | kFieldCpu | kFieldTime | kFieldEvent;

struct TypeWord {
  std::string_view word;
  uint32_t type;
};
constexpr std::array kTypeWords{TypeWord{"hw", PERF_TYPE_HARDWARE}, TypeWord{"sw", PERF_TYPE_SOFTWARE},
                                TypeWord{"trace", PERF_TYPE_TRACEPOINT}, TypeWord{"raw", PERF_TYPE_RAW}};

bool has_callchain(const stream::RecordedEvent& event) { return event.layout.sample_type & PERF_SAMPLE_CALLCHAIN; }

uint32_t default_fields(const stream::Recording& recording, const stream::RecordedEvent& event, bool call_chains) {
  if (event.layout.type != PERF_TYPE_TRACEPOINT) return kWho | kPlace | kFieldPeriod;
  // The place of a tracepoint is known; only how it was reached is worth printing.
  const bool chains = call_chains && std::any_of(recording.events.begin(), recording.events.end(), [](const auto& e) {
                        return e.layout.type == PERF_TYPE_TRACEPOINT && has_callchain(e);
                      });
  return kWho | kFieldTrace | (chains ? kPlace : 0);
}

struct Change {
  enum class How { kSet, kAdd, kRemove };
  How how;
  const FieldWord* field;
};

struct Specification {
  std::optional<uint32_t> type;
  std::vector<Change> changes;
};

base::Result<Change> parse_change(std::string_view text) {
  auto how = Change::How::kSet;
  if (text.starts_with('+') || text.starts_with('-')) {
    how = text[0] == '+' ? Change::How::kAdd : Change::How::kRemove;
    text.remove_prefix(1);
  }
  const auto found =
      std::find_if(kFieldWords.begin(), kFieldWords.end(), [&](const FieldWord& word) { return word.word == text; });
  if (found == kFieldWords.end()) {
    std::string all;
    for (const FieldWord& word : kFieldWords) all += (all.empty() ? "" : ", ") + std::string(word.word);
    return usage_error("no such field", std::string(text), "", "Fields are " + all + ".");
  }
  return Change{how, &*found};
}

base::Result<Specification> parse_specification(std::string_view text) {
  Specification specification;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    const auto word = text.substr(0, colon);
    const auto found =
        std::find_if(kTypeWords.begin(), kTypeWords.end(), [&](const TypeWord& type) { return type.word == word; });
    if (found == kTypeWords.end()) {
      return usage_error("no such type of event", std::string(word), "", "Types are hw, sw, trace and raw.");
    }
    specification.type = found->type;
    text.remove_prefix(colon + 1);
  }
  while (true) {
    const size_t comma = text.find(',');
    TEPHRA_TRY(const Change change, parse_change(text.substr(0, comma)));
    specification.changes.push_back(change);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  const auto sets = std::count_if(specification.changes.begin(), specification.changes.end(),
                                  [](const Change& change) { return change.how == Change::How::kSet; });
  if (sets != 0 && static_cast<size_t>(sets) != specification.changes.size()) {
    return usage_error("-F either lists fields or changes them with + and -, not both");
  }
  return specification;
}

struct Selected {
  uint32_t fields;
  uint32_t asked;  // by the user, by name
};

void apply(const Specification& specification, Selected& selected) {
  if (specification.changes.front().how == Change::How::kSet) selected = {0, 0};
  for (const Change& change : specification.changes) {
    const uint32_t bit = change.field->bit;
    if (change.how == Change::How::kRemove) {
      selected.fields &= ~bit;
      selected.asked &= ~bit;
    } else {
      selected.fields |= bit;
      selected.asked |= bit;
    }
  }
}

// Takes away what the event does not hold, and refuses what was asked for and cannot be printed.
base::Result<uint32_t> check(const stream::RecordedEvent& event, Selected selected) {
  for (const FieldWord& word : kFieldWords) {
    if (!(selected.fields & word.bit) || (event.layout.sample_type & word.needs) == word.needs) continue;
    if (selected.asked & word.bit) {
      return usage_error("cannot print the field", std::string(word.word),
                         fmt::format("the samples of event '{}' do not have it", event.name));
    }
    selected.fields &= ~word.bit;
  }
  const uint32_t of_ip = kFieldSym | kFieldDso | kFieldSrcline;
  if (!(selected.fields & kFieldIp)) {
    if (selected.asked & of_ip) return usage_error("the fields sym, dso and srcline need ip");
    selected.fields &= ~(of_ip | kFieldSymoff);
  }
  if (!(selected.fields & kFieldSym)) {
    if (selected.asked & kFieldSymoff) return usage_error("the field symoff needs sym");
    selected.fields &= ~kFieldSymoff;
  }
  return selected.fields;
}

}  // namespace

base::Result<std::vector<uint32_t>> select_script_fields(const stream::Recording& recording,
                                                         const std::vector<std::string>& specifications,
                                                         bool call_chains) {
  std::vector<Specification> parsed;
  for (const std::string& text : specifications) {
    TEPHRA_TRY(Specification specification, parse_specification(text));
    parsed.push_back(std::move(specification));
  }
  std::vector<uint32_t> fields;
  for (const stream::RecordedEvent& event : recording.events) {
    Selected selected{default_fields(recording, event, call_chains), 0};
    for (const Specification& specification : parsed) {
      if (!specification.type || *specification.type == event.layout.type) apply(specification, selected);
    }
    TEPHRA_TRY(const uint32_t bits, check(event, selected));
    fields.push_back(bits);
  }
  return fields;
}

}  // namespace tephra::views
