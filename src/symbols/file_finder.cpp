#include "symbols/file_finder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "objects/crc32.h"
#include "objects/debuginfod.h"
#include "symbols/kept_files.h"
#include "symbols/regular_file.h"

namespace tephra::symbols {
namespace {

using base::Bytes;
using base::FileContent;
using model::BuildId;
using model::Reason;
using objects::Debuginfod;
using objects::ElfFile;

// Reading a whole file for its checksum takes a second a gigabyte.
constexpr size_t kLargestChecksummed = size_t{2} << 30;
// Files of a folder named after a build id.
constexpr size_t kMostInFolder = 16;
// Refusals that are told; the rest is counted.
constexpr size_t kMostRefusals = 64;

// Whether another file of the same filesystem is at `path` now. Devices tell nothing when they differ: layered
// filesystems show another one to the kernel than to programs.
bool was_replaced(const std::string& path, const model::FileIdentity& recorded) {
  struct stat now {};
  if (recorded.inode == 0 || ::stat(path.c_str(), &now) != 0) return false;
  const uint64_t device = uint64_t{major(now.st_dev)} << 32 | minor(now.st_dev);
  return recorded.device == device && recorded.inode != now.st_ino;
}

int64_t changed_at(const std::string& path) {
  struct stat now {};
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return ::stat(path.c_str(), &now) == 0 ? now.st_mtim.tv_sec * kNanoseconds + now.st_mtim.tv_nsec : 0;
}

// Whether a file that was kept is still the one that ran; without a build id KeptFiles has seen to it.
bool is_proven(base::Bytes file, const model::BuildId& build_id) {
  if (build_id.empty()) return true;
  const auto elf = ElfFile::parse(file);
  return elf && same_build_id(elf->build_id(), build_id.bytes());
}

FileFinder::Found not_found(Reason reason) { return {nullptr, {}, reason}; }

FileFinder::Found found(RegularContent content, std::string path) {
  const bool trusted = is_trusted_owner(content.owner);
  return {std::make_shared<const FileContent>(std::move(content)), std::move(path), {}, false, trusted};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// ".build-id/ab/cdef…" below `root`; empty for an id of less than two bytes.
std::string by_build_id(const std::string& root, const std::string& hex, std::string_view suffix) {
  if (hex.size() < 4) return {};
  return fmt::format("{}/.build-id/{}/{}{}", root, hex.substr(0, 2), hex.substr(2), suffix);
}

// The regular files of a folder, a few at most.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files.push_back(entry.path());
    if (files.size() == kMostInFolder) break;
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> split_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// What a file adds to the one that ran, the least first.
enum class Adds { kNothing, kSymbols, kDebugInfo };

Adds what_adds(Bytes file) {
  const auto elf = ElfFile::parse(file);
  if (!elf) return Adds::kNothing;
  if (elf->has_debug_info()) return Adds::kDebugInfo;
  const auto* symbols = elf->section(".symtab");
  return symbols != nullptr && !symbols->content.empty() ? Adds::kSymbols : Adds::kNothing;
}

// The best of the files that could be a debug file. One of the right build id need not be: a copy of the stripped
// program is found by it, too.
class BestDebugFile {
 public:
  // Whether the search is over.
  bool complete() const { return best_ && adds_ == Adds::kDebugInfo; }

  void offer(RegularContent content, const std::string& path) {
    const Adds adds = what_adds(content.bytes());
    if (best_ && adds <= adds_) return;
    best_ = found(std::move(content), path);
    adds_ = adds;
  }
  const std::optional<FileFinder::Found>& best() const { return best_; }

 private:
  std::optional<FileFinder::Found> best_;
  Adds adds_ = Adds::kNothing;
};

}  // namespace

FinderOptions FinderOptions::from_environment() {
  FinderOptions options;
  if (const char* path = std::getenv("PPROF_BINARY_PATH"); path != nullptr) {
    options.binary_folders = split_list(path);
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    options.binary_folders = {std::string(home) + "/pprof/binaries"};
  }
  options.debuginfod = Debuginfod::configured();
  if (const char* text = std::getenv("DEBUGINFOD_TIMEOUT"); text != nullptr) {
    const double seconds = std::strtod(text, nullptr);
    if (seconds > 0 && seconds < 1e6) options.debuginfod_timeout_s = seconds;
  }
  return options;
}

bool same_build_id(Bytes a, Bytes b) {
  a = a.first(std::min(a.size(), BuildId::kMostBytes));
  b = b.first(std::min(b.size(), BuildId::kMostBytes));
  if (a.size() > b.size()) std::swap(a, b);
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  return !a.empty() && std::ranges::equal(a, b.first(a.size())) && std::ranges::all_of(b.subspan(a.size()), is_zero);
}

struct FileFinder::State {
  explicit State(FinderOptions given) : options(std::move(given)) {
    while (options.symfs.size() > 1 && options.symfs.ends_with('/')) options.symfs.pop_back();
    if (options.debuginfod) servers.emplace(server_options());
  }

