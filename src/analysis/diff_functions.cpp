#include "analysis/diff_functions.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/labels.h"

namespace tephra::analysis {
namespace {

using Ids = std::unordered_map<std::string, uint32_t>;

uint32_t id_of(Ids& ids, std::string text) {
  return ids.try_emplace(std::move(text), static_cast<uint32_t>(ids.size())).first->second;
}

constexpr std::string_view kUnknownModule = "[unknown]";
constexpr std::string_view kKernelModule = "[kernel]";

// Folded stacks mark kinds of code at the end of names; other formats know them without.
std::string_view without_mark(std::string_view name) {
  for (const std::string_view mark : {"_[k]", "_[j]", "_[i]"}) {
    if (name.size() > mark.size() && name.ends_with(mark)) return name.substr(0, name.size() - mark.size());
  }
  return name;
}

bool imported(const model::Profile& profile, model::FrameId frame) {
  return profile.code_kind(frame) == model::CodeKind::kImported;
}

std::string_view plain_name(const model::Profile& profile, model::FrameId frame, std::string_view label) {
  return imported(profile, frame) ? without_mark(label) : label;
}

// Kernel modules keep their own names.
std::string_view module_of(const model::Profile& profile, model::FrameId frame) {
  if (imported(profile, frame) && frame_kind(profile, frame) == FrameKind::kKernel) return kKernelModule;
  return module_name(profile, profile.frames[frame].mapping);
}

// A frame by the numbers of its name and its module.
struct Keys {
  uint32_t name = 0;
  uint32_t module = 0;
  auto operator<=>(const Keys&) const = default;
};

// The names and modules of all frames, across builds.
class FrameKeys {
 public:
  explicit FrameKeys(const DiffMatchOptions& options) : options_(options) {}

  std::vector<Keys> of(const DiffProfile& side) {
    const model::Profile& profile = *side.named;
    std::unordered_map<uint64_t, uint32_t> of_function;
    std::vector<uint32_t> of_mapping(profile.mappings.size(), DiffFunctions::kNone);
    std::vector<Keys> keys(profile.frames.size());
    for (uint32_t i = 0; i < keys.size(); ++i) {
      const model::FrameId frame{i};
      const model::Frame& row = profile.frames[frame];
      keys[i].module = module(profile, frame, of_mapping);
      if (profile.function_name(frame).empty()) {
        keys[i].name = name(profile, frame, side.side);
        continue;
      }
      const uint64_t function = uint64_t{row.function.value} << 1 | uint64_t{imported(profile, frame)};
      const auto [at, fresh] = of_function.try_emplace(function);
      if (fresh) at->second = name(profile, frame, side.side);
      keys[i].name = at->second;
    }
    return keys;
  }

  std::set<std::string> not_renamed() const {
    std::set<std::string> missing;
    for (const auto& [old_name, new_name] : options_.renamed) {
      if (!found_old_.contains(old_name) || !found_new_.contains(new_name)) missing.insert(old_name);
    }
    return missing;
  }

  uint32_t unknown_module() { return id_of(modules_, std::string(kUnknownModule)); }

 private:
  uint32_t name(const model::Profile& profile, model::FrameId frame, DiffSide side) {
    const std::string label = frame_label(profile, frame);
    std::string key = name_across_builds(plain_name(profile, frame, label), options_.names);
    if (side == DiffSide::kBefore) {
      if (const auto renamed = options_.renamed.find(key); renamed != options_.renamed.end()) {
        found_old_.insert(key);
        key = renamed->second;
      }
    } else if (!options_.renamed.empty()) {
      found_new_.insert(key);
    }
    return id_of(names_, std::move(key));
  }

  uint32_t module(const model::Profile& profile, model::FrameId frame, std::vector<uint32_t>& of_mapping) {
    const auto find = [&] { return id_of(modules_, module_across_builds(module_of(profile, frame))); };
    if (imported(profile, frame)) return find();
    uint32_t& known = of_mapping[profile.frames[frame].mapping.value];
    if (known == DiffFunctions::kNone) known = find();
    return known;
  }

  const DiffMatchOptions& options_;
  std::set<std::string> found_old_;
  std::set<std::string> found_new_;
  Ids names_;
  Ids modules_;
};

// The modules that a name is in, on each side.
struct Modules {
  std::set<uint32_t> of_side[kDiffSides];
};

// Which module of the side after is meant by a module before, and which modules do not count.
class ModuleMatch {
 public:
  ModuleMatch(const Modules& modules, uint32_t unknown) {
    const auto& before = modules.of_side[0];
    const auto& after = modules.of_side[1];
    const auto says_nothing = [&](const std::set<uint32_t>& side) {
      return side.size() == 1 && side.contains(unknown);
    };
    by_name_alone_ = (before.size() <= 1 && after.size() <= 1) || says_nothing(before) || says_nothing(after);
    std::vector<uint32_t> only_before;
    std::vector<uint32_t> only_after;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(only_before));
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(only_after));
    if (only_before.size() == 1 && only_after.size() == 1) moved_ = {only_before[0], only_after[0]};
  }

  uint32_t operator()(uint32_t module) const {
    if (by_name_alone_) return 0;
    return module == moved_.first ? moved_.second : module;
  }

 private:
  bool by_name_alone_ = false;
  std::pair<uint32_t, uint32_t> moved_{DiffFunctions::kNone, DiffFunctions::kNone};
};

