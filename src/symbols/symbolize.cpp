#include "symbols/symbolize.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/parallel.h"
#include "model/lock_places.h"
#include "objects/demangle.h"
#include "symbols/embedded_answers.h"
#include "symbols/file_answers.h"
#include "symbols/kernel_answers.h"

namespace tephra::symbols {
namespace {

using model::CodeKind;
using model::Frame;
using model::FrameId;
using model::FunctionId;
using model::MappingId;
using model::Profile;
using model::Reason;
using model::StackId;
using model::StringId;

// A generated function brought its name, and perhaps its lines; most names are text for people already.
void answer_generated(const Profile& profile, FrameId frame, const Options& options, Answers& answers) {
  const Frame& row = profile.frames[frame];
  const model::Mapping& mapping = profile.mappings[row.mapping];
  const std::string_view name = profile.text(mapping.path);
  if (name.empty()) {
    answers.add_unknown(frame, fmt::format("[unknown] [anon]+{:#x}", row.address), Reason::jit_code_doubtful);
    return;
  }
  const auto parameters = options.full_names ? objects::Parameters::kShow : objects::Parameters::kLeaveOut;
  const bool mangled = options.demangle && objects::is_mangled(name);
  answers.add_named(frame, mangled ? objects::demangle(name, parameters) : std::string(name), name,
                    row.address - mapping.base);
  answers.levels.back().file = answers.strings.add(profile.text(row.file));
  answers.levels.back().line = row.line;
  if (mapping.unproven) answers.rows.back().reason = Reason::jit_map_unproven;
}

// Frames without a place to look: what there is to say about them is in the profile itself.
Answers answer_without_source(const Profile& profile, const std::vector<FrameId>& frames, const Options& options) {
  Answers answers;
  for (const FrameId frame : frames) {
    const Frame& row = profile.frames[frame];
    const model::Mapping& mapping = profile.mappings[row.mapping];
    switch (mapping.kind) {
      case CodeKind::kKernelCode:
        answers.add_named(frame, profile.text(mapping.path), profile.text(mapping.path), row.address - mapping.base);
        break;
      case CodeKind::kJit:
        answer_generated(profile, frame, options, answers);
        break;
      case CodeKind::kAnonymous:
        answers.add_unknown(frame, fmt::format("[unknown] [anon]+{:#x}", row.address), Reason::jit_code_unnamed);
        break;
      default:
        answers.add_unknown(frame, fmt::format("[unknown] {:#x}", row.address), Reason::address_not_mapped);
    }
  }
  return answers;
}

// Which frames are looked up together.
struct Batches {
  std::vector<FrameId> kernel;
  std::vector<FrameId> without_source;
  std::vector<std::pair<MappingId, std::vector<FrameId>>> files;
};

Batches group(const Profile& profile, const EmbeddedAnswers& known) {
  Batches batches;
  std::unordered_map<MappingId, size_t> file_index;
  model::for_each_id(profile.frames, [&](FrameId id) {
    const Frame& frame = profile.frames[id];
    if (id == FrameId{} || frame.function || known.settles(id)) return;
    switch (profile.mappings[frame.mapping].kind) {
      case CodeKind::kKernel:
      case CodeKind::kKernelModule:
        batches.kernel.push_back(id);
        break;
      case CodeKind::kFile:
      case CodeKind::kVdso: {
        const auto [at, fresh] = file_index.try_emplace(frame.mapping, batches.files.size());
        if (fresh) batches.files.push_back({frame.mapping, {}});
        batches.files[at->second].second.push_back(id);
        break;
      }
      default:
        batches.without_source.push_back(id);
    }
  });
  // The longest work first, so that the threads end together.
  std::ranges::stable_sort(batches.files, std::greater(), [](const auto& file) { return file.second.size(); });
  return batches;
}

// Puts the answers into a copy of the profile.
class Rewriter {
 public:
  explicit Rewriter(const Profile& profile) : profile_(profile), rows_(profile.frames.size()) {
    out_.strings = profile.strings;
    out_.mappings = profile.mappings;
    out_.functions = profile.functions;
    out_.events = profile.events;
    out_.threads = profile.threads;
    out_.label_sets = profile.label_sets;
    out_.samples = profile.samples;
    out_.quality = profile.quality;
    out_.facts = profile.facts;
    out_.facts.names.reset();
    out_.frames.add(Frame{});
    out_.stacks.add(model::Stack{});
    model::for_each_id(profile.functions, [&](FunctionId id) { functions_.emplace(profile.functions[id], id); });
  }

  Profile rewrite(const std::vector<Answers>& answers) && {
    reasons_.resize(profile_.frames.size());
    find_lock_places();
    for (const Answers& part : answers) add(part);
    name_locks();
    keep_known_frames();
    rewrite_stacks();
    count_reasons();
    return std::move(out_);
  }

 private:
  struct FunctionHash {
    size_t operator()(const model::Function& row) const {
      return base::mix(row.name.value, uint64_t{row.system_name.value} << 1 | (row.named ? 1 : 0));
    }
  };
  // Where the rows for one old frame are: outer before inner.
  struct Rows {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  void add(const Answers& part) {
    std::vector<StringId> texts(part.strings.size());
    for (uint32_t i = 0; i < texts.size(); ++i) texts[i] = out_.strings.add(part.strings[StringId{i}]);
    for (const Answers::Row& answer : part.rows) {
      if (is_lock_place(answer.frame)) {
        const Answers::Level& level = part.levels[answer.first_level];
        if (level.named) lock_names_[answer.frame] = {texts[level.name.value], answer.symbol_offset};
        continue;
      }
      rows_[answer.frame.value] = {static_cast<uint32_t>(out_.frames.size()), answer.level_count};
      reasons_[answer.frame.value] = answer.reason;
      for (uint32_t i = 0; i < answer.level_count; ++i) {
        const Answers::Level& level = part.levels[answer.first_level + i];
        Frame row = profile_.frames[answer.frame];
        row.inlined = i > 0;
        row.facts |= answer.facts;
        row.function = function({texts[level.name.value], texts[level.system_name.value], level.named, 0});
        row.file = texts[level.file.value];
        row.line = level.line;
        row.symbol_offset = answer.symbol_offset;
        out_.frames.add(row);
      }
    }
  }

