#include "cli/source_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "views/printable.h"

namespace tephra::cli {
namespace {

using views::printable;

// One line that is written over and over, and erased at the end.
void show_progress(const symbols::FetchProgress& progress) {
  if (progress.file.empty()) {
    fmt::print(stderr, "\r\x1b[K");
  } else if (progress.total == 0) {
    fmt::print(stderr, "\r\x1b[Ktephra: asking debuginfod for {}", printable(progress.file));
  } else {
    fmt::print(stderr, "\r\x1b[Ktephra: fetching {} from debuginfod: {} of {} MB", printable(progress.file),
               progress.got / 1000000, progress.total / 1000000);
  }
  std::fflush(stderr);
}

// A name that was misspelt would else look like a machine without files.
std::string must_be_folder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  return error && error != std::errc::no_such_file_or_directory ? path + ": " + error.message()
                                                                : "no such folder: " + path;
}

}  // namespace

void declare_sources(CLI::App& parser, symbols::Options& symbols) {
  const auto options = std::make_shared<symbols::FinderOptions>(symbols::FinderOptions::from_environment());
  parser
      .add_option_function<std::string>(
          "--symfs", [options](const std::string& folder) { options->symfs = folder; },
          "find the recorded machine's files below this folder")
      ->check(must_be_folder)
      ->type_name("DIR");
  parser
      .add_option_function<std::string>(
          "--debug-root",
          [options](const std::string& folder) { options->debug_roots.insert(options->debug_roots.begin(), folder); },
          "a folder of debug files, beside /usr/lib/debug")
      ->check(must_be_folder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("DIR");
  parser.add_flag_callback(
      "--no-debuginfod", [options] { options->debuginfod = false; }, "do not ask the servers of DEBUGINFOD_URLS");
  parser
      .add_option_function<double>(
          "--debuginfod-timeout", [options](double seconds) { options->debuginfod_timeout_s = seconds; },
          "give up on servers that are silent for so long (30)")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("SECONDS");
  if (::isatty(STDERR_FILENO) == 1) options->progress = show_progress;
  parser.parse_complete_callback(
      [options, &symbols] { symbols.finder = std::make_shared<symbols::FileFinder>(*options); });
}

std::string refused_sources(const symbols::Options& symbols) {
  std::string lines;
  if (!symbols.finder) return lines;
  for (const std::string& line : symbols.finder->refusals()) lines += "\n  " + printable(line);
  return lines;
}

}  // namespace tephra::cli
