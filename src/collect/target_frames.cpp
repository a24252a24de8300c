#include "collect/target_frames.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/file_copy.h"
#include "base/names.h"
#include "base/program_path.h"
#include "collect/library_search.h"
#include "collect/mapped_file.h"
#include "collect/process_code.h"
#include "objects/call_frames.h"
#include "objects/dynamic_section.h"
#include "objects/elf_file.h"
#include "objects/frame_survey.h"

namespace tephra::collect {
namespace {

constexpr size_t kMostFiles = 40;

// A private copy of a file, and what it is.
class CodeFile {
 public:
  static std::optional<CodeFile> of(int fd) {
    auto content = base::FileCopy::of(fd);
    if (!content) return std::nullopt;
    content->need_all();
    auto elf = objects::ElfFile::parse(content->bytes());
    if (!elf) return std::nullopt;
    return CodeFile(std::move(*content), std::move(*elf));
  }
  const objects::ElfFile& elf() const { return elf_; }

 private:
  CodeFile(base::FileCopy content, objects::ElfFile elf) : content_(std::move(content)), elf_(std::move(elf)) {}

  base::FileCopy content_;
  objects::ElfFile elf_;
};

void judge(const objects::ElfFile& elf, const std::string& path, TargetFrames& frames) {
  const objects::CallFrames rules(elf);
  const auto survey = objects::survey_frames(elf, rules);
  if (survey.functions == 0) return;
  const bool kept = objects::keeps_frame_pointers(survey);
  frames.kept = (frames.kept || !frames.known) && kept;
  frames.known = true;
  if (!kept && frames.without.empty()) frames.without = base::path_base_name(path);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (size_t at = line.find_first_not_of(kBlanks); at < line.size(); at = line.find_first_not_of(kBlanks, at)) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// What runs a script: "#!/bin/bash -e", "#!/usr/bin/env -S python3 -u". Empty where the file is none.
std::string interpreter_of(int fd) {
  char text[256];
  const ssize_t got = ::pread(fd, text, sizeof text, 0);
  const std::string_view content(text, got > 0 ? static_cast<size_t>(got) : 0);
  if (!content.starts_with("#!")) return {};
  const auto words = words_of(content.substr(2, std::min(content.find('\n'), content.size()) - 2));
  if (words.empty()) return {};
  if (base::path_base_name(words[0]) != "env") return words[0];
  const auto named = std::find_if(words.begin() + 1, words.end(), [](const std::string& word) {
    return !word.starts_with('-') && word.find('=') == std::string::npos;
  });
  return named == words.end() ? words[0] : base::find_program(*named);
}

// The program's file; of a script, that of its interpreter.
std::string find_code(const std::string& name) {
  constexpr int kMostInterpreters = 4;  // as the kernel follows them
  std::string path = base::find_program(name);
  for (int i = 0; i < kMostInterpreters; ++i) {
    const auto fd = open_plain_file(path);
    const std::string interpreter = fd ? interpreter_of(fd.get()) : "";
    if (interpreter.empty()) break;
    path = interpreter;
  }
  return path;
}

// A program and all that the loader will map for it, one file at a time.
class ProgramSurvey {
 public:
  explicit ProgramSurvey(TargetFrames& frames) : frames_(frames) {}

  void survey(const std::string& path) {
    const auto fd = open_plain_file(path);
    const auto program = fd ? CodeFile::of(fd.get()) : std::nullopt;
    if (!program) return;
    const auto section = objects::read_dynamic_section(program->elf());
    program_rpath_ = search_folders(section.rpath, path);
    add(path, program->elf());
    while (!wanted_.empty() && asked_.size() < kMostFiles) {
      const Candidates next = std::move(wanted_.front());
      wanted_.pop_front();
      find(next, program->elf());
    }
  }

 private:
  using Candidates = std::vector<std::string>;  // paths of one library

  void add(const std::string& path, const objects::ElfFile& elf) {
    judge(elf, path, frames_);
    const auto section = objects::read_dynamic_section(elf);
    std::vector<std::string_view> names = section.needed;
    if (!section.interpreter.empty()) names.push_back(section.interpreter);
    for (const std::string_view name : names) {
      if (objects::is_leaf_library(name) || !asked_.emplace(name).second) continue;
      wanted_.push_back(search_.candidates(name, path, section, program_rpath_));
    }
  }

  // The loader passes over files for other machines, too.
  void find(const Candidates& candidates, const objects::ElfFile& program) {
    for (const std::string& path : candidates) {
      const auto fd = open_plain_file(path);
      const auto file = fd ? CodeFile::of(fd.get()) : std::nullopt;
      if (!file || file->elf().machine() != program.machine() || file->elf().is_64bit() != program.is_64bit()) continue;
      return add(path, file->elf());
    }
  }

  TargetFrames& frames_;
  const LibrarySearch search_;
  std::vector<std::string> program_rpath_;
  std::set<std::string, std::less<>> asked_;
  std::deque<Candidates> wanted_;
};

void add_process(pid_t pid, std::set<uint64_t>& seen, TargetFrames& frames) {
  const auto code = read_process_code(pid, pid);
  if (!code) return;
  for (const CodeMapping& each : code->mappings) {
    if (each.kind != CodeMapping::Kind::kFile || objects::is_leaf_library(each.path) || seen.size() >= kMostFiles)
      continue;
    if (!seen.insert(each.inode).second) continue;
    const auto file = open_mapped_file(pid, each.start, each.end, each.inode, each.path);
    const auto code_file = file ? CodeFile::of(file->get()) : std::nullopt;
    if (code_file) judge(code_file->elf(), each.path, frames);
  }
}

}  // namespace

TargetFrames survey_target(const Target& target) {
  TargetFrames frames;
  if (target.records_program()) ProgramSurvey(frames).survey(find_code(target.command[0]));
  std::set<uint64_t> seen;
  for (const pid_t pid : target.processes) add_process(pid, seen, frames);
  for (const pid_t tid : target.threads) add_process(tid, seen, frames);
  return frames;
}

}  // namespace tephra::collect