  // Frames that only labels refer to (model/lock_places.h). What damaged files put into stacks is none.
  void find_lock_places() {
    lock_places_.resize(profile_.frames.size());
    for (uint32_t i = 1; i < lock_places_.size(); ++i) {
      const Frame& frame = profile_.frames[FrameId{i}];
      lock_places_[i] = !frame.function && model::is_data_address(frame.address) &&
                        profile_.mappings[frame.mapping].kind == CodeKind::kFile;
    }
    for (const model::Stack& stack : profile_.stacks) lock_places_[stack.frame.value] = 0;
  }
  bool is_lock_place(FrameId frame) const { return lock_places_[frame.value] != 0; }

  // Puts names into labels; the frames are not needed any more.
  void name_locks() {
    model::for_each_id(out_.label_sets, [&](model::LabelSetId id) {
      model::LabelSet& set = out_.label_sets[id];
      for (model::Label& label : set.labels) {
        if (label.number <= 0 || out_.text(label.key) != model::kLockKey || !label.text) continue;
        const auto place = static_cast<uint64_t>(label.number);
        if (place >= lock_places_.size() || lock_places_[place] == 0) continue;
        label.number = 0;
        const auto name = lock_names_.find(FrameId{static_cast<uint32_t>(place)});
        if (name != lock_names_.end()) label.text = out_.strings.add(text_of(name->second));
      }
      std::ranges::sort(set.labels);
    });
  }

  struct LockName {
    StringId variable;
    uint32_t offset = 0;
  };
  std::string text_of(const LockName& name) const {
    std::string text(out_.text(name.variable));
    if (name.offset != 0) text += fmt::format("+{:#x}", name.offset);
    return text;
  }

  FunctionId function(const model::Function& row) {
    const auto [at, fresh] = functions_.try_emplace(row);
    if (fresh) at->second = out_.functions.add(row);
    return at->second;
  }

  void keep_known_frames() {
    for (uint32_t i = 1; i < rows_.size(); ++i) {
      if (rows_[i].count != 0 || is_lock_place(FrameId{i})) continue;
      rows_[i] = {static_cast<uint32_t>(out_.frames.size()), 1};
      out_.frames.add(profile_.frames[FrameId{i}]);
    }
  }

  // A stack becomes one row for each row of its frame. Different frames have different rows, so the tree stays a tree
  // of distinct children.
  void rewrite_stacks() {
    std::vector<StackId> moved(profile_.stacks.size());
    for (uint32_t i = 1; i < moved.size(); ++i) {
      const model::Stack& stack = profile_.stacks[StackId{i}];
      StackId at = moved[stack.parent.value];
      const Rows rows = rows_[stack.frame.value];
      for (uint32_t row = rows.first; row < rows.first + rows.count; ++row) {
        at = out_.stacks.add(model::Stack{at, FrameId{row}});
      }
      moved[i] = at;
    }
    for (StackId& stack : out_.samples.stack) stack = moved[stack.value];
  }

  void count_reasons() {
    std::vector<uint64_t> samples(profile_.stacks.size());
    for (size_t i = 0; i < profile_.samples.size(); ++i) {
      samples[profile_.samples.stack[i].value] += profile_.samples.count[i];
    }
    for (size_t i = samples.size(); i-- > 1;) {
      const model::Stack& stack = profile_.stacks[StackId{static_cast<uint32_t>(i)}];
      if (const auto reason = reasons_[stack.frame.value]) out_.quality[*reason] += samples[i];
      samples[stack.parent.value] += samples[i];
    }
  }

  const Profile& profile_;
  Profile out_;
  std::vector<Rows> rows_;  // by old frame
  std::vector<std::optional<Reason>> reasons_;
  std::vector<char> lock_places_;  // by old frame
  std::unordered_map<FrameId, LockName> lock_names_;
  std::unordered_map<model::Function, FunctionId, FunctionHash> functions_;
};

}  // namespace

std::vector<Answers> look_up(const Profile& profile, const Options& given) {
  Options options = given;
  if (!options.finder) options.finder = std::make_shared<FileFinder>();
  EmbeddedAnswers known(profile, options);
  const Batches batches = group(profile, known);
  std::vector<std::function<Answers()>> work;
  if (!batches.kernel.empty()) {
    work.push_back([&] { return answer_kernel(profile, batches.kernel, {}, options.finder.get(), options.cache); });
  }
  for (const auto& file : batches.files) {
    work.push_back([&] { return answer_file(profile, file.first, file.second, options); });
  }
  if (!batches.without_source.empty()) {
    work.push_back([&] { return answer_without_source(profile, batches.without_source, options); });
  }
  std::vector<Answers> answers(work.size());
  base::parallel_for(work.size(), [&](size_t index) { answers[index] = work[index](); });
  std::move(known).join(answers);
  return answers;
}

Profile symbolize(const Profile& profile, const Options& options) {
  return Rewriter(profile).rewrite(look_up(profile, options));
}

}  // namespace tephra::symbols
