#include "symbols/embedded_answers.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/hash.h"
#include "objects/demangle.h"

namespace tephra::symbols {
namespace {

using model::CodeKind;
using model::EmbeddedNames;
using model::FrameId;
using model::Mapping;
using model::Profile;
using model::StringId;

// Names of the kernel and of generated code are shown as they are.
bool is_demangled(CodeKind kind) { return kind == CodeKind::kFile || kind == CodeKind::kVdso; }

// What tells mappings apart in tables with texts of their own.
struct MappingKey {
  std::string_view path;
  Mapping rest;  // without its path
  bool operator==(const MappingKey&) const = default;
};
struct MappingKeyHash {
  size_t operator()(const MappingKey& key) const {
    const uint64_t text = base::hash_bytes(base::as_bytes(key.path));
    const uint64_t id = base::hash_bytes(key.rest.build_id.bytes());
    return base::mix(base::mix(text, id), base::mix(key.rest.file.inode, key.rest.base + uint64_t(key.rest.pid)));
  }
};
MappingKey key_of(const Mapping& mapping, const model::StringTable& strings) {
  MappingKey key{strings[mapping.path], mapping};
  key.rest.path = {};
  return key;
}

const EmbeddedNames::Row* find_row(const EmbeddedNames& names, const EmbeddedNames::Module& module,
                                   const model::Frame& frame) {
  const std::span rows = std::span(names.rows).subspan(module.first_row, module.row_count);
  const auto place = [](const EmbeddedNames::Row& row) { return std::pair(row.address, row.kind); };
  const auto at = std::ranges::lower_bound(rows, std::pair(frame.address, frame.kind), {}, place);
  return at != rows.end() && at->address == frame.address && at->kind == frame.kind ? &*at : nullptr;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

EmbeddedAnswers::EmbeddedAnswers(const Profile& profile, const Options& options)
    : names_(profile.facts.names.get()), options_(options) {
  if (names_ == nullptr || names_->empty()) return;
  states_.resize(profile.frames.size());
  own_row_.resize(profile.frames.size());
  shown_.resize(names_->strings.size());
  add_frames(profile);
}

void EmbeddedAnswers::add_frames(const Profile& profile) {
  std::unordered_map<MappingKey, const EmbeddedNames::Module*, MappingKeyHash> by_key;
  for (const auto& module : names_->modules) by_key.emplace(key_of(module.mapping, names_->strings), &module);
  std::vector<const EmbeddedNames::Module*> modules(profile.mappings.size());
  model::for_each_id(profile.mappings, [&](model::MappingId id) {
    const auto found = by_key.find(key_of(profile.mappings[id], profile.strings));
    if (found != by_key.end()) modules[id.value] = found->second;
  });
  model::for_each_id(profile.frames, [&](FrameId id) {
    const model::Frame& frame = profile.frames[id];
    const EmbeddedNames::Module* module = modules[frame.mapping.value];
    if (id == FrameId{} || frame.function || module == nullptr) return;
    const EmbeddedNames::Row* row = find_row(*names_, *module, frame);
    if (row == nullptr) return;
    add(profile, id, *row);
    // Only a build id proves that a file at hand is the one that ran. Where the recorder saw no file at all, what there
    // is now is as good as without the recording's answer, and marked as unproven.
    const Mapping& mapping = profile.mappings[frame.mapping];
    const bool proven = !mapping.build_id.empty();
    const bool has_lines = names_->inlines_cut ? names_->levels[row->first_level].line != 0 : module->has_lines;
    const bool complete = row->named && (has_lines || !is_demangled(mapping.kind));
    const bool unseen = !row->named && (row->reason == model::Reason::file_missing || model::is_kernel(mapping.kind));
    states_[id.value] = complete || !(proven || unseen) ? State::kSettled : State::kMayBeRefined;
  });
}

void EmbeddedAnswers::add(const Profile& profile, FrameId frame, const EmbeddedNames::Row& row) {
  const Mapping& mapping = profile.mappings[profile.frames[frame].mapping];
  const uint32_t levels = options_.inlines && row.named ? row.level_count : 1;
  answers_.rows.push_back(
      {frame, static_cast<uint32_t>(answers_.levels.size()), levels, row.facts, row.reason, row.symbol_offset});
  own_row_[frame.value] = static_cast<uint32_t>(answers_.rows.size());
  if (!row.named && options_.exact_unknown && is_demangled(mapping.kind)) {
    const auto stand_in =
        fmt::format("[unknown] {}+{:#x}", file_name(profile.text(mapping.path)), profile.frames[frame].address);
    answers_.levels.push_back({answers_.strings.add(stand_in), {}, {}, 0, false});
    return;
  }
  for (uint32_t i = 0; i < levels; ++i) {
    const EmbeddedNames::Level& level = names_->levels[row.first_level + i];
    // Without inlined functions the one that holds the code has the line of the instruction.
    const EmbeddedNames::Level& place = names_->levels[row.first_level + (options_.inlines ? i : row.level_count - 1)];
    answers_.levels.push_back({shown(level, mapping, row.named),
                               answers_.strings.add(names_->strings[level.system_name]),
                               answers_.strings.add(names_->strings[place.file]), place.line, row.named});
  }
}

StringId EmbeddedAnswers::shown(const EmbeddedNames::Level& level, const Mapping& mapping, bool named) {
  if (level.name) return answers_.strings.add(names_->strings[level.name]);
  const std::string_view symbol = names_->strings[level.system_name];
  if (!named || !options_.demangle || !is_demangled(mapping.kind)) return answers_.strings.add(symbol);
  StringId& known = shown_[level.system_name.value];
  if (!known) {
    const auto parameters = options_.full_names ? objects::Parameters::kShow : objects::Parameters::kLeaveOut;
    known = answers_.strings.add(objects::demangle(symbol, parameters));
  }
  return known;
}

// Whether a file at hand tells more than the recording does.
bool EmbeddedAnswers::refines(const Answers& found, const Answers::Row& row) const {
  const Answers::Level& level = found.levels[row.first_level];
  if (!level.named) return false;
  const Answers::Row& own = answers_.rows[own_row_[row.frame.value] - 1];
  const Answers::Level& own_level = answers_.levels[own.first_level];
  return !own_level.named || (own_level.line == 0 && level.line != 0);
}

void EmbeddedAnswers::join(std::vector<Answers>& found) && {
  if (states_.empty()) return;
  std::vector<char> refined(states_.size());
  for (Answers& part : found) {
    std::erase_if(part.rows, [&](const Answers::Row& row) {
      if (state(row.frame) == State::kNone) return false;
      const bool better = state(row.frame) == State::kMayBeRefined && refines(part, row);
      refined[row.frame.value] = better;
      return !better;
    });
  }
  std::erase_if(answers_.rows, [&](const Answers::Row& row) { return refined[row.frame.value] != 0; });
  found.push_back(std::move(answers_));
}

namespace {

// Puts the answers for the frames of a profile into tables by mapping.
class Embedder {
 public:
  explicit Embedder(const Profile& profile) : profile_(profile) {}

  EmbeddedNames embed(std::span<const Answers> answers) && {
    std::vector<Place> places;
    for (const Answers& part : answers) {
      for (const Answers::Row& row : part.rows) places.push_back({&part, &row, &profile_.frames[row.frame]});
    }
    std::ranges::sort(places, {}, [](const Place& place) {
      return std::tuple(place.frame->mapping.value, place.frame->address, place.frame->kind);
    });
    for (const Place& place : places) add(place);
    return std::move(names_);
  }

 private:
  struct Place {
    const Answers* part;
    const Answers::Row* row;
    const model::Frame* frame;
  };

  void add(const Place& place) {
    // What has no mapping, or brought its own name, is told by the records themselves.
    const Mapping& mapping = profile_.mappings[place.frame->mapping];
    const bool has_file = mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kVdso;
    const bool of_kernel = mapping.kind == CodeKind::kKernel || mapping.kind == CodeKind::kKernelModule;
    if (!has_file && !of_kernel) return;
    const bool named = place.part->levels[place.row->first_level].named;
    const bool fresh = names_.modules.empty() || mapping_ != place.frame->mapping;
    if (fresh) begin_module(place.frame->mapping);
    EmbeddedNames::Row row;
    row.address = place.frame->address;
    row.kind = place.frame->kind;
    if (!fresh && names_.rows.back().address == row.address && names_.rows.back().kind == row.kind) return;
    row.named = named;
    row.facts = place.row->facts;
    row.reason = place.row->reason;
    row.symbol_offset = place.row->symbol_offset;
    row.first_level = static_cast<uint32_t>(names_.levels.size());
    row.level_count = place.row->level_count;
    for (uint32_t i = 0; i < row.level_count; ++i) add_level(*place.part, place.row->first_level + i, mapping);
    names_.rows.push_back(row);
    ++names_.modules.back().row_count;
  }

  void begin_module(model::MappingId id) {
    mapping_ = id;
    EmbeddedNames::Module module;
    module.mapping = profile_.mappings[id];
    module.mapping.path = names_.strings.add(profile_.text(module.mapping.path));
    module.first_row = static_cast<uint32_t>(names_.rows.size());
    names_.modules.push_back(module);
  }

  void add_level(const Answers& part, uint32_t at, const Mapping& mapping) {
    const Answers::Level& level = part.levels[at];
    const std::string_view name = part.strings[level.name];
    const std::string_view symbol = part.strings[level.system_name];
    const bool derived = level.named && !symbol.empty() &&
                         name == (is_demangled(mapping.kind) ? demangled(symbol) : std::string(symbol));
    names_.levels.push_back({derived ? StringId{} : names_.strings.add(name), names_.strings.add(symbol),
                             names_.strings.add(part.strings[level.file]), level.line});
    if (level.line != 0) names_.modules.back().has_lines = true;
  }

  // Once per symbol; the views are of answers that outlive us.
  const std::string& demangled(std::string_view symbol) {
    const auto [at, fresh] = demangled_.try_emplace(symbol);
    if (fresh) at->second = objects::demangle(symbol);
    return at->second;
  }

  const Profile& profile_;
  EmbeddedNames names_;
  model::MappingId mapping_;
  std::unordered_map<std::string_view, std::string> demangled_;
};

}  // namespace

EmbeddedNames embed(const Profile& profile, std::span<const Answers> answers) {
  return Embedder(profile).embed(answers);
}

}  // namespace tephra::symbols
