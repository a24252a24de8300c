#include "analysis/stack_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/label_frames.h"
#include "analysis/labels.h"
#include "base/names.h"

namespace tephra::analysis {
namespace {

using base::Pattern;
using model::FrameId;
using model::Profile;
using model::StackId;

// What a frame matches, and whether a frame of a stack does.
enum Match : uint8_t {
  kFocus = 1,
  kIgnore = 2,
  kHide = 4,
  kShow = 8,
  kFrom = 16,
  kPrune = 32,
  kDrop = 64,
};

constexpr uint32_t kNone = UINT32_MAX;

// The matches of every frame. Frames of one function in one file and module share the work.
class FrameMatches {
 public:
  FrameMatches(const Profile& profile, const StackEdit& edit) : profile_(profile), edit_(edit) {
    of_frame_.resize(profile.frames.size());
    for (uint32_t i = 1; i < profile.frames.size(); ++i) {
      of_frame_[i] = look_up(FrameId{i});
      any_ |= of_frame_[i];
    }
  }

  uint8_t operator[](FrameId frame) const { return of_frame_[frame.value]; }
  // What some frame matches.
  uint8_t any() const { return any_; }

 private:
  struct Key {
    uint32_t function, file, mapping;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (static_cast<uint64_t>(key.function) << 32 | key.mapping) * 0x9E3779B97F4A7C15u + key.file;
    }
  };

  uint8_t look_up(FrameId frame) {
    const model::Frame& row = profile_.frames[frame];
    if (profile_.function_name(frame).empty()) return match(frame);  // its label tells the address
    const auto [at, fresh] = known_.try_emplace({row.function.value, row.file.value, row.mapping.value});
    if (fresh) at->second = match(frame);
    return at->second;
  }

  uint8_t match(FrameId frame) const {
    const std::string label = frame_label(profile_, frame);
    const std::string_view file = profile_.text(profile_.frames[frame].file);
    const std::string_view module = module_path(profile_, profile_.frames[frame].mapping);
    uint8_t bits = 0;
    const auto look = [&](const std::optional<Pattern>& pattern, Match bit) {
      if (pattern && (pattern->matches(label) || pattern->matches(file) || pattern->matches(module))) bits |= bit;
    };
    look(edit_.focus, kFocus);
    look(edit_.ignore, kIgnore);
    look(edit_.hide, kHide);
    look(edit_.show, kShow);
    look(edit_.show_from, kFrom);
    if (edit_.prune_from && edit_.prune_from->matches(label)) bits |= kPrune;
    if (std::ranges::find(edit_.bases, label) != edit_.bases.end()) bits |= kFrom;
    if (edit_.drop && edit_.drop->matches(label) && !(edit_.keep && edit_.keep->matches(label))) bits |= kDrop;
    return bits;
  }

  const Profile& profile_;
  const StackEdit& edit_;
  std::unordered_map<Key, uint8_t, KeyHash> known_;
  std::vector<uint8_t> of_frame_;
  uint8_t any_ = 0;
};

// The new table of stacks: equal ones get one row, parents come first.
class StackRows {
 public:
  explicit StackRows(const Profile& profile) : profile_(profile) { rows_.add({}); }

  // The stack with a frame more; without it where recursion is folded and it repeats its caller.
  uint32_t push(uint32_t parent, FrameId frame, bool fold_recursion) {
    if (fold_recursion && parent != 0 && same_code(rows_[StackId{parent}].frame, frame)) return parent;
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | frame.value;
    const auto [at, fresh] = known_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.add({StackId{parent}, frame});
    return at->second;
  }

  model::Table<model::Stack, StackId> take() { return std::move(rows_); }

 private:
  bool same_code(FrameId a, FrameId b) const {
    const model::Frame& one = profile_.frames[a];
    const model::Frame& other = profile_.frames[b];
    const bool named = one.function && profile_.functions[one.function].named;
    return named && profile_.functions[other.function].named &&
           profile_.functions[one.function].name == profile_.functions[other.function].name &&
           profile_.in_kernel(a) == profile_.in_kernel(b);
  }

