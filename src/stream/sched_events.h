#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "stream/event.h"
#include "stream/recording.h"
#include "stream/tracepoint_places.h"

namespace tephra::stream {

// What the scheduler's and the interrupts' tracepoints say. Texts point into the sample.

struct SchedTask {
  int32_t tid = -1;
  std::string_view comm;
};

// Why a thread left its CPU: the letter that the kernel prints for it ('R' could run on, 'S' sleeps, 'D' waits and
// cannot be interrupted, 'X' and 'Z' ended …).
struct SchedState {
  char letter = '?';
  bool preempted = false;  // inside the kernel, printed as "R+"

  bool runnable() const { return letter == 'R'; }
  bool ended() const { return letter == 'X' || letter == 'Z'; }
};

struct SchedSwitch {
  SchedTask previous;
  SchedTask next;
  SchedState state;      // of the previous
  uint64_t raw_state{};  // as recorded
};

struct SchedWakeup {
  enum class Kind {
    kWaking,  // someone begins to wake it
    kWakeup,  // it is on a run queue
    kNew,     // it was just made
  };
  Kind kind = Kind::kWakeup;
  SchedTask task;
  int32_t target_cpu = -1;
};

struct SchedMigration {
  SchedTask task;
  int32_t from_cpu = -1;
  int32_t to_cpu = -1;
};

// Run time as the kernel accounts it (sched_stat_runtime).
struct SchedRuntime {
  SchedTask task;
  uint64_t nanoseconds = 0;
};

struct SchedFork {
  int32_t parent = -1;
  SchedTask child;
};

struct SchedExit {
  SchedTask task;
};

// The kinds nest in this order: a hard interrupt may come inside a soft one, and never the other way round.
enum class InterruptKind : uint8_t { kSoft, kVector, kHard };
inline constexpr size_t kInterruptKinds = 3;

struct Interrupt {
  InterruptKind kind = InterruptKind::kHard;
  bool entry = true;
  int32_t number = 0;
  std::string_view name;  // of a hard interrupt's entry, and of the others
};

using SchedEvent = std::variant<std::monostate, SchedSwitch, SchedWakeup, SchedMigration, SchedRuntime, SchedFork,
                                SchedExit, Interrupt>;

// Reads samples of the scheduler's and the interrupts' tracepoints, by the descriptions that the recording carries.
// Which event is which, and where its fields are, is found once.
class SchedEvents {
 public:
  // An error where the recording has no sched:sched_switch that can be read.
  static base::Result<SchedEvents> of(const Recording& recording);

  // monostate: of another event, or too short for its fields.
  SchedEvent read(const Sample& sample) const;

  enum class Kind : uint8_t {
    kOther,
    kSwitch,
    kWaking,
    kWakeup,
    kWakeupNew,
    kMigrate,
    kRuntime,
    kFork,
    kExit,
    kIrqEntry,
    kIrqExit,
    kSoftEntry,
    kSoftExit,
    kVectorEntry,
    kVectorExit,
  };
  // Whether such events were recorded.
  bool has(Kind kind) const { return recorded_[static_cast<size_t>(kind)]; }

 private:
  using Place = std::optional<TracepointPlaces::Place>;
  // What was found of one event of the recording. Which place is which field depends on the kind.
  struct Reader {
    Kind kind = Kind::kOther;
    std::array<Place, 5> places;
    std::string name;  // of what interrupts
  };

  void add(const TracepointPlaces& described, uint64_t id);
  void learn_states(const TracepointPlaces& described, uint64_t id);
  SchedState state_of(uint64_t raw) const;
  SchedEvent read_switch(const Reader& reader, base::Bytes raw) const;
  static SchedEvent read_wakeup(const Reader& reader, base::Bytes raw);
  // Of a migration, run time, fork or exit.
  static SchedEvent read_task(const Reader& reader, base::Bytes raw);
  static SchedEvent read_interrupt(const Reader& reader, base::Bytes raw);

  std::vector<Reader> readers_;  // by event of the recording
  std::array<bool, 15> recorded_{};
  std::vector<std::pair<uint64_t, char>> states_;  // bits and letters, ascending
  uint64_t preempted_bit_ = 0;
};

// Calls visit for every such event in the order of time.
void for_each_sched_event(const Recording& recording, const SchedEvents& events,
                          const std::function<void(const Sample&, const SchedEvent&)>& visit);

}  // namespace tephra::stream
