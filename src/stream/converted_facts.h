#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"
#include "stream/recorder_facts.h"
#include "stream/recording.h"

namespace tephra::stream {

// What a perf.data file that was written from a profile tells beside its records: lines of the section
// kFeatureTephraFacts whose keys begin with "profile.".

// Tasks without a number in the profile have one from here on in the file: above any that Linux gives.
inline constexpr int32_t kFirstMadeUpPid = 1 << 30;

// Paths of mappings that stand for nothing in memory: the addresses in them were made up to carry names. What follows
// is the path of what the names are of, which may be empty.
inline constexpr std::string_view kNamesOnlyPath = "[names only]";

// Adds the lines to `facts`. `event_units` are those that the layouts of the events in the file tell by themselves.
void tell_profile(const model::Profile& profile, const std::vector<std::string_view>& event_units,
                  RecorderFacts& facts);

bool is_converted(const RecorderFacts& facts);
// What the lines say about events.
void describe_events(const RecorderFacts& facts, std::vector<RecordedEvent>& events);
// How many of a file's samples are in a profile.
struct TakenSamples {
  uint64_t taken = 0;
  uint64_t all = 0;
};
// What that part has of what was missing from the whole; a little, where it was little.
model::Quality share_of(model::Quality quality, const TakenSamples& samples);
// What they say about the whole: facts, and what was missing from the profile, of which a part of the samples has its
// share. Adds to `profile`.
void add_profile_facts(const RecorderFacts& facts, const TakenSamples& samples, model::Profile& profile);

}  // namespace tephra::stream