  Debuginfod::Options server_options() {
    Debuginfod::Options wanted{.timeout_s = options.debuginfod_timeout_s};
    if (!options.progress) return wanted;
    wanted.progress = [this](uint64_t got, uint64_t total) { options.progress({fetching, got, total}); };
    wanted.done = [this] { options.progress({}); };
    return wanted;
  }

  std::optional<Found> known(const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto at = answers.find(key);
    return at != answers.end() ? std::optional(at->second) : std::nullopt;
  }

  // The answer for `key`, which `make` finds when it was not asked for before.
  template <class Make>
  Found remember(const std::string& key, Make make) {
    if (auto before = known(key)) return *std::move(before);
    Found answer = make();
    const std::lock_guard lock(mutex);
    return answers.try_emplace(key, std::move(answer)).first->second;
  }

  void refuse(const std::string& path, const std::string& why) {
    const std::lock_guard lock(mutex);
    std::string line = fmt::format("{}: {}", path, why);
    if (std::ranges::find(refusals, line) != refusals.end()) return;
    if (refusals.size() < kMostRefusals) refusals.push_back(std::move(line));
  }

  // The file at `path` if it has the build id. Sets `refused` where there is another.
  std::optional<RegularContent> with_build_id(const std::string& path, Bytes wanted, bool& refused) {
    if (path.empty()) return std::nullopt;
    Refusal refusal{};
    auto content = open_regular(path, &refusal);
    if (!content) {
      if (refusal != Refusal::kNone) refused = true, refuse(path, content.error().why);
      return std::nullopt;
    }
    if (has_build_id(content->bytes(), path, wanted)) return std::move(content).value();
    refused = true;
    return std::nullopt;
  }

  bool has_build_id(Bytes file, const std::string& path, Bytes wanted) {
    const auto elf = ElfFile::parse(file);
    if (elf && same_build_id(elf->build_id(), wanted)) return true;
    const std::string here = !elf                      ? "it is not an ELF file of this byte order"
                             : elf->build_id().empty() ? "it has no build id"
                                                       : "its build id is " + BuildId(elf->build_id()).hex();
    refuse(path, fmt::format("not used: {}, wanted is {}", here, BuildId(wanted).hex()));
    return false;
  }

  // What a server sends is believed no more than what is on disk.
  std::optional<RegularContent> fetch(Debuginfod::Kind kind, Bytes build_id, const std::string& path, Found& at) {
    if (!servers || build_id.size() < 2) return std::nullopt;
    std::unique_lock lock(fetch_mutex);
    fetching = name_of(path);
    auto fetched = servers->fetch(kind, build_id);
    lock.unlock();
    if (!fetched) {
      if (const std::string trouble = servers->trouble(); !trouble.empty()) refuse("debuginfod", trouble);
      return std::nullopt;
    }
    at.path = fetched->path;
    auto content = content_of_regular(fetched->fd.get(), fetched->path);
    if (!content) return std::nullopt;
    if (has_build_id(content->bytes(), fetched->path + " (from debuginfod)", build_id))
      return std::move(content).value();
    // Another answer may be right some day.
    ::unlink(fetched->path.c_str());
    return std::nullopt;
  }

