#include "cli/stack_options.h"

#include <fmt/format.h>

#include "base/units.h"

namespace tephra::cli {
namespace {

constexpr const char* kGroup = "Stacks (REGEX is looked for in names of functions, source files and modules)";

base::Status compile(const char* option, const std::string& text, std::optional<base::Pattern>& pattern) {
  if (text.empty()) return {};
  TEPHRA_TRY(pattern, base::Pattern::compile(option, text));
  return {};
}

}  // namespace

void StackOptions::declare(CLI::App& parser) {
  const auto expression = [&](const char* names, std::string& to, const char* help) {
    parser.add_option(names, to, help)->type_name("REGEX")->group(kGroup);
  };
  expression("--focus", focus, "only samples with such a function in their stacks");
  expression("--ignore", ignore, "no samples with such a function in their stacks");
  expression("--hide", hide, "leave such functions out of the stacks");
  expression("--show", show, "leave all others out");
  expression("--show-from,--show_from", show_from, "leave out the callers of the outermost such function");
  expression("--prune-from,--prune_from", prune_from, "leave out what the innermost such function calls");
  expression("--tagfocus", tag_focus, "only samples with such a label (key:value)");
  expression("--tagignore", tag_ignore, "no samples with such a label");
  parser.add_option("--tagroot", tag_root, "put the label with this key below the stacks, as their outermost frame")
      ->type_name("KEY")
      ->group(kGroup);
  parser.add_option("--tagleaf", tag_leaf, "put it on top of them")->type_name("KEY")->group(kGroup);
  parser.add_option("--base-frame", bases, "begin stacks at the function of this name, where they have it")
      ->allow_extra_args(false)
      ->type_name("NAME")
      ->group(kGroup);
  parser.add_flag("--fold-recursion", fold_recursion, "a function that calls itself is one frame")->group(kGroup);
  parser
      .add_flag("--merge-templates", merge_templates,
                "shorten names (std::sort<…>), and merge functions that are equal then")
      ->group(kGroup);
  // A flag takes a value only behind its "=", so that a profile's name may follow it.
  parser
      .add_flag("--merge-threads{[0-9]+}", merge_threads,
                "merge threads whose names differ only where REGEX matches (numbers)")
      ->type_name("[=REGEX]")
      ->group(kGroup);
}

bool StackOptions::given() const {
  return !focus.empty() || !ignore.empty() || !hide.empty() || !show.empty() || !show_from.empty() ||
         !prune_from.empty() || !tag_focus.empty() || !tag_ignore.empty() || !tag_root.empty() || !tag_leaf.empty() ||
         !bases.empty() || fold_recursion || merge_templates || !merge_threads.empty();
}

base::Result<analysis::StackEdit> StackOptions::edit() const {
  analysis::StackEdit edit;
  TEPHRA_CHECK_OK(compile("--focus", focus, edit.focus));
  TEPHRA_CHECK_OK(compile("--ignore", ignore, edit.ignore));
  TEPHRA_CHECK_OK(compile("--hide", hide, edit.hide));
  TEPHRA_CHECK_OK(compile("--show", show, edit.show));
  TEPHRA_CHECK_OK(compile("--show-from", show_from, edit.show_from));
  TEPHRA_CHECK_OK(compile("--prune-from", prune_from, edit.prune_from));
  TEPHRA_CHECK_OK(compile("--tagfocus", tag_focus, edit.tag_focus));
  TEPHRA_CHECK_OK(compile("--tagignore", tag_ignore, edit.tag_ignore));
  TEPHRA_CHECK_OK(compile("--merge-threads", merge_threads, edit.merge_threads));
  edit.tag_root = tag_root;
  edit.tag_leaf = tag_leaf;
  edit.bases = bases;
  edit.fold_recursion = fold_recursion;
  edit.merge_templates = merge_templates;
  return edit;
}

std::string selection_text(const StackOptions& options, const analysis::EditedProfile& edited, bool secret) {
  if (edited.kept == edited.before) return {};
  std::string words;
  const auto add = [&](const char* option, const std::string& text) {
    if (!text.empty()) words += fmt::format("{}{} '{}'", words.empty() ? "" : " ", option, text);
  };
  add("--focus", options.focus);
  add("--ignore", options.ignore);
  add("--hide", options.hide);
  add("--show", options.show);
  add("--show-from", options.show_from);
  add("--tagfocus", options.tag_focus);
  add("--tagignore", options.tag_ignore);
  if (secret) words = "names of functions";
  return fmt::format("{} of {} samples ({}), by {}", base::with_separators(edited.kept.count),
                     base::with_separators(edited.before.count), base::percent(edited.kept.count, edited.before.count),
                     words);
}

}  // namespace tephra::cli
