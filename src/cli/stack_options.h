#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "analysis/stack_edit.h"
#include "base/result.h"

namespace tephra::cli {

// The options that change the stacks of a profile before it is shown: pprof's words, and others.
struct StackOptions {
  std::string focus;
  std::string ignore;
  std::string hide;
  std::string show;
  std::string show_from;
  std::string prune_from;
  std::string tag_focus;
  std::string tag_ignore;
  std::string tag_root;
  std::string tag_leaf;
  std::vector<std::string> bases;
  bool fold_recursion = false;
  bool merge_templates = false;
  std::string merge_threads;  // empty: not asked for

  void declare(CLI::App& parser);
  // Compiles the expressions; an error names the option.
  base::Result<analysis::StackEdit> edit() const;
  bool given() const;
};

// For the reader of what is shown: what of the samples is left, and by which words, unless those are to be kept secret.
// Empty when all are.
std::string selection_text(const StackOptions& options, const analysis::EditedProfile& edited, bool secret);

}  // namespace tephra::cli
