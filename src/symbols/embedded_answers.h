#pragma once

#include <span>
#include <vector>

#include "model/embedded_names.h"
#include "model/profile.h"
#include "symbols/answers.h"
#include "symbols/symbolize.h"

namespace tephra::symbols {

// The names that a recording brought with it, for the frames of the profile that was read from it.
//
// They were found in the very files that ran, so a file at hand never overrides one of them unless it is proven to be
// the same file (an equal build id) and tells more: a name where the recorder found none, or inlined functions and
// lines where it had no debug information.
class EmbeddedAnswers {
 public:
  EmbeddedAnswers(const model::Profile& profile, const Options& options);

  // Whether the recording's answer for `frame` is final, so that no file need be opened.
  bool settles(model::FrameId frame) const { return state(frame) == State::kSettled; }

  // Joins `found`, what the files at hand told about the frames that are not settled, with the recording's answers:
  // afterwards each frame is answered once.
  void join(std::vector<Answers>& found) &&;

 private:
  enum class State : uint8_t { kNone, kSettled, kMayBeRefined };
  State state(model::FrameId frame) const { return states_.empty() ? State::kNone : states_[frame.value]; }
  void add_frames(const model::Profile& profile);
  void add(const model::Profile& profile, model::FrameId frame, const model::EmbeddedNames::Row& row);
  model::StringId shown(const model::EmbeddedNames::Level& level, const model::Mapping& mapping, bool named);
  bool refines(const Answers& found, const Answers::Row& row) const;

  const model::EmbeddedNames* names_;
  const Options& options_;
  Answers answers_;
  std::vector<State> states_;           // by frame
  std::vector<uint32_t> own_row_;       // by frame: its row in answers_, plus one
  std::vector<model::StringId> shown_;  // by the system name's id; empty: not demangled yet
};

// What the recorder stores: all that `answers` tell about the frames of `profile`. Looked up with default options but
// for exact_unknown, so that a reader can have it any way.
model::EmbeddedNames embed(const model::Profile& profile, std::span<const Answers> answers);

}  // namespace tephra::symbols