// Notes what a function is called in a profile.
void show(DiffFunctionName& row, DiffSide side, std::string_view name, std::string_view module, bool kernel) {
  const bool first = !row.on_side[0] && !row.on_side[1];
  if (side == DiffSide::kAfter && !row.on_side[1] && row.on_side[0] && row.name != name) {
    row.before_name = std::exchange(row.name, std::string(name));
  }
  if (first) {
    row.name = name;
    row.module = module;
    row.kernel = kernel;
  } else if (row.module != module && row.module == kUnknownModule) {
    row.module = module;
  }
  row.on_side[static_cast<size_t>(side)] = true;
}

std::string_view comm_of(const model::Profile& profile, model::ThreadId thread) {
  const std::string_view comm = profile.text(profile.threads[thread].comm);
  return comm.empty() ? "[unknown thread]" : comm;
}

bool is_anonymous(const model::Thread& thread) { return !thread.comm && thread.pid < 0 && thread.tid < 0; }

// The weight of the threads of each name, as a share of its side.
std::map<std::string, double> shares_of_threads(const std::vector<DiffProfile>& profiles, DiffSide side) {
  std::map<std::string, double> shares;
  double whole = 0;
  for (const DiffProfile& input : profiles) {
    if (input.side != side) continue;
    const model::Samples& samples = input.named->samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      whole += static_cast<double>(samples.count[i]);
      if (is_anonymous(input.named->threads[samples.thread[i]])) continue;
      shares[std::string(comm_of(*input.named, samples.thread[i]))] += static_cast<double>(samples.count[i]);
    }
  }
  for (auto& [name, share] : shares) share /= std::max(1.0, whole);
  return shares;
}

// The one thread name of `here` that matters and is not on the other side.
std::string only_here(const std::map<std::string, double>& here, const std::map<std::string, double>& there) {
  constexpr double kMatters = 0.05;
  std::string found;
  for (const auto& [name, share] : here) {
    if (share < kMatters || there.contains(name)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

struct DiffFunctions::Matching {
  std::vector<std::vector<Keys>> keys;                // of profiles, by frame
  std::unordered_map<uint32_t, ModuleMatch> modules;  // by name; only names that stacks have
};

DiffFunctions::DiffFunctions(const std::vector<DiffProfile>& profiles, const DiffMatchOptions& options) {
  FrameKeys frame_keys(options);
  Matching matching;
  std::unordered_map<uint32_t, Modules> modules;
  for (const DiffProfile& input : profiles) {
    const std::vector<Keys>& keys = matching.keys.emplace_back(frame_keys.of(input));
    std::vector<char> seen(input.profile->frames.size());
    for (uint32_t i = 1; i < input.profile->stacks.size(); ++i) {
      const uint32_t frame = input.profile->stacks[model::StackId{i}].frame.value;
      if (std::exchange(seen[frame], 1) != 0) continue;
      modules[keys[frame].name].of_side[static_cast<size_t>(input.side)].insert(keys[frame].module);
    }
  }
  not_renamed_ = frame_keys.not_renamed();
  const uint32_t unknown = frame_keys.unknown_module();
  for (const auto& [name, of_name] : modules) matching.modules.try_emplace(name, of_name, unknown);
  match_frames(profiles, matching);
  match_threads(profiles);
}

void DiffFunctions::match_frames(const std::vector<DiffProfile>& profiles, const Matching& matching) {
  std::map<Keys, uint32_t> rows;
  for (size_t p = 0; p < profiles.size(); ++p) {
    const model::Profile& profile = *profiles[p].profile;
    auto& of_frame = of_frame_.emplace_back(profile.frames.size(), kNone);
    for (uint32_t i = 0; i < profile.frames.size(); ++i) {
      const Keys& keys = matching.keys[p][i];
      const auto match = matching.modules.find(keys.name);
      if (match == matching.modules.end()) continue;
      const auto [at, fresh] =
          rows.try_emplace({keys.name, match->second(keys.module)}, static_cast<uint32_t>(names_.size()));
      if (fresh) names_.emplace_back();
      of_frame[i] = at->second;
      const model::FrameId frame{i};
      const std::string label = frame_label(profile, frame);
      show(names_[at->second], profiles[p].side, plain_name(profile, frame, label), module_of(profile, frame),
           frame_kind(profile, frame) == FrameKind::kKernel);
    }
  }
}

// A program that was renamed has one name of threads on each side that the other does not have.
void DiffFunctions::match_threads(const std::vector<DiffProfile>& profiles) {
  const auto before = shares_of_threads(profiles, DiffSide::kBefore);
  const auto after = shares_of_threads(profiles, DiffSide::kAfter);
  const std::string old_name = only_here(before, after);
  const std::string new_name = only_here(after, before);
  const bool joined = !old_name.empty() && !new_name.empty();
  std::map<std::string, uint32_t> bases;
  for (size_t p = 0; p < profiles.size(); ++p) {
    const model::Profile& profile = *profiles[p].profile;
    auto& of_thread = of_thread_.emplace_back(profile.threads.size(), kNone);
    model::for_each_id(profile.threads, [&](model::ThreadId thread) {
      if (is_anonymous(profile.threads[thread])) return;
      std::string comm(comm_of(*profiles[p].named, thread));
      if (joined && comm == old_name && profiles[p].side == DiffSide::kBefore) comm = new_name;
      const auto [at, fresh] = bases.try_emplace(comm, static_cast<uint32_t>(names_.size()));
      if (fresh) names_.emplace_back().base = true;
      show(names_[at->second], profiles[p].side, comm_of(profile, thread), "", false);
      of_thread[thread.value] = at->second;
    });
  }
  if (!joined) return;
  const DiffFunctionName& row = names_[bases.at(new_name)];
  joined_threads_.emplace_back(row.before_name, row.name);
}

}  // namespace tephra::analysis