  const Profile& profile_;
  model::Table<model::Stack, StackId> rows_;
  std::unordered_map<uint64_t, uint32_t> known_;
};

// For every stack what becomes of it. Parents come first in the table, so one pass finds it all.
class StackPlan {
 public:
  StackPlan(const Profile& profile, const FrameMatches& matches, const StackEdit& edit)
      : profile_(profile), matches_(matches), edit_(edit), rows_(profile), of_(profile.stacks.size()) {
    of_[0] = {.has = 0, .whole = 0, .from = kNone, .end = 0, .ended = false, .inside = false};
    for (uint32_t i = 1; i < profile.stacks.size(); ++i) of_[i] = plan(StackId{i});
  }

  // The new stack, or kNone where samples of it are left out.
  uint32_t operator[](StackId stack) const {
    const Planned& asked = of_[stack.value];
    if (edit_.focus && !(asked.has & kFocus)) return kNone;
    if (asked.has & kIgnore) return kNone;
    const Planned& planned = of_[asked.end];
    const bool from = edit_.show_from || !edit_.bases.empty();
    if (!from) return left_empty(planned.whole) ? kNone : planned.whole;
    if (planned.from == kNone && edit_.show_from) return kNone;
    const uint32_t chosen = planned.from == kNone ? planned.whole : planned.from;
    return left_empty(chosen) ? kNone : chosen;
  }

  model::Table<model::Stack, StackId> take_rows() { return rows_.take(); }

 private:
  struct Planned {
    uint8_t has;     // what some frame of it matches
    uint32_t whole;  // the new stack, from the root on
    uint32_t from;   // the new stack from the outermost frame on that others are shown from; kNone: there is none
    uint32_t end;    // the old stack that remains when callees are cut
    bool ended;      // a function whose callees are dropped is in it
    bool inside;     // a function that is not to be dropped is in it
  };

  Planned plan(StackId stack) {
    const model::Stack& row = profile_.stacks[stack];
    const uint8_t bits = matches_[row.frame];
    const Planned& above = of_[row.parent.value];
    Planned planned = above;
    planned.has = above.has | bits;
    const bool hidden = (bits & kHide) != 0 || (edit_.show && !(bits & kShow));
    const auto grown = [&](uint32_t parent) {
      return hidden ? parent : rows_.push(parent, row.frame, edit_.fold_recursion);
    };
    planned.whole = grown(above.whole);
    if (above.from != kNone || (bits & kFrom) != 0) planned.from = grown(above.from == kNone ? 0 : above.from);
    plan_end(planned, above, stack, bits);
    return planned;
  }

  void plan_end(Planned& planned, const Planned& above, StackId stack, uint8_t bits) const {
    planned.inside = above.inside || !(bits & kDrop);
    if (above.ended) return;
    if ((bits & kDrop) != 0 && above.inside) {
      planned.ended = true;  // and its end is that of its caller
      return;
    }
    // Callees of the innermost match go; without any match, none.
    const bool cut = edit_.prune_from && (above.has & kPrune) != 0 && !(bits & kPrune);
    if (!cut) planned.end = stack.value;
  }

  // Samples that had no stack at all keep having none; those whose frames were all taken away are left out, as pprof
  // does it.
  bool left_empty(uint32_t stack) const { return stack == 0 && (edit_.hide || edit_.show); }

