#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/recording.h"
#include "cli/target_options.h"
#include "collect/recorder.h"

namespace tephra::cli {

// The options of `tephra record`, with perf's letters.
struct RecordFlags {
  TargetFlags target;
  // Events and their filters in the order they were written: a filter belongs to the events before it.
  std::vector<std::string> events;
  std::vector<std::string> filters;
  std::string frequency;
  std::string period;
  std::optional<std::string> call_graph;
  std::string max_stack;
  std::string branches;
  std::string ring;
  std::string delay;
  std::string duration;
  std::string output = "perf.data";
  std::string compression;
  std::string max_size;
  std::string rotation;
  std::string max_files;
  std::string control;
  std::vector<std::string> triggers;
  std::string snapshots;
  bool strict_frequency = false;
  bool stacks = false;
  bool all_user = false;
  bool all_kernel = false;
  bool user_stacks_only = false;
  bool kernel_stacks_only = false;
  bool any_branch = false;
  bool addresses = false;
  bool physical_addresses = false;
  bool data_page_size = false;
  bool code_page_size = false;
  bool weights = false;
  bool raw = false;
  bool thread_counts = false;
  bool switches = false;
  bool namespaces = false;
  bool all_cgroups = false;
  bool no_build_ids = false;
  bool no_embed = false;
  bool no_java_maps = false;
  bool overwrite = false;
  bool timestamp_names = false;
  bool perf_flags = false;  // any of those that ask perf for what is always so here
  bool quiet = false;
  bool verbose = false;

  void declare(CLI::App& parser);
};

// The words of record's options that take a value.
extern const OptionsWithValue kRecordOptionsWithValue;

// What the flags ask for. `parser` has parsed them; it knows in which order events and filters came.
base::Result<collect::RecordOptions> record_options(const CLI::App& parser, const RecordFlags& flags,
                                                    std::vector<std::string> command);

}  // namespace tephra::cli
