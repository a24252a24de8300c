#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/script_names.h"
#include "model/profile.h"

namespace tephra::formats {

struct ScriptFoldOptions {
  ScriptNameOptions names;
  bool pid = false;      // the first frame is comm-PID
  bool tid = false;      // the first frame is comm-PID/TID
  bool counts = false;   // numbers of samples instead of sums of periods
  bool srcline = false;  // a line with the source's place follows each frame
  std::string event;     // empty: the first
  // Whether to take a sample, by its event line; null: take all.
  std::function<bool(std::string_view line)> takes;
};

// What stackcollapse-perf.pl makes of the text of `perf script`, byte for byte, and what it leaves unsaid.
struct FoldedScript {
  std::string text;
  uint64_t samples = 0;
  uint64_t unrecognised = 0;          // lines
  std::string event;                  // whose samples these are; empty: the lines name none
  bool other_events = false;          // there were samples of other events
  std::vector<std::string> verdicts;  // what the text says of itself, see script_verdicts()
  bool cut = false;                   // the text ends within a sample, which is left out
  // Samples by the number of frames their stacks have: those with a name, and those without.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> stacks;

  // It took samples, and none of the lines below them for a frame, though there were some.
  bool lost_all_frames() const {
    return unrecognised > 0 && stacks.size() == 1 && stacks.begin()->first == std::pair(0u, 0u);
  }
};

// Takes `text` piece by piece, on all CPUs; `done_with` is called for each piece that was read, from any thread.
FoldedScript fold_script(std::string_view text, const ScriptFoldOptions& options,
                         const std::function<void(std::string_view)>& done_with = {});

// A profile about which analysis::judge says what it would say about all the samples.
model::Profile summary_of(const FoldedScript& folded);

}  // namespace tephra::formats