  const Profile& profile_;
  const FrameMatches& matches_;
  const StackEdit& edit_;
  StackRows rows_;
  std::vector<Planned> of_;
};

// Which sets of labels let their samples stay.
std::vector<char> label_sets_taken(const Profile& profile, const StackEdit& edit) {
  std::vector<char> taken(profile.label_sets.size());
  for (uint32_t i = 0; i < taken.size(); ++i) {
    bool focused = false;
    bool ignored = false;
    for (const model::Label& label : profile.label_sets[model::LabelSetId{i}].labels) {
      const std::string_view text = profile.text(label.text);
      const std::string shown =
          fmt::format("{}:{}", profile.text(label.key),
                      text.empty() ? fmt::format("{}{}", label.number, profile.text(label.unit)) : std::string(text));
      focused = focused || (edit.tag_focus && edit.tag_focus->matches(shown));
      ignored = ignored || (edit.tag_ignore && edit.tag_ignore->matches(shown));
    }
    taken[i] = (!edit.tag_focus || focused) && !ignored;
  }
  return taken;
}

void append_row(model::Samples& to, const model::Samples& from, size_t i, StackId stack) {
  to.stack.push_back(stack);
  to.event.push_back(from.event[i]);
  to.thread.push_back(from.thread[i]);
  to.count.push_back(from.count[i]);
  to.value.push_back(from.value[i]);
  if (!from.time.empty()) to.time.push_back(from.time[i]);
  if (!from.cpu.empty()) to.cpu.push_back(from.cpu[i]);
  if (!from.labels.empty()) to.labels.push_back(from.labels[i]);
  if (!from.walk_end.empty()) to.walk_end.push_back(from.walk_end[i]);
}

void merge_templates(Profile& profile) {
  model::for_each_id(profile.functions, [&](model::FunctionId id) {
    model::Function& function = profile.functions[id];
    if (function.named) function.name = profile.strings.add(base::shorten_cpp_name(profile.text(function.name)));
  });
}

// True when a name changed.
bool merge_threads(Profile& profile, const Profile& named, const Pattern& pattern) {
  std::unordered_map<std::string, model::StringId> merged;  // what threads that are one are called
  model::for_each_id(profile.threads, [&](model::ThreadId id) {
    const std::string_view comm = named.text(named.threads[id].comm);
    if (!pattern.matches(comm)) return;
    const auto [at, fresh] = merged.try_emplace(pattern.replaced(comm, "*"));
    // Where names were replaced by hashes, the hash of the first stands for all.
    const model::StringId own = profile.threads[id].comm;
    if (fresh) at->second = profile.text(own) == comm ? profile.strings.add(at->first) : own;
    profile.threads[id].comm = at->second;
  });
  return !merged.empty();
}

std::vector<std::string> expressions_without_match(const StackEdit& edit, uint8_t any) {
  std::vector<std::string> nowhere;
  const auto tell = [&](const std::optional<Pattern>& pattern, std::string_view option, Match bit) {
    if (pattern && !(any & bit)) nowhere.push_back(fmt::format("{} '{}'", option, pattern->expression()));
  };
  tell(edit.focus, "--focus", kFocus);
  tell(edit.ignore, "--ignore", kIgnore);
  tell(edit.hide, "--hide", kHide);
  tell(edit.show, "--show", kShow);
  if (edit.bases.empty()) tell(edit.show_from, "--show-from", kFrom);
  tell(edit.prune_from, "--prune-from", kPrune);
  if (!edit.bases.empty() && !(any & kFrom)) nowhere.push_back(fmt::format("--base-frame '{}'", edit.bases[0]));
  return nowhere;
}

}  // namespace

bool StackEdit::changes_anything() const {
  return focus || ignore || hide || show || show_from || prune_from || tag_focus || tag_ignore || !tag_root.empty() ||
         !tag_leaf.empty() || !bases.empty() || fold_recursion || merge_templates || merge_threads || drop;
}

EditedProfile edit_stacks(const Profile& profile, const StackEdit& edit, const Profile& named) {
  EditedProfile edited{profile, model::totals(profile), {}, {}};
  Profile& out = edited.profile;
  if (edit.merge_templates) merge_templates(out);
  const FrameMatches matches(named, edit);
  edited.nowhere = expressions_without_match(edit, matches.any());
  if (edit.merge_threads && !merge_threads(out, named, *edit.merge_threads)) {
    edited.nowhere.push_back(fmt::format("--merge-threads '{}'", edit.merge_threads->expression()));
  }
  StackPlan plan(out, matches, edit);
  const std::vector<char> label_sets = label_sets_taken(named, edit);
  out.samples = {};
  const model::Samples& samples = profile.samples;
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t stack = plan[samples.stack[i]];
    const model::LabelSetId labels = samples.labels.empty() ? model::LabelSetId{} : samples.labels[i];
    if (stack == kNone || !label_sets[labels.value]) continue;
    append_row(out.samples, samples, i, StackId{stack});
  }
  out.stacks = plan.take_rows();
  if (!edit.tag_leaf.empty() && !add_label_frames(out, edit.tag_leaf, LabelPlace::kLeaf)) {
    edited.nowhere.push_back(fmt::format("--tagleaf '{}'", edit.tag_leaf));
  }
  if (!edit.tag_root.empty() && !add_label_frames(out, edit.tag_root, LabelPlace::kRoot)) {
    edited.nowhere.push_back(fmt::format("--tagroot '{}'", edit.tag_root));
  }
  edited.kept = model::totals(out);
  return edited;
}

}  // namespace tephra::analysis
