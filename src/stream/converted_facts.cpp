#include "stream/converted_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tephra::stream {
namespace {

using model::RecordingFacts;

constexpr std::string_view kConverted = "profile.converted";
constexpr size_t kMostComments = 100;

// Facts that are texts, by their keys.
constexpr std::pair<std::string_view, std::string RecordingFacts::*> kTexts[] = {
    {"profile.engine", &RecordingFacts::engine},
    {"profile.clock", &RecordingFacts::clock},
    {"profile.default_event", &RecordingFacts::default_event},
    {"profile.drop_frames", &RecordingFacts::drop_frames},
    {"profile.keep_frames", &RecordingFacts::keep_frames},
};
constexpr std::pair<std::string_view, int64_t RecordingFacts::*> kNumbers[] = {
    {"profile.started_unix_ns", &RecordingFacts::started_unix_ns},
    {"profile.duration_ns", &RecordingFacts::duration_ns},
};
constexpr std::pair<std::string_view, uint64_t model::Quality::*> kCounts[] = {
    {"profile.throttled", &model::Quality::throttled},
    {"profile.idle", &model::Quality::idle},
    {"profile.own", &model::Quality::own},
};

std::string reason_key(size_t reason) { return fmt::format("profile.missing.{}", model::kReasonNames[reason]); }
std::string comment_key(size_t i) { return fmt::format("profile.comment.{:03}", i); }
std::string event_key(size_t i) { return fmt::format("profile.event.{}", i); }

const std::string* find(const RecorderFacts& facts, std::string_view key) {
  const auto found = facts.others.find(std::string(key));
  return found == facts.others.end() ? nullptr : &found->second;
}

template <class T>
void read_number(const RecorderFacts& facts, std::string_view key, T& out) {
  const std::string* text = find(facts, key);
  if (text == nullptr) return;
  T number{};
  const char* end = text->data() + text->size();
  const auto result = std::from_chars(text->data(), end, number);
  if (result.ec == std::errc() && result.ptr == end) out = number;
}

// Takes the text up to a tab off `text`.
std::string take_field(std::string_view& text) {
  const std::string_view field = text.substr(0, text.find('\t'));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return std::string(field);
}

void tell_period(const model::SamplingPeriod& period, RecorderFacts& facts) {
  if (period == model::SamplingPeriod{}) return;
  facts.others["profile.period"] = fmt::format("{}\t{}\t{}", period.event, period.unit, period.value);
}

void read_period(const RecorderFacts& facts, model::SamplingPeriod& period) {
  const std::string* text = find(facts, "profile.period");
  if (text == nullptr) return;
  std::string_view rest = *text;
  period.event = take_field(rest);
  period.unit = take_field(rest);
  std::from_chars(rest.data(), rest.data() + rest.size(), period.value);
}

// Of too many, the first ones and the last, which is the verdict.
void tell_comments(const std::vector<std::string>& comments, RecorderFacts& facts) {
  const size_t told = std::min(comments.size(), kMostComments);
  for (size_t i = 0; i < told; ++i) facts.others[comment_key(i)] = i + 1 == told ? comments.back() : comments[i];
}

void tell_events(const model::Profile& profile, const std::vector<std::string_view>& units, RecorderFacts& facts) {
  model::for_each_id(profile.events, [&](model::EventId id) {
    const model::Event& event = profile.events[id];
    const std::string_view unit = profile.text(event.unit);
    if (unit == units[id.value] && !event.counted && !event.uncounted) return;
    facts.others[event_key(id.value)] =
        fmt::format("{}\t{}\t{}", unit, profile.text(event.counted), event.uncounted ? 1 : 0);
  });
}

// What a part of the samples has of `count`; what is there at all is not nothing.
uint64_t share_of(uint64_t count, const TakenSamples& samples) {
  if (samples.taken >= samples.all) return count;
  const auto product = static_cast<unsigned __int128>(count) * samples.taken;
  return static_cast<uint64_t>((product + samples.all - 1) / samples.all);
}

}  // namespace

model::Quality share_of(model::Quality quality, const TakenSamples& samples) {
  for (const auto& [key, member] : kCounts) quality.*member = share_of(quality.*member, samples);
  for (uint64_t& count : quality.reasons) count = share_of(count, samples);
  return quality;
}

void tell_profile(const model::Profile& profile, const std::vector<std::string_view>& event_units,
                  RecorderFacts& facts) {
  facts.others.insert_or_assign(std::string(kConverted), std::string(1, '1'));
  for (const auto& [key, member] : kTexts) {
    if (const std::string& text = profile.facts.*member; !text.empty()) facts.others[std::string(key)] = text;
  }
  for (const auto& [key, member] : kNumbers) {
    if (profile.facts.*member != 0) facts.others[std::string(key)] = fmt::format("{}", profile.facts.*member);
  }
  for (const auto& [key, member] : kCounts) {
    if (profile.quality.*member != 0) facts.others[std::string(key)] = fmt::format("{}", profile.quality.*member);
  }
  for (size_t i = 0; i < model::kReasonCount; ++i) {
    if (profile.quality.reasons[i] != 0) facts.others[reason_key(i)] = fmt::format("{}", profile.quality.reasons[i]);
  }
  tell_comments(profile.facts.comments, facts);
  tell_period(profile.facts.period, facts);
  tell_events(profile, event_units, facts);
  facts.recorder_cpu_seconds = profile.facts.recorder_cpu_seconds;
  if (profile.facts.steal_share) {
    facts.steal_seconds = profile.facts.steal_share;
    facts.cpu_seconds_total = 1;
  }
  if (!profile.facts.copy_sizes.empty()) facts.copy_sizes = print_copy_sizes(profile.facts.copy_sizes);
}

bool is_converted(const RecorderFacts& facts) { return find(facts, kConverted) != nullptr; }

void describe_events(const RecorderFacts& facts, std::vector<RecordedEvent>& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    const std::string* text = find(facts, event_key(i));
    if (text == nullptr) continue;
    std::string_view rest = *text;
    events[i].unit = take_field(rest);
    events[i].counted = take_field(rest);
    events[i].uncounted = take_field(rest) == "1";
  }
}

void add_profile_facts(const RecorderFacts& facts, const TakenSamples& samples, model::Profile& profile) {
  for (const auto& [key, member] : kTexts) {
    if (const std::string* text = find(facts, key)) profile.facts.*member = *text;
  }
  for (const auto& [key, member] : kNumbers) read_number(facts, key, profile.facts.*member);
  model::Quality told;
  for (const auto& [key, member] : kCounts) read_number(facts, key, told.*member);
  for (size_t i = 0; i < model::kReasonCount; ++i) read_number(facts, reason_key(i), told.reasons[i]);
  profile.quality += share_of(told, samples);
  for (size_t i = 0; i < kMostComments; ++i) {
    if (const std::string* text = find(facts, comment_key(i))) profile.facts.comments.push_back(*text);
  }
  read_period(facts, profile.facts.period);
}

}  // namespace tephra::stream
