#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_path.h"
#include "formats/folded.h"

namespace tephra::cli {
namespace {

base::Result<int> fold(std::span<const std::string> arguments) {
  auto parser = make_parser("fold", "Write folded stacks: one line a stack, with the number of its samples.",
                            "  tephra fold perf.data > stacks.folded\n"
                            "  tephra fold --all --tid -i perf.data -o stacks.folded\n");
  InputOptions input;
  input.declare(*parser);
  input.declare_program(*parser);
  parser->remove_option(parser->get_option("--pid"));
  parser->remove_option(parser->get_option("--tid"));
  // What is folded is data for other tools, which know the idle task themselves.
  input.keep_idle = true;
  input.keep_own = true;
  formats::FoldedOptions folded;
  std::string output = "-";
  bool all = false;
  parser->add_flag("--pid", folded.pid, "put the process id into the first frame");
  parser->add_flag("--tid", folded.tid, "put process and thread id into the first frame");
  parser->add_flag("--kernel", folded.kernel, "mark kernel frames with _[k]");
  parser->add_flag("--jit", folded.jit, "mark frames of generated code with _[j]");
  parser->add_flag("--all", all, "--kernel and --jit");
  parser->add_flag("--addrs", input.symbols.exact_unknown, "unknown frames by their exact address");
  parser->add_flag("--periods", folded.by_value, "sums of periods instead of numbers of samples");
  parser->add_option("-o,--output", output, "where to write; - is standard output")->type_name("FILE");
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  folded.kernel = folded.kernel || all;
  folded.jit = folded.jit || all;
  TEPHRA_CHECK_OK(refuse_input(output, input.path));
  TEPHRA_TRY(const Input loaded, load(input));
  TEPHRA_CHECK_OK(base::write_file(output, formats::write_folded(loaded.profile, folded)));
  return conclude(input, loaded.verdict);
}

}  // namespace

extern const Command kFoldCommand{"fold", "write folded stacks", fold};

}  // namespace tephra::cli