  // A path of the recorded machine, on this one.
  std::string below_symfs(const std::string& path) const {
    return options.symfs + (path.starts_with('/') ? "" : "/") + path;
  }

  // Where a debug root of the recorded machine may be on this one.
  std::vector<std::string> roots() const {
    std::vector<std::string> all;
    if (!options.symfs.empty()) {
      all.push_back(options.symfs);
      for (const std::string& root : options.debug_roots) all.push_back(below_symfs(root));
    }
    all.insert(all.end(), options.debug_roots.begin(), options.debug_roots.end());
    return all;
  }

  std::vector<std::string> code_candidates(const WantedFile& file, const std::string& hex) const;
  std::vector<std::string> debug_candidates(const std::string& hex) const;
  std::vector<std::string> link_candidates(const std::string& path, std::string_view name) const;

  enum class Servers { kAsk, kLeave };
  Found find_code(const WantedFile& file, Servers servers);
  Found find_unproven(const WantedFile& file);
  Found find_debug(const std::string& path, Bytes build_id, const ElfFile* elf);
  void find_linked(const std::string& path, Bytes build_id, const ElfFile::DebugLink& link, BestDebugFile& best);

  FinderOptions options;
  std::optional<Debuginfod> servers;
  int64_t recorded_until = INT64_MAX;
  std::mutex fetch_mutex;  // guards `fetching`, for as long as it is shown
  std::string fetching;
  mutable std::mutex mutex;  // guards what follows
  std::map<std::string, Found> answers;
  std::vector<std::string> refusals;
};

// pprof's rules for a folder of PPROF_BINARY_PATH: named after the build id, perf's, the one of .build-id folders, and
// by name and path as below a symfs.
std::vector<std::string> FileFinder::State::code_candidates(const WantedFile& file, const std::string& hex) const {
  std::vector<std::string> paths;
  if (!options.symfs.empty()) {
    paths.push_back(below_symfs(file.path));
    if (!hex.empty()) paths.push_back(by_build_id(options.symfs, hex, ""));
  }
  if (!hex.empty() || options.symfs.empty()) paths.push_back(file.path);
  for (const std::string& folder : options.binary_folders) {
    if (hex.size() >= 4) {
      const auto named = files_in(folder + "/" + hex);
      paths.insert(paths.end(), named.begin(), named.end());
      paths.push_back(folder + file.path + "/" + hex);
      paths.push_back(fmt::format("{}/{}/{}.debug", folder, hex.substr(0, 2), hex.substr(2)));
    }
    paths.push_back(folder + "/" + name_of(file.path));
    paths.push_back(folder + (file.path.starts_with('/') ? "" : "/") + file.path);
  }
  if (!hex.empty()) {
    for (const std::string& root : roots()) paths.push_back(by_build_id(root, hex, ""));
    paths.push_back(by_build_id("/usr/lib", hex, ""));
  }
  return paths;
}

FileFinder::Found FileFinder::State::find_unproven(const WantedFile& file) {
  // Without a build id nothing proves that a file elsewhere is the one; pprof takes it by its name all the same.
  for (const std::string& path : code_candidates(file, {})) {
    Refusal refusal{};
    auto content = open_regular(path, &refusal);
    if (!content) {
      if (refusal != Refusal::kNone) refuse(path, content.error().why);
      continue;
    }
    if (path == file.path && was_replaced(path, file.identity)) {
      refuse(path, "not used: it is another file than the one that ran");
      return not_found(Reason::build_id_mismatch);
    }
    // Copies elsewhere have the time at which they were made.
    if (path == file.path && changed_at(path) > recorded_until) {
      refuse(path, "not used: it was changed after the recording was made, and has no build id");
      return not_found(Reason::build_id_mismatch);
    }
    return found(std::move(content).value(), path);
  }
  return not_found(Reason::file_missing);
}

FileFinder::Found FileFinder::State::find_code(const WantedFile& file, Servers asked) {
  if (options.kept != nullptr) {
    auto content = options.kept->open(file.build_id, file.identity);
    if (content && is_proven(content->bytes(), file.build_id)) {
      Found answer = found(std::move(*content), file.path);
      answer.kept = true;
      return answer;
    }
  }
  if (file.build_id.empty()) return find_unproven(file);
  bool refused = false;
  for (const std::string& path : code_candidates(file, file.build_id.hex())) {
    if (auto content = with_build_id(path, file.build_id.bytes(), refused)) return found(std::move(*content), path);
  }
  Found fetched;
  if (asked == Servers::kAsk) {
    if (auto content = fetch(Debuginfod::Kind::kExecutable, file.build_id.bytes(), file.path, fetched)) {
      return found(std::move(*content), fetched.path);
    }
  }
  return not_found(refused ? Reason::build_id_mismatch : Reason::file_missing);
}

std::vector<std::string> FileFinder::State::debug_candidates(const std::string& hex) const {
  std::vector<std::string> paths;
  for (const std::string& root : roots()) paths.push_back(by_build_id(root, hex, ".debug"));
  for (const std::string& folder : options.binary_folders) {
    paths.push_back(fmt::format("{}/{}/{}.debug", folder, hex.substr(0, 2), hex.substr(2)));
    for (const std::string& file : files_in(folder + "/" + hex)) paths.push_back(file);
  }
  return paths;
}

std::vector<std::string> FileFinder::State::link_candidates(const std::string& path, std::string_view name) const {
  const std::string folder = folder_of(path);
  const std::string file(name);
  std::vector<std::string> paths{folder + file, folder + ".debug/" + file};
  for (const std::string& root : roots()) paths.push_back(root + folder + file);
  std::erase(paths, path);
  return paths;
}

void FileFinder::State::find_linked(const std::string& path, Bytes build_id, const ElfFile::DebugLink& link,
                                    BestDebugFile& best) {
  bool refused = false;
  std::vector<std::string> paths = link_candidates(path, link.name);
  if (!options.symfs.empty()) {
    const auto below = link_candidates(below_symfs(path), link.name);
    paths.insert(paths.begin(), below.begin(), below.end());
  }
  for (const std::string& candidate : paths) {
    if (best.complete()) return;
    if (!build_id.empty()) {
      if (auto content = with_build_id(candidate, build_id, refused)) best.offer(std::move(*content), candidate);
      continue;
    }
    auto content = open_regular(candidate);
    if (!content) continue;
    const Bytes bytes = content->bytes();
    if (bytes.size() <= kLargestChecksummed && ElfFile::parse(bytes) && objects::crc32(bytes) == link.crc) {
      best.offer(std::move(content).value(), candidate);
    } else {
      refuse(candidate, "not used: its checksum is not the one that the debug link states");
    }
  }
}

FileFinder::Found FileFinder::State::find_debug(const std::string& path, Bytes build_id, const ElfFile* elf) {
  bool refused = false;
  BestDebugFile best;
  if (build_id.size() > 1) {
    for (const std::string& candidate : debug_candidates(BuildId(build_id).hex())) {
      if (candidate == path || best.complete()) continue;
      if (auto content = with_build_id(candidate, build_id, refused)) best.offer(std::move(*content), candidate);
    }
  }
  const auto link = elf != nullptr ? elf->debug_link() : std::nullopt;
  if (link && !best.complete()) find_linked(path, build_id, *link, best);
  if (!best.complete() && (elf == nullptr || !elf->has_debug_info())) {
    Found fetched;
    if (auto content = fetch(Debuginfod::Kind::kDebugInfo, build_id, path, fetched)) {
      best.offer(std::move(*content), fetched.path);
    }
  }
  if (best.best()) return *best.best();
  return not_found(refused ? Reason::build_id_mismatch : Reason::file_missing);
}

FileFinder::FileFinder(FinderOptions options) : state_(new State(std::move(options))) {}
FileFinder::~FileFinder() = default;

namespace {

std::string key_of_code(const WantedFile& file) {
  return fmt::format("code {} {} {} {}", file.build_id.hex(), file.identity.device, file.identity.inode, file.path);
}

}  // namespace

FileFinder::Found FileFinder::find_code(const WantedFile& file) {
  return state_->remember(key_of_code(file), [&] { return state_->find_code(file, State::Servers::kAsk); });
}

FileFinder::Found FileFinder::find_code_at_hand(const WantedFile& file) {
  if (auto known = state_->known(key_of_code(file))) return *std::move(known);
  return state_->remember("at hand: " + key_of_code(file),
                          [&] { return state_->find_code(file, State::Servers::kLeave); });
}

FileFinder::Found FileFinder::find_debug(const WantedFile& file, const ElfFile& elf) {
  std::string key = fmt::format("debug {} {}", BuildId(elf.build_id()).hex(), file.path);
  if (elf.build_id().empty()) {
    // Files that were at one path one after the other have debug files of their own.
    const auto link = elf.debug_link();
    key += fmt::format(" {} {} {:x} {}", file.identity.device, file.identity.inode, link ? link->crc : 0,
                       link ? link->name : "");
  }
  return state_->remember(key, [&] { return state_->find_debug(file.path, elf.build_id(), &elf); });
}

FileFinder::Found FileFinder::find_debug_of(const WantedFile& file) {
  const auto key = fmt::format("debug of {} {}", file.build_id.hex(), file.path);
  return state_->remember(key, [&] { return state_->find_debug(file.path, file.build_id.bytes(), nullptr); });
}

FileFinder::Found FileFinder::find_alternate(const std::string& path, const ElfFile::AlternateLink& link) {
  const BuildId build_id(link.build_id);
  return state_->remember(fmt::format("alternate {} {} {}", build_id.hex(), path, link.name), [&] {
    const std::string name(link.name);
    std::vector<std::string> paths;
    if (!state_->options.symfs.empty() && name.starts_with('/')) paths.push_back(state_->below_symfs(name));
    paths.push_back(name.starts_with('/') ? name : folder_of(path) + name);
    for (const std::string& candidate : state_->debug_candidates(build_id.hex())) paths.push_back(candidate);
    bool refused = false;
    for (const std::string& candidate : paths) {
      if (auto content = state_->with_build_id(candidate, link.build_id, refused)) {
        return found(std::move(*content), candidate);
      }
    }
    Found fetched;
    if (auto content = state_->fetch(Debuginfod::Kind::kDebugInfo, link.build_id, name, fetched)) {
      return found(std::move(*content), fetched.path);
    }
    return not_found(refused ? Reason::build_id_mismatch : Reason::file_missing);
  });
}

FileFinder::Found FileFinder::find_package(const std::string& path) {
  return state_->remember("package " + path, [&] {
    // The debug file of "program" is "program.debug", and its package may be named after either.
    std::vector<std::string> paths{path + ".dwp"};
    if (path.ends_with(".debug")) paths.push_back(path.substr(0, path.size() - 6) + ".dwp");
    for (const std::string& candidate : paths) {
      if (auto content = open_regular(candidate)) return found(std::move(content).value(), candidate);
    }
    return not_found(Reason::file_missing);
  });
}

FileFinder::Found FileFinder::find_split(const std::string& path, const objects::SplitUnitName& unit) {
  const std::string name(unit.name);
  const std::string folder = folder_of(path);
  std::string built = name.starts_with('/') ? name : fmt::format("{}/{}", unit.folder, name);
  return state_->remember(fmt::format("split {} {}", folder, built), [&] {
    std::vector<std::string> paths;
    if (!state_->options.symfs.empty()) paths.push_back(state_->below_symfs(built));
    paths.push_back(built);
    if (!name.starts_with('/')) paths.push_back(folder + name);
    paths.push_back(folder + name_of(name));
    for (const std::string& candidate : paths) {
      if (auto content = open_regular(candidate)) return found(std::move(content).value(), candidate);
    }
    return not_found(Reason::file_missing);
  });
}

std::vector<std::string> FileFinder::refusals() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refusals;
}

void FileFinder::recorded_until(int64_t time) { state_->recorded_until = time; }

void FileFinder::refuse(const std::string& path, const std::string& why) { state_->refuse(path, why); }

}  // namespace tephra::symbols
