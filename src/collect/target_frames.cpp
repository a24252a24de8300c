#include "collect/target_frames.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/file_copy.h"
#include "base/names.h"
#include "collect/mapped_file.h"
#include "collect/process_code.h"
#include "objects/call_frames.h"
#include "objects/elf_file.h"
#include "objects/frame_survey.h"

namespace tephra::collect {
namespace {

constexpr size_t kMostFiles = 40;

bool is_leaf_library(const std::string& path) {
  const std::string_view name = base::path_base_name(path);
  constexpr std::string_view kLeaves[] = {"libc.so",  "libc-", "libm.so",    "libm-",
                                          "ld-linux", "ld-",   "libpthread", "libdl.so"};
  return std::any_of(std::begin(kLeaves), std::end(kLeaves), [&](auto leaf) { return name.starts_with(leaf); });
}

void add_file(int fd, const std::string& path, TargetFrames& frames) {
  const auto content = base::FileCopy::of(fd);
  if (!content) return;
  content->need_all();
  const auto elf = objects::ElfFile::parse(content->bytes());
  if (!elf) return;
  const objects::CallFrames rules(*elf);
  const auto survey = objects::survey_frames(*elf, rules);
  if (survey.functions == 0) return;
  const bool kept = survey.keep_frame_pointer * 2 >= survey.functions;
  frames.kept = (frames.kept || !frames.known) && kept;
  frames.known = true;
  if (!kept && frames.without.empty()) frames.without = base::path_base_name(path);
}

// As execvp finds it.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (!folders.empty()) {
    const size_t colon = std::min(folders.find(':'), folders.size());
    const std::string path = std::string(folders.substr(0, colon)) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
    folders.remove_prefix(std::min(colon + 1, folders.size()));
  }
  return {};
}

void add_program(const std::string& name, TargetFrames& frames) {
  const std::string path = find_program(name);
  if (const auto fd = open_plain_file(path)) add_file(fd.get(), path, frames);
}

void add_process(pid_t pid, std::set<uint64_t>& seen, TargetFrames& frames) {
  const auto code = read_process_code(pid, pid);
  if (!code) return;
  for (const CodeMapping& each : code->mappings) {
    if (each.kind != CodeMapping::Kind::kFile || is_leaf_library(each.path) || seen.size() >= kMostFiles) continue;
    if (!seen.insert(each.inode).second) continue;
    const auto file = open_mapped_file(pid, each.start, each.end, each.inode, each.path);
    if (file) add_file(file->get(), each.path, frames);
  }
}

}  // namespace

TargetFrames survey_target(const Target& target) {
  TargetFrames frames;
  if (target.records_program()) add_program(target.command[0], frames);
  std::set<uint64_t> seen;
  for (const pid_t pid : target.processes) add_process(pid, seen, frames);
  for (const pid_t tid : target.threads) add_process(tid, seen, frames);
  return frames;
}

}  // namespace tephra::collect
