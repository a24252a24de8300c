#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "stream/event.h"

namespace tephra::stream {

struct Recording;

// What samples of some events mean beyond what their records say: what they weigh (bytes of a page, a field of a
// tracepoint, the time until something else happened), which event they are shown as, and labels that keep them apart.
// It is made when a recording is opened, may look at all its samples then, and does not change afterwards.
class SampleReading {
 public:
  virtual ~SampleReading() = default;

  // What a sample stands for, once or several times.
  struct Part {
    uint32_t event = 0;  // index into Recording::events, mostly one that the reading added there
    uint64_t value = 0;
    uint64_t count = 1;
    uint32_t labels = 0;  // index into label_sets(); 0: none
  };

  // Whether samples of this event (index into Recording::events) are read by it; the others mean what they say.
  virtual bool reads(uint32_t event) const = 0;
  // Appends what a sample stands for; nothing: it is not shown. Called from several threads. `position` is that of the
  // record in the recording, which no other sample has.
  virtual void read(const Sample& sample, uint64_t position, std::vector<Part>& parts) const = 0;
  // When what a sample stands for began, where that is not when it was recorded.
  virtual uint64_t time_of(const Sample& sample) const { return sample.origin.time; }

  // A label of a sample (see model::Label): a text, or a number with its unit.
  struct Label {
    std::string key;
    std::string text;
    int64_t number = 0;
    std::string unit;
    auto operator<=>(const Label&) const = default;
  };
  using Labels = std::vector<Label>;
  // All sets of labels that parts refer to; the first is empty.
  virtual std::span<const Labels> label_sets() const = 0;
};

// The readings of a recording by event, and the numbers that their sets of labels have together.
class ReadingIndex {
 public:
  explicit ReadingIndex(const Recording& recording);

  // Whether there are no readings.
  bool empty() const { return places_.empty(); }

  // Null: its samples mean what they say.
  const SampleReading* of(uint32_t event) const { return event < places_.size() ? places_[event].reading : nullptr; }
  // The number of a set of labels, for a part of a sample of that event.
  uint32_t labels(uint32_t event, const SampleReading::Part& part) const {
    return part.labels == 0 ? 0 : places_[event].first_labels + part.labels;
  }
  // By that number; the first is empty.
  const std::vector<const SampleReading::Labels*>& label_sets() const { return label_sets_; }

 private:
  struct Place {
    const SampleReading* reading = nullptr;
    uint32_t first_labels = 0;
  };
  std::vector<Place> places_;  // by event; empty where there are no readings
  std::vector<const SampleReading::Labels*> label_sets_;
};

// What the reader of a recording asks for beyond what is known of its events.
struct ReadingOptions {
  std::string weight;  // a field of tracepoints that samples weigh; empty: none
  // As in BuildOptions: called with each part of the records when a pass over it ends.
  std::function<void(base::Bytes)> done_with;
};

// Adds an event that a reading shows samples of `like` as. `counted` is what a part counts one of ("waits"): profiles
// of the event weigh by its values, unless that is empty. Returns its index in Recording::events.
uint32_t add_shown_event(Recording& recording, uint32_t like, std::string_view name, std::string_view unit,
                         std::string_view counted);

// Adds what is known to be readable in a recording: the events that it is shown as, and how. One reading an event;
// where several would read the same one, the first of the list does. What cannot be read as it should goes to
// RecordingFacts (model/reading_notes.h). An error when what is asked for is not there.
base::Status add_readings(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
